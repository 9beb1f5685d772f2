// A CUDA device, and how a stage is timed on it.
//
// Every sample is taken alone: L2 is filled with other data that is only read, so that it is cold
// and has nothing to write back; the result is poisoned; the stream is held by a kernel that spins
// until the host has queued everything; then come an event, the stage, and an event. No host time
// can enter the figure.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <utility>

#include "measuring_kernels.hpp"
#include "reduce_ladder/cuda_check.hpp"
#include "reduce_ladder/device.hpp"

namespace reduce_ladder {
namespace {

class Stream {
 public:
  Stream() { cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  // NOLINTNEXTLINE(google-explicit-constructor): stands in for the handle
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { cuda_check(cudaEventCreate(&event_)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  // NOLINTNEXTLINE(google-explicit-constructor): stands in for the handle
  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// Device memory for values of type T; grows, never shrinks, and loses its contents when it grows.
template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t count) { reserve(count); }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  void reserve(std::size_t count) {
    if (count <= count_) return;
    cuda_check(cudaFree(std::exchange(data_, nullptr)));
    count_ = 0;
    if (cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      data_ = nullptr;
      std::size_t free = 0;
      std::size_t total = 0;
      cuda_check(cudaMemGetInfo(&free, &total));
      throw OutOfMemoryError("out of memory on the GPU: " + std::to_string(count * sizeof(T)) +
                             " bytes asked for, " + std::to_string(free) + " of " +
                             std::to_string(total) + " are free");
    }
    count_ = count;
  }
  [[nodiscard]] T* data() const { return data_; }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

// Words that host and device both see.
class MappedWords {
 public:
  explicit MappedWords(std::size_t count) {
    cuda_check(cudaHostAlloc(reinterpret_cast<void**>(&words_), count * sizeof(unsigned),
                             cudaHostAllocMapped));
    std::fill_n(words_, count, 0U);
  }
  ~MappedWords() { cudaFreeHost(words_); }
  MappedWords(const MappedWords&) = delete;
  MappedWords& operator=(const MappedWords&) = delete;
  volatile unsigned* operator+(std::size_t i) const { return words_ + i; }

 private:
  unsigned* words_ = nullptr;
};

int attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  cuda_check(cudaDeviceGetAttribute(&value, which, ordinal));
  return value;
}

std::string cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string driver_version() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  if (file >> version) return version;
  int cuda = 0;
  cuda_check(cudaDriverGetVersion(&cuda));
  return "for CUDA " + cuda_version(cuda);
}

DeviceInfo describe(int ordinal) {
  cudaDeviceProp properties{};
  cuda_check(cudaGetDeviceProperties(&properties, ordinal));
  int runtime = 0;
  cuda_check(cudaRuntimeGetVersion(&runtime));
  // In kHz, of a memory that moves two words a cycle; 0 where the driver does not tell.
  const double memory_clock = attribute(cudaDevAttrMemoryClockRate, ordinal) * 1e3;
  const double bus_bytes = attribute(cudaDevAttrGlobalMemoryBusWidth, ordinal) / 8.0;

  DeviceInfo info;
  info.kind = DeviceKind::cuda;
  info.name = properties.name;
  info.machine.multiprocessors = static_cast<unsigned>(properties.multiProcessorCount);
  info.machine.threads_per_multiprocessor =
      static_cast<unsigned>(properties.maxThreadsPerMultiProcessor);
  info.machine.blocks_per_multiprocessor =
      static_cast<unsigned>(attribute(cudaDevAttrMaxBlocksPerMultiprocessor, ordinal));
  info.cuda = CudaInfo{.ordinal = ordinal,
                       .compute_major = properties.major,
                       .compute_minor = properties.minor,
                       .memory_bytes = properties.totalGlobalMem,
                       .l2_bytes = static_cast<std::size_t>(properties.l2CacheSize),
                       .theoretical_bandwidth = 2 * memory_clock * bus_bytes,
                       .driver = driver_version(),
                       .runtime = cuda_version(runtime)};
  return info;
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int ordinal)
      : info_(describe(ordinal)),
        flush_bytes_(std::max<std::size_t>(2 * info_.cuda->l2_bytes, 64U << 20U)),
        flush_(flush_bytes_) {
    output_.reserve(1);
    sink_.reserve(1);
    cuda_check(cudaMemset(flush_.data(), 0, flush_bytes_));
    cuda_check(cudaDeviceSynchronize());
  }

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] std::span<const Stage> stages() const override { return stages_cuda(); }

  void load(std::span<const float> values) override {
    input_.reserve(values.size());
    cuda_check(cudaMemcpyAsync(input_.data(), values.data(), values.size_bytes(),
                               cudaMemcpyHostToDevice, stream_));
    cuda_check(cudaStreamSynchronize(stream_));
  }

  float run(const Stage& stage, const Plan& plan, float poison) override {
    const Index partials = plan.workspace();
    workspace_.reserve(partials);
    // All bits set is a NaN.
    cuda_check(cudaMemsetAsync(workspace_.data(), 0xff, partials * sizeof(float), stream_));
    float result = poison;
    cuda_check(
        cudaMemcpyAsync(output_.data(), &result, sizeof result, cudaMemcpyHostToDevice, stream_));
    stage.launch(plan, problem());
    cuda_check(
        cudaMemcpyAsync(&result, output_.data(), sizeof result, cudaMemcpyDeviceToHost, stream_));
    cuda_check(cudaStreamSynchronize(stream_));
    return result;
  }

