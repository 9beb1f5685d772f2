// NVIDIA's own sum, from the toolkit that built this program: what the ladder is held against.
#include <cub/device/device_reduce.cuh>
#include <cub/version.cuh>
#include <limits>
#include <string>

#include "backend_cuda.cuh"
#include "launch_shape.hpp"

namespace reduce_ladder::inline cuda_backend {
namespace {

// CUB is asked twice: for the bytes of scratch it needs, and to sum. The type of n is the one that
// its users have: 32 bits where they are enough, which is the faster one.
void sum(void* scratch, std::size_t& bytes, const float* in, float* out, Index n,
         cudaStream_t stream) {
  if (n <= static_cast<Index>(std::numeric_limits<int>::max())) {
    cuda_check(cub::DeviceReduce::Sum(scratch, bytes, in, out, static_cast<int>(n), stream));
  } else {
    cuda_check(cub::DeviceReduce::Sum(scratch, bytes, in, out, static_cast<long long>(n), stream));
  }
}

}  // namespace

Plan plan_cub(Index n, const Shape& shape) {
  std::size_t bytes = 0;
  sum(nullptr, bytes, nullptr, nullptr, n, nullptr);
  // CUB does not say what its tree is. Up to CUB 3.0 a thread adds its share one value after the
  // other, at least one block of 256 threads a multiprocessor has a share once there are several,
  // and what then follows is no deeper than two tiles of 20 values a thread and their trees.
  constexpr Index kBlock = 256;
  constexpr Index kTiles = 2 * (20 + 8);
  const Index depth = rounds(n, kBlock * shape.machine.multiprocessors) + kTiles +
                      rounds(shape.machine.multiprocessors * Index{256}, kBlock);
  return {.passes = {{.n = n, .grid = 1, .block = 0, .depth = depth}},
          .scratch = rounds(bytes, sizeof(float))};
}

void launch_cub(const Plan& plan, const Problem<float>& problem) {
  std::size_t bytes = plan.workspace() * sizeof(float);
  sum(problem.workspace, bytes, problem.input, problem.output, plan.passes.front().n,
      static_cast<cudaStream_t>(problem.queue));
}

}  // namespace reduce_ladder::inline cuda_backend

namespace reduce_ladder {

std::string cub_version() {
  return std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." +
         std::to_string(CUB_SUBMINOR_VERSION);
}

}  // namespace reduce_ladder
