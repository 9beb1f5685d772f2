// The partials went out to memory, and a second launch had to start, read them back and add them.
// Here every block adds its partial to the one result, in whatever order the blocks come to it.
#pragma once

#include "operators.hpp"
#include "passes.hpp"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

template <typename T, typename Op, unsigned kBlock>
__global__ void shuffle_atomic(GlobalArray<const T> in, Index n, GlobalArray<T> result) {
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
    if (t == 0) Op::combine_atomically(result, sum);
  }
}

inline Pass shuffle_atomic_pass(Index n, const Shape& shape) {
  const unsigned grid = resident_blocks_for(n, shape);
  return {.n = n,
          .grid = grid,
          .block = shape.threads(),
          .shared_values = shape.threads() / 32,
          .depth = 1 + rounds(n, Index{2} * grid * shape.threads()) + tree_depth(32) +
                   tree_depth(shape.threads() / 32)};
}

inline Plan shuffle_atomic_plan(Index n, const Shape& shape) {
  const Pass pass = shuffle_atomic_pass(n, shape);
  return {.passes = {pass}, .atomic_depth = pass.grid};
}

template <typename T, typename Op>
void launch_shuffle_atomic(const Plan& plan, const Problem<T>& problem) {
  static_assert(Op::kIdentityIsZero, "the result starts at zero");
  zero(problem.output, 1, problem.queue);
  run_passes(plan, problem, [](const Pass& pass, void* queue, const T* in, T* result) {
    with_constant_block(pass.block, [&](auto block) {
      launch<T>(shuffle_atomic<T, Op, block>, pass, queue, in, pass.n, result);
    });
  });
}

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