  std::optional<Samples> time(const Stage& stage, const Plan& plan,
                              const Sampling& sampling) override {
    workspace_.reserve(plan.workspace());
    return sample(sampling, [&] { stage.launch(plan, problem()); });
  }

  std::optional<CopySamples> time_copy(const Sampling& sampling) override {
    // Far beyond L2, whatever the input; smaller only where memory is short.
    std::size_t free = 0;
    std::size_t total = 0;
    cuda_check(cudaMemGetInfo(&free, &total));
    const std::size_t bytes = std::min<std::size_t>(std::size_t{512} << 20U, free / 4 / 256 * 256);
    const DeviceArray<std::byte> from(bytes);
    const DeviceArray<std::byte> to(bytes);
    cuda_check(cudaMemsetAsync(from.data(), 1, bytes, stream_));
    auto seconds = sample(sampling, [&] {
      cuda_check(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, stream_));
    });
    if (!seconds) return std::nullopt;
    return CopySamples{bytes, std::move(*seconds)};
  }

 private:
  [[nodiscard]] Problem<float> problem() const {
    return {input_.data(), workspace_.data(), output_.data(), static_cast<cudaStream_t>(stream_)};
  }

  void poison_output() {
    cuda_check(cudaMemsetAsync(output_.data(), 0xff, sizeof(float), stream_));
  }

  // Nothing if a tool that waits for every launch, as profilers and sanitizers do, lets no hold
  // work.
  template <typename Queue>
  std::optional<Samples> sample(const Sampling& sampling, Queue queue) {
    using Clock = std::chrono::steady_clock;
    for (unsigned i = 0; i < sampling.warmups && holds_expired_ < kHoldsExpired; ++i) {
      take_sample(queue);
    }
    if (holds_expired_ == kHoldsExpired) return std::nullopt;
    Samples seconds;
    const Clock::time_point start = Clock::now();
    for (;;) {
      const std::chrono::duration<double> spent = Clock::now() - start;
      const bool enough =
          seconds.size() >= sampling.min_samples && spent.count() >= sampling.min_seconds;
      if (enough || (spent.count() >= sampling.timeout_seconds && !seconds.empty())) return seconds;
      if (const auto taken = take_sample(queue)) seconds.push_back(*taken);
      if (holds_expired_ == kHoldsExpired) return std::nullopt;
    }
  }

  // Seconds that the queued work took; nothing if the hold expired, since host time may be inside
  // then.
  template <typename Queue>
  std::optional<double> take_sample(Queue queue) {
    queue_read(flush_.data(), flush_bytes_, sink_.data(), info_.machine, stream_);
    poison_output();
    ++ticket_;
    queue_hold(words_ + kReleased, words_ + kExpired, ticket_, stream_);
    cuda_check(cudaEventRecord(begin_, stream_));
    queue();
    cuda_check(cudaEventRecord(end_, stream_));
    *(words_ + kReleased) = ticket_;
    cuda_check(cudaEventSynchronize(end_));
    if (*(words_ + kExpired) == ticket_) {
      ++holds_expired_;
      return std::nullopt;
    }
    holds_expired_ = 0;
    float milliseconds = 0;
    cuda_check(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return milliseconds * 1e-3;
  }

  enum Word : std::size_t { kReleased, kExpired, kWords };

  DeviceInfo info_;
  Stream stream_;
  Event begin_;
  Event end_;
  MappedWords words_{kWords};
  unsigned ticket_ = 0;
  static constexpr unsigned kHoldsExpired = 3;  // one after the other: the hold cannot work here
  unsigned holds_expired_ = 0;
  std::size_t flush_bytes_;
  DeviceArray<std::byte> flush_;
  DeviceArray<unsigned> sink_;
  DeviceArray<float> input_;
  DeviceArray<float> workspace_;
  DeviceArray<float> output_;
};

}  // namespace

std::unique_ptr<Device> make_cuda_device(int ordinal) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    throw NoGpuError(std::string("no usable GPU: ") + cudaGetErrorString(status));
  }
  if (count == 0) throw NoGpuError("no usable GPU: the driver lists no device");
  if (ordinal >= count) {
    throw NoGpuError("no GPU with number " + std::to_string(ordinal) + ": this machine has " +
                     std::to_string(count) + ", counted from 0");
  }
  cuda_check(cudaSetDevice(ordinal));
  const cudaError_t loaded = check_kernels_load();
  if (loaded != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    const std::string capability =
        std::to_string(attribute(cudaDevAttrComputeCapabilityMajor, ordinal)) + "." +
        std::to_string(attribute(cudaDevAttrComputeCapabilityMinor, ordinal));
    throw NoGpuError("no usable GPU: this build does not run on device " + std::to_string(ordinal) +
                     " of compute capability " + capability + " (" + cudaGetErrorString(loaded) +
                     ")");
  }
  return std::make_unique<CudaDevice>(ordinal);
}

}  // namespace reduce_ladder
