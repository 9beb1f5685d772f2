// What a figure means: the same stages timed by five protocols, in one run, on the GPU.
//
//   held cold   one run between two events, queued behind a kernel that holds the stream; L2 cold,
//   clean held warm   the same, L2 as the run before left it naive       one run between two
//   events, launched by the host while the clock runs graph       a captured graph of one run,
//   replayed 50 times between two events; per run batch       50 runs launched back to back between
//   two events; per run
//
// Median microseconds. reduce-ladder reports the first.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <vector>

#include "input.hpp"
#include "reduce_ladder/cuda_check.hpp"
#include "reduce_ladder/device.hpp"
#include "statistics.hpp"

namespace reduce_ladder {
namespace {

constexpr unsigned kBatch = 50;
constexpr unsigned kSamples = 51;
constexpr std::size_t kControl = 1 << 16;  // more words than any of the stages needs

class Bench {
 public:
  explicit Bench(Index n) {
    cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    cuda_check(cudaEventCreate(&begin_));
    cuda_check(cudaEventCreate(&end_));
    cuda_check(cudaMalloc(reinterpret_cast<void**>(&values_), n * sizeof(float)));
    cuda_check(cudaMalloc(reinterpret_cast<void**>(&workspace_), n * sizeof(float)));
    cuda_check(cudaMalloc(reinterpret_cast<void**>(&output_), sizeof(float)));
    cuda_check(cudaMalloc(reinterpret_cast<void**>(&control_), kControl * sizeof(ControlWord)));
    cuda_check(cudaMemset(values_, 0, n * sizeof(float)));
    cuda_check(cudaMemset(control_, 0, kControl * sizeof(ControlWord)));
  }
  ~Bench() {
    cudaFree(values_);
    cudaFree(workspace_);
    cudaFree(output_);
    cudaFree(control_);
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
    cudaStreamDestroy(stream_);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void launch(const Stage& stage, const Plan& plan) const {
    stage.launch(plan, {values_, workspace_, output_, control_, stream_});
  }

  // Median microseconds of `queue`, per one of `runs`.
  template <typename Queue>
  double median(unsigned runs, Queue queue) const {
    Samples samples;
    for (unsigned i = 0; i < kSamples + 3; ++i) {
      cuda_check(cudaStreamSynchronize(stream_));
      cuda_check(cudaEventRecord(begin_, stream_));
      queue();
      cuda_check(cudaEventRecord(end_, stream_));
      cuda_check(cudaEventSynchronize(end_));
      float milliseconds = 0;
      cuda_check(cudaEventElapsedTime(&milliseconds, begin_, end_));
      if (i >= 3) samples.seconds.push_back(milliseconds * 1e-3 / runs);
    }
    return summarize(samples).median * 1e6;
  }

  double naive(const Stage& stage, const Plan& plan) const {
    return median(1, [&] { launch(stage, plan); });
  }
  double batch(const Stage& stage, const Plan& plan) const {
    return median(kBatch, [&] {
      for (unsigned i = 0; i < kBatch; ++i) launch(stage, plan);
    });
  }
  double graph(const Stage& stage, const Plan& plan) const {
    cudaGraph_t captured = nullptr;
    cudaGraphExec_t graph = nullptr;
    cuda_check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    launch(stage, plan);
    cuda_check(cudaStreamEndCapture(stream_, &captured));
    cuda_check(cudaGraphInstantiate(&graph, captured, 0));
    const double result = median(kBatch, [&] {
      for (unsigned i = 0; i < kBatch; ++i) cuda_check(cudaGraphLaunch(graph, stream_));
    });
    cuda_check(cudaGraphExecDestroy(graph));
    cuda_check(cudaGraphDestroy(captured));
    return result;
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  float* values_ = nullptr;
  float* workspace_ = nullptr;
  float* output_ = nullptr;
  ControlWord* control_ = nullptr;
};

void run() {
  const auto device = make_cuda_device(0);
  fmt::print("{}, driver {}, CUDA {}\n\n", device->info().name, device->info().cuda->driver,
             device->info().cuda->runtime);
  fmt::print("{:>6} {:<20} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "n", "stage", "held cold",
             "held warm", "naive", "graph", "batch");
  for (const unsigned bits : {10U, 14U, 20U, 24U, 28U}) {
    const Index n = Index{1} << bits;
    const Input input = generate_uniform(n, 42);
    device->load(input.values());
    const Bench bench(n);
    for (const Stage& stage : device->stages()) {
      if (stage.number != 3 && stage.number != 7 && stage.number != 9) continue;
      const Plan plan = stage.plan(n, {std::nullopt, device->info().machine});
      const auto held = [&](CacheMode cache) {
        Sampling sampling;
        sampling.cache = cache;
        const auto samples = device->time(stage, plan, sampling);
        return samples ? summarize(*samples).median * 1e6 : 0;
      };
      fmt::print("2^{:<4} {:<20} {:>10.2f} {:>10.2f} {:>10.2f} {:>10.2f} {:>10.2f}\n", bits,
                 stage.name, held(CacheMode::cold), held(CacheMode::warm), bench.naive(stage, plan),
                 bench.graph(stage, plan), bench.batch(stage, plan));
    }
  }
}

}  // namespace
}  // namespace reduce_ladder

int main() {
  try {
    reduce_ladder::run();
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "protocols: {}\n", error.what());
    return 1;
  }
}
