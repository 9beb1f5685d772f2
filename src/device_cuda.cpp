// A CUDA device, and how work is timed on it.
//
// Every sample is taken alone: L2 is filled with other data that is only read, so that it is cold
// and has nothing to write back (not for CacheMode::warm); the result is poisoned; the stream is
// held by a kernel that spins until the host has queued everything; then come an event, the work,
// and an event. No host time can enter the figure. Afterwards the result is looked at: a stage that
// wrote nothing is not timed.
#include <cuda_runtime_api.h>

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

#include "hardware_counters.hpp"
#include "measuring_kernels.hpp"
#include "nvml.hpp"
#include "parallel.hpp"
#include "reduce_ladder/cuda_check.hpp"
#include "reduce_ladder/device.hpp"
#include "reduce_ladder/vector.hpp"
#include "statistics.hpp"

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

  // Whether the array is a new one.
  bool reserve(std::size_t count) {
    if (count <= count_) return false;
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
    return true;
  }
  [[nodiscard]] T* data() const { return data_; }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

// Host memory that the device copies from by itself, for `count` values.
class StagingArray {
 public:
  explicit StagingArray(std::size_t count) {
    cuda_check(cudaMallocHost(reinterpret_cast<void**>(&values_), count * sizeof(float)));
  }
  ~StagingArray() { cudaFreeHost(values_); }
  StagingArray(const StagingArray&) = delete;
  StagingArray& operator=(const StagingArray&) = delete;
  [[nodiscard]] float* data() const { return values_; }

 private:
  float* values_ = nullptr;
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

// Names what is queued inside it, for Nsight; costs nothing where no tool watches.
class NvtxRange {
 public:
  explicit NvtxRange(const std::string& name) { nvtxRangePushA(name.c_str()); }
  ~NvtxRange() { nvtxRangePop(); }
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;
};

int attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  cuda_check(cudaDeviceGetAttribute(&value, which, ordinal));
  return value;
}

