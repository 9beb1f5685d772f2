// The plain tree: a block loads one value a thread and adds neighbours, then neighbours'
// neighbours. At stride s every thread whose number is a multiple of 2s adds the slot s further on
// to its own.
#pragma once

#include "operators.hpp"
#include "passes.hpp"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

template <typename T, typename Op>
__global__ void interleaved_modulo(GlobalArray<const T> in, Index n, GlobalArray<T> partials) {
  SharedArray<T> scratch = shared_memory<T>();
  const unsigned t = threadIdx.x;
  const Index i = Index{blockIdx.x} * blockDim.x + t;
  scratch[t] = i < n ? in[i] : Op::identity();
  __syncthreads();
  for (unsigned s = 1; s < blockDim.x; s *= 2) {
    if (t % (2 * s) == 0) scratch[t] = Op::combine(scratch[t], scratch[t + s]);
    __syncthreads();
  }
  if (t == 0) partials[blockIdx.x] = scratch[0];
}

inline Pass interleaved_modulo_pass(Index n, const Shape& shape) {
  return {.n = n,
          .grid = blocks_for(n, shape.threads()),
          .block = shape.threads(),
          .shared_values = shape.threads(),
          .depth = tree_depth(shape.threads())};
}

template <typename T, typename Op>
void launch_interleaved_modulo(const Plan& plan, const Problem<T>& problem) {
  run_passes(plan, problem, [](const Pass& pass, void* queue, const T* in, T* partials) {
    launch<T>(interleaved_modulo<T, Op>, pass, queue, in, pass.n, partials);
  });
}

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
