// The modulo scattered the active threads over all warps, so that nearly every warp paid for every
// level. Here thread t works on slot 2st, so that the active threads are the first ones and whole
// warps retire.
#pragma once

#include "operators.hpp"
#include "passes.hpp"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

template <typename T, typename Op>
__global__ void interleaved_strided(GlobalArray<const T> in, Index n, GlobalArray<T> partials) {
  SharedArray<T> scratch = shared_memory<T>();
  const unsigned t = threadIdx.x;
  const Index i = Index{blockIdx.x} * blockDim.x + t;
  scratch[t] = i < n ? in[i] : Op::identity();
  __syncthreads();
  for (unsigned s = 1; s < blockDim.x; s *= 2) {
    const unsigned slot = 2 * s * t;
    if (slot < blockDim.x) scratch[slot] = Op::combine(scratch[slot], scratch[slot + s]);
    __syncthreads();
  }
  if (t == 0) partials[blockIdx.x] = scratch[0];
}

inline Pass interleaved_strided_pass(Index n, const Shape& shape) {
  return {.n = n,
          .grid = blocks_for(n, shape.threads()),
          .block = shape.threads(),
          .shared_values = shape.threads(),
          .depth = tree_depth(shape.threads())};
}

template <typename T, typename Op>
void launch_interleaved_strided(const Plan& plan, const Problem<T>& problem) {
  run_passes(plan, problem, [](const Pass& pass, void* queue, const T* in, T* partials) {
    launch<T>(interleaved_strided<T, Op>, pass, queue, in, pass.n, partials);
  });
}

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
