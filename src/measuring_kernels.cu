#include "measuring_kernels.hpp"

#include <algorithm>

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

__global__ void nothing() {}

// What words hardly ever fold to. The compiler cannot know that, and so has to load all of them.
constexpr unsigned kUnlikely = 0x9e3779b9U;

// By plain loads: others would not push out what L2 holds.
__global__ void fill_l2(const uint4* data, std::size_t count, unsigned* sink) {
  unsigned folded = 0;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    const uint4 v = data[i];
    folded ^= v.x ^ v.y ^ v.z ^ v.w;
  }
  if (folded == kUnlikely) *sink = folded;
}

// The loads of a round are independent of each other, so that all of them are in flight at once.
template <unsigned kLoads>
__global__ void __launch_bounds__(kMaxBlock, 1)
    read_all(const uint4* data, std::size_t count, unsigned* sink) {
  unsigned folded = 0;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; i + (kLoads - 1) * stride < count; i += kLoads * stride) {
    uint4 v[kLoads];
#pragma unroll
    for (unsigned k = 0; k < kLoads; ++k) v[k] = __ldcs(data + i + k * stride);
#pragma unroll
    for (unsigned k = 0; k < kLoads; ++k) folded ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
  }
  if (i < count) {  // what is left of a round
    uint4 v[kLoads];
#pragma unroll
    for (unsigned k = 0; k < kLoads; ++k) {
      v[k] = i + k * stride < count ? __ldcs(data + i + k * stride) : uint4{};
    }
#pragma unroll
    for (unsigned k = 0; k < kLoads; ++k) folded ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
  }
  if (folded == kUnlikely) *sink = folded;
}

constexpr ReadShape kReadShapes[] = {
    {1, 512, 1}, {2, 512, 1}, {4, 256, 1}, {4, 512, 1}, {4, 1024, 1},
    {8, 256, 1}, {8, 512, 1}, {4, 256, 4}, {8, 256, 4},
};

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

void queue_nothing(cudaStream_t stream) {
  nothing<<<1, 1, 0, stream>>>();
  cuda_check(cudaGetLastError());
}

void queue_fill_l2(const void* data, std::size_t bytes, unsigned* sink, const Machine& machine,
                   cudaStream_t stream) {
  constexpr unsigned kBlock = 512;
  const unsigned grid = machine.multiprocessors * (machine.threads_per_multiprocessor / kBlock);
  fill_l2<<<grid, kBlock, 0, stream>>>(static_cast<const uint4*>(data), bytes / sizeof(uint4),
                                       sink);
  cuda_check(cudaGetLastError());
}

std::span<const ReadShape> read_shapes() {
  return kReadShapes;
}

void queue_read(const void* data, std::size_t bytes, unsigned* sink, const ReadShape& shape,
                const Machine& machine, cudaStream_t stream) {
  const auto* vectors = static_cast<const uint4*>(data);
  const std::size_t count = bytes / sizeof(uint4);
  // No more blocks than there is a round of loads for.
  const std::size_t a_block = std::size_t{shape.block} * shape.loads;
  const std::size_t resident = std::size_t{machine.multiprocessors} *
                               (machine.threads_per_multiprocessor / shape.block) * shape.waves;
  const auto grid =
      static_cast<unsigned>(std::clamp<std::size_t>((count + a_block - 1) / a_block, 1, resident));
  const auto kernel = shape.loads == 1   ? read_all<1>
                      : shape.loads == 2 ? read_all<2>
                      : shape.loads == 4 ? read_all<4>
                                         : read_all<8>;
  kernel<<<grid, shape.block, 0, stream>>>(vectors, count, sink);
  cuda_check(cudaGetLastError());
}

}  // namespace reduce_ladder
