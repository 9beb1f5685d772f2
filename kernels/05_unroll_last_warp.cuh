// Below two warps' worth of values one warp worked, yet the whole block met at a barrier at every
// level. Here the loop stops there, and the last warp finishes without guards and without block
// barriers.
#pragma once

#include "operators.hpp"
#include "passes.hpp"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

template <typename T, typename Op>
__global__ void unroll_last_warp(GlobalArray<const T> in, Index n, GlobalArray<T> partials) {
  SharedArray<T> scratch = shared_memory<T>();
  const unsigned t = threadIdx.x;
  const Index i = Index{blockIdx.x} * 2 * blockDim.x + t;
  const T first = i < n ? in[i] : Op::identity();
  const T second = i + blockDim.x < n ? in[i + blockDim.x] : Op::identity();
  scratch[t] = Op::combine(first, second);
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 32; s /= 2) {
    if (t < s) scratch[t] = Op::combine(scratch[t], scratch[t + s]);
    __syncthreads();
  }
  if (t < 32) {
    T sum = scratch[t];
    if (blockDim.x >= 64) sum = Op::combine(sum, scratch[t + 32]);
    // No lockstep: barriers part reads from writes. t ^ s, not t + s: lanes keep to their 32 slots.
    for (unsigned s = 16; s > 0; s /= 2) {
      __syncwarp();
      scratch[t] = sum;
      __syncwarp();
      sum = Op::combine(sum, scratch[t ^ s]);
    }
    if (t == 0) partials[blockIdx.x] = sum;
  }
}

inline Pass unroll_last_warp_pass(Index n, const Shape& shape) {
  return {.n = n,
          .grid = blocks_for(n, Index{2} * shape.threads()),
          .block = shape.threads(),
          .shared_values = shape.threads(),
          .depth = 1 + tree_depth(shape.threads())};
}

template <typename T, typename Op>
void launch_unroll_last_warp(const Plan& plan, const Problem<T>& problem) {
  run_passes(plan, problem, [](const Pass& pass, void* queue, const T* in, T* partials) {
    launch<T>(unroll_last_warp<T, Op>, pass, queue, in, pass.n, partials);
  });
}

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
