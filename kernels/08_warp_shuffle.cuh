// The tree went through shared memory at every level, with a barrier of the block between two
// levels. Here a warp adds in registers by shuffles, leaves one word in shared memory, and one warp
// adds those.
#pragma once

#include "operators.hpp"
#include "passes.hpp"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

template <typename T, typename Op, unsigned kBlock>
__global__ void warp_shuffle(GlobalArray<const T> in, Index n, GlobalArray<T> partials) {
  SharedArray<T> scratch = shared_memory<T>();
  const unsigned t = threadIdx.x;
  T sum = Op::identity();
  const Index stride = Index{gridDim.x} * 2 * kBlock;
  for (Index i = Index{blockIdx.x} * 2 * kBlock + t; i < n; i += stride) {
    const T first = in[i];
    const T second = i + kBlock < n ? in[i + kBlock] : Op::identity();
    sum = Op::combine(sum, Op::combine(first, second));
  }
  for (unsigned s = 16; s > 0; s /= 2) {
    sum = Op::combine(sum, __shfl_down_sync(0xffffffff, sum, s, 32));
  }
  if (t % 32 == 0) scratch[t / 32] = sum;
  __syncthreads();
  if (t < 32) {
    sum = t < kBlock / 32 ? scratch[t] : Op::identity();
    for (unsigned s = 16; s > 0; s /= 2) {
      sum = Op::combine(sum, __shfl_down_sync(0xffffffff, sum, s, 32));
    }
    if (t == 0) partials[blockIdx.x] = sum;
  }
}

inline Pass warp_shuffle_pass(Index n, const Shape& shape) {
  const unsigned grid = resident_blocks_for(n, shape);
  return {.n = n,
          .grid = grid,
          .block = shape.threads(),
          .shared_values = shape.threads() / 32,
          .depth = 1 + rounds(n, Index{2} * grid * shape.threads()) + tree_depth(32) +
                   tree_depth(shape.threads() / 32)};
}

template <typename T, typename Op>
void launch_warp_shuffle(const Plan& plan, const Problem<T>& problem) {
  run_passes(plan, problem, [](const Pass& pass, void* queue, const T* in, T* partials) {
    with_constant_block(pass.block, [&](auto block) {
      launch<T>(warp_shuffle<T, Op, block>, pass, queue, in, pass.n, partials);
    });
  });
}

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