std::string pci_bus_id(int ordinal) {
  char id[32] = {};
  cuda_check(cudaDeviceGetPCIBusId(id, sizeof id, ordinal));
  return id;
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
                       .runtime = cuda_version(runtime),
                       .cub = cub_version()};
  return info;
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int ordinal)
      : info_(describe(ordinal)),
        nvml_(pci_bus_id(ordinal)),
        flush_bytes_(std::max<std::size_t>(2 * info_.cuda->l2_bytes, 64U << 20U)),
        flush_(flush_bytes_) {
    output_.reserve(1);
    sink_.reserve(1);
    cuda_check(cudaMemset(flush_.data(), 0, flush_bytes_));
    cuda_check(cudaDeviceSynchronize());
  }

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] std::span<const Stage> stages() const override { return stages_cuda(); }

  using Device::load;
  void load(std::span<const float> values, unsigned misalignment) override {
    place_input(values.size(), misalignment);
    cuda_check(cudaMemcpyAsync(input_, values.data(), values.size_bytes(), cudaMemcpyHostToDevice,
                               stream_));
    cuda_check(cudaStreamSynchronize(stream_));
  }
  // One piece is made while the one before is copied.
  void load(Index n, const Fill& fill, unsigned misalignment) override {
    struct Piece {
      StagingArray values;
      Event copied;
    };
    constexpr Index kPiece = Index{1} << 24U;
    place_input(n, misalignment);
    const Index most = std::clamp<Index>(n, 1, kPiece);
    std::array<Piece, 2> pieces{{{StagingArray(most), {}}, {StagingArray(most), {}}}};
    for (Index begin = 0; begin < n; begin += kPiece) {
      const Piece& piece = pieces[begin / kPiece % pieces.size()];
      const Index count = std::min(kPiece, n - begin);
      cuda_check(cudaEventSynchronize(piece.copied));  // returns at once the first time
      fill_in_parallel(fill, begin, {piece.values.data(), count});
      cuda_check(cudaMemcpyAsync(input_ + begin, piece.values.data(), count * sizeof(float),
                                 cudaMemcpyHostToDevice, stream_));
      cuda_check(cudaEventRecord(piece.copied, stream_));
    }
    cuda_check(cudaStreamSynchronize(stream_));
  }

  float run(const Stage& stage, const Plan& plan, float poison) override {
    const NvtxRange range("stage " + std::string(stage.name));
    reserve(plan);
    cuda_check(cudaMemsetAsync(workspace_.data(), std::isnan(poison) ? 0xff : 0,
                               plan.workspace() * sizeof(float), stream_));
    float result = poison;
    cuda_check(
        cudaMemcpyAsync(output_.data(), &result, sizeof result, cudaMemcpyHostToDevice, stream_));
    stage.launch(plan, problem());
    cuda_check(
        cudaMemcpyAsync(&result, output_.data(), sizeof result, cudaMemcpyDeviceToHost, stream_));
    cuda_check(cudaStreamSynchronize(stream_));
    return result;
  }

  std::vector<LaunchCounters> count(const Stage& stage, const Plan& plan) override {
    reserve(plan);
    if (!no_counters_.empty()) throw CountersUnavailable(no_counters_);
    try {
      if (!counters_) counters_ = HardwareCounters::open(info_.cuda->ordinal);
    } catch (const CountersUnavailable& why) {
      no_counters_ = why.what();
      throw;
    }
    return counters_->count([&] { stage.launch(plan, problem()); }, [&] { make_l2_cold(); });
  }

  std::optional<Samples> time(const Stage& stage, const Plan& plan,
                              const Sampling& sampling) override {
    reserve(plan);
    return sample(
        sampling, [&] { stage.launch(plan, problem()); },
        [&] {
          std::uint32_t bits = 0;
          cuda_check(
              cudaMemcpyAsync(&bits, output_.data(), sizeof bits, cudaMemcpyDeviceToHost, stream_));
          cuda_check(cudaStreamSynchronize(stream_));
          if (bits == kPoisonBits) {
            throw CudaError("stage " + std::string(stage.name) + " wrote no result in a timed run");
          }
        });
  }

  std::optional<CopySamples> time_copy(const Sampling& sampling) override {
    // Far beyond L2, whatever the input; smaller only where memory is short.
    std::size_t free = 0;
    std::size_t total = 0;
    cuda_check(cudaMemGetInfo(&free, &total));
    const std::size_t bytes = std::min<std::size_t>(std::size_t{512} << 20U, free / 4 / 256 * 256);
    if (bytes < info_.cuda->l2_bytes) return std::nullopt;
    const DeviceArray<std::byte> from(bytes);
    const DeviceArray<std::byte> to(bytes);
    cuda_check(cudaMemsetAsync(from.data(), 1, bytes, stream_));
    auto samples = sample(sampling, [&] {
      cuda_check(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, stream_));
    });
    if (!samples) return std::nullopt;
    return CopySamples{bytes, std::move(*samples)};
  }

  std::optional<ReadSamples> time_read(Index n, const Sampling& sampling) override {
    const std::size_t bytes = n * sizeof(float) / kVectorBytes * kVectorBytes;
    if (bytes == 0) return std::nullopt;
    const auto read = [&](const ReadShape& shape) {
      return [this, shape, bytes] {
        queue_read(array_.data(), bytes, sink_.data(), shape, info_.machine, stream_);
      };
    };
    // A short look at each shape, and then a long one at the best.
    constexpr Sampling kShort{
        .warmups = 1, .min_samples = 7, .min_seconds = 0, .max_noise = 1, .timeout_seconds = 0.05};
    Sampling quick = kShort;
    quick.cache = sampling.cache;
    const ReadShape* best = &read_shapes().front();
    double best_median = std::numeric_limits<double>::infinity();
    for (const ReadShape& shape : read_shapes()) {
      const auto samples = sample(quick, read(shape));
      if (!samples) return std::nullopt;
      const double median = summarize(*samples).median;
      if (median < best_median) {
        best = &shape;
        best_median = median;
      }
    }
    auto samples = sample(sampling, read(*best));
    if (!samples) return std::nullopt;
    return ReadSamples{bytes,
                       std::to_string(best->loads) + " loads of 16 bytes in flight, " +
                           std::to_string(best->block) + " threads a block",
                       std::move(*samples)};
  }

  std::optional<Samples> time_empty_launch(const Sampling& sampling) override {
    return sample(sampling, [&] { queue_nothing(stream_); });
  }

  [[nodiscard]] std::optional<MachineState> state() const override { return nvml_.state(); }

 private:
  [[nodiscard]] Problem<float> problem() const {
    return {input_, workspace_.data(), output_.data(), control_.data(),
            static_cast<cudaStream_t>(stream_)};
  }

  // Makes room for the input, `misalignment` values past the border that an array begins on.
  void place_input(Index n, unsigned misalignment) {
    array_.reserve(n + misalignment);
    input_ = array_.data() + misalignment;
  }

  // Makes room for what `plan` needs beside the input. Control words are zero when they are new.
  void reserve(const Plan& plan) {
    workspace_.reserve(plan.workspace());
    if (control_.reserve(plan.control)) {
      cuda_check(cudaMemsetAsync(control_.data(), 0, plan.control * sizeof(ControlWord), stream_));
    }
  }

  // All bits set is a NaN, and none that arithmetic makes.
  static constexpr std::uint32_t kPoisonBits = 0xffffffff;

  void make_l2_cold() {
    queue_fill_l2(flush_.data(), flush_bytes_, sink_.data(), info_.machine, stream_);
  }

  void poison_output() {
    cuda_check(cudaMemsetAsync(output_.data(), 0xff, sizeof(float), stream_));
  }

  // Takes samples of the work that `queue` queues, calling `check` after each. Nothing if no hold
  // works, because a tool waits for the end of every launch, as profilers and sanitizers do.
  template <typename Queue, typename Check>
  std::optional<Samples> sample(const Sampling& sampling, Queue queue, Check check) {
    using Clock = std::chrono::steady_clock;
    constexpr unsigned kHoldsExpired = 3;  // one after the other
    constexpr std::size_t kLookEvery = 16;
    unsigned expired = 0;
    Samples samples;
    for (unsigned i = 0; i < sampling.warmups; ++i) {
      if (!take_sample(sampling.cache, queue) && ++expired == kHoldsExpired) return std::nullopt;
      check();
    }
    expired = 0;
    const Clock::time_point start = Clock::now();
    for (;;) {
      const std::chrono::duration<double> spent = Clock::now() - start;
      const std::size_t taken = samples.seconds.size();
      if (taken >= sampling.min_samples && spent.count() >= sampling.min_seconds &&
          (taken - sampling.min_samples) % kLookEvery == 0) {
        samples.stable = noise(samples.seconds) <= sampling.max_noise;
        if (samples.stable) return samples;
      }
      if (spent.count() >= sampling.timeout_seconds && taken > 0) return samples;
      if (const auto seconds = take_sample(sampling.cache, queue)) {
        samples.seconds.push_back(*seconds);
        expired = 0;
      } else {
        ++samples.discarded;
        if (++expired == kHoldsExpired) return std::nullopt;
      }
      check();
    }
  }
  template <typename Queue>
  std::optional<Samples> sample(const Sampling& sampling, Queue queue) {
    return sample(sampling, queue, [] {});
  }

  // Seconds that the queued work took; nothing if the hold expired, since host time may be inside
  // then.
  template <typename Queue>
  std::optional<double> take_sample(CacheMode cache, Queue queue) {
    if (cache == CacheMode::cold) make_l2_cold();
    poison_output();
    ++ticket_;
    queue_hold(words_ + kReleased, words_ + kExpired, ticket_, stream_);
    cuda_check(cudaEventRecord(begin_, stream_));
    queue();
    cuda_check(cudaEventRecord(end_, stream_));
    *(words_ + kReleased) = ticket_;
    cuda_check(cudaEventSynchronize(end_));
    if (*(words_ + kExpired) == ticket_) return std::nullopt;
    float milliseconds = 0;
    cuda_check(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return milliseconds * 1e-3;
  }

  enum Word : std::size_t { kReleased, kExpired, kWords };

  DeviceInfo info_;
  Nvml nvml_;
  Stream stream_;
  Event begin_;
  Event end_;
  MappedWords words_{kWords};
  unsigned ticket_ = 0;
  std::size_t flush_bytes_;
  DeviceArray<std::byte> flush_;
  DeviceArray<unsigned> sink_;
  DeviceArray<float> array_;  // that the input lies in
  float* input_ = nullptr;
  DeviceArray<float> workspace_;
  DeviceArray<ControlWord> control_;
  DeviceArray<float> output_;
  std::unique_ptr<HardwareCounters> counters_;  // once somebody has asked for them
  std::string no_counters_;                     // why there are none, if that is known
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
  // The first call that makes a context finds out whether the device can be had at all.
  cudaError_t usable = cudaSetDevice(ordinal);
  if (usable == cudaSuccess) usable = cudaFree(nullptr);
  if (usable != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    throw NoGpuError("no usable GPU: device " + std::to_string(ordinal) + ": " +
                     cudaGetErrorString(usable));
  }
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
