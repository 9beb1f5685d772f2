// Every two values a thread paid for one tree, so the trees cost in proportion to n.
// Here the grid is as large as the machine, and each thread folds its many values in a register
// first.
#pragma once

#include "operators.hpp"
#include "passes.hpp"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

template <typename T, typename Op, unsigned kBlock>
__global__ void grid_stride(GlobalArray<const T> in, Index n, GlobalArray<T> partials) {
  SharedArray<T> scratch = shared_memory<T>();
  const unsigned t = threadIdx.x;
  T sum = Op::identity();
  const Index stride = Index{gridDim.x} * 2 * kBlock;
  for (Index i = Index{blockIdx.x} * 2 * kBlock + t; i < n; i += stride) {
    const T first = in[i];
    const T second = i + kBlock < n ? in[i + kBlock] : Op::identity();
    sum = Op::combine(sum, Op::combine(first, second));
  }
  scratch[t] = sum;
  __syncthreads();
  for (unsigned s = kBlock / 2; s > 32; s /= 2) {
    if (t < s) scratch[t] = Op::combine(scratch[t], scratch[t + s]);
    __syncthreads();
  }
  if (t < 32) {
    sum = scratch[t];
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

inline Pass grid_stride_pass(Index n, const Shape& shape) {
  const unsigned grid = resident_blocks_for(n, shape);
  return {.n = n,
          .grid = grid,
          .block = shape.threads(),
          .shared_values = shape.threads(),
          .depth = 1 + rounds(n, Index{2} * grid * shape.threads()) + tree_depth(shape.threads())};
}

template <typename T, typename Op>
void launch_grid_stride(const Plan& plan, const Problem<T>& problem) {
  run_passes(plan, problem, [](const Pass& pass, void* queue, const T* in, T* partials) {
    with_constant_block(pass.block, [&](auto block) {
      launch<T>(grid_stride<T, Op, block>, pass, queue, in, pass.n, partials);
    });
  });
}

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
