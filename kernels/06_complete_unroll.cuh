// The loop over the levels counted, compared and computed addresses, for bounds known only at run
// time. Here the block size is a template argument, and the compiler lays out the whole tree as a
// straight line.
#pragma once

#include "operators.hpp"
#include "passes.hpp"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

template <typename T, typename Op, unsigned kBlock>
__global__ void complete_unroll(GlobalArray<const T> in, Index n, GlobalArray<T> partials) {
  SharedArray<T> scratch = shared_memory<T>();
  const unsigned t = threadIdx.x;
  const Index i = Index{blockIdx.x} * 2 * kBlock + t;
  const T first = i < n ? in[i] : Op::identity();
  const T second = i + kBlock < n ? in[i + kBlock] : Op::identity();
  scratch[t] = Op::combine(first, second);
  __syncthreads();
  for (unsigned s = kBlock / 2; s > 32; s /= 2) {
    if (t < s) scratch[t] = Op::combine(scratch[t], scratch[t + s]);
    __syncthreads();
  }
  if (t < 32) {
    T sum = scratch[t];
    if constexpr (kBlock >= 64) sum = Op::combine(sum, scratch[t + 32]);
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

inline Pass complete_unroll_pass(Index n, const Shape& shape) {
  return {.n = n,
          .grid = blocks_for(n, Index{2} * shape.threads()),
          .block = shape.threads(),
          .shared_values = shape.threads(),
          .depth = 1 + tree_depth(shape.threads())};
}

template <typename T, typename Op>
void launch_complete_unroll(const Plan& plan, const Problem<T>& problem) {
  run_passes(plan, problem, [](const Pass& pass, void* queue, const T* in, T* partials) {
    with_constant_block(pass.block, [&](auto block) {
      launch<T>(complete_unroll<T, Op, block>, pass, queue, in, pass.n, partials);
    });
  });
}

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
