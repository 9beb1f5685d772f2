#include "measuring_kernels.hpp"

#include "reduce_ladder/cuda_check.hpp"

namespace reduce_ladder {
namespace {

constexpr unsigned long long kHoldNanoseconds = 100'000'000;

__device__ unsigned long long nanoseconds() {
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

__global__ void hold(const volatile unsigned* released, volatile unsigned* expired,
                     unsigned ticket) {
  const unsigned long long start = nanoseconds();
  while (*released != ticket) {
    if (nanoseconds() - start > kHoldNanoseconds) {
      *expired = ticket;
      return;
    }
  }
}

__global__ void read_all(const uint4* data, std::size_t count, unsigned* sink) {
  unsigned folded = 0;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    const uint4 v = data[i];
    folded |= v.x | v.y | v.z | v.w;
  }
  // Never true of zeros, but the compiler cannot know that, and so has to load them.
  if (folded != 0) *sink = folded;
}

}  // namespace

cudaError_t check_kernels_load() {
  cudaFuncAttributes attributes{};
  return cudaFuncGetAttributes(&attributes, hold);
}

void queue_hold(const volatile unsigned* released, volatile unsigned* expired, unsigned ticket,
                cudaStream_t stream) {
  hold<<<1, 1, 0, stream>>>(released, expired, ticket);
  cuda_check(cudaGetLastError());
}

void queue_read(const std::byte* data, std::size_t bytes, unsigned* sink, const Machine& machine,
                cudaStream_t stream) {
  constexpr unsigned kBlock = 512;
  const unsigned grid = machine.multiprocessors * (machine.threads_per_multiprocessor / kBlock);
  read_all<<<grid, kBlock, 0, stream>>>(reinterpret_cast<const uint4*>(data), bytes / sizeof(uint4),
                                        sink);
  cuda_check(cudaGetLastError());
}

}  // namespace reduce_ladder
