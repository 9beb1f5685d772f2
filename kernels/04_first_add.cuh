// Half of the threads had nothing to do but load before they idled through the whole tree.
// Here a block covers twice its size: every thread adds two loads, and half as many trees remain.
#pragma once

#include "operators.hpp"
#include "passes.hpp"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

template <typename T, typename Op>
__global__ void first_add(GlobalArray<const T> in, Index n, GlobalArray<T> partials) {
  SharedArray<T> scratch = shared_memory<T>();
  const unsigned t = threadIdx.x;
  const Index i = Index{blockIdx.x} * 2 * blockDim.x + t;
  const T first = i < n ? in[i] : Op::identity();
  const T second = i + blockDim.x < n ? in[i + blockDim.x] : Op::identity();
  scratch[t] = Op::combine(first, second);
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
    if (t < s) scratch[t] = Op::combine(scratch[t], scratch[t + s]);
    __syncthreads();
  }
  if (t == 0) partials[blockIdx.x] = scratch[0];
}

inline Pass first_add_pass(Index n, const Shape& shape) {
  return {.n = n,
          .grid = blocks_for(n, Index{2} * shape.threads()),
          .block = shape.threads(),
          .shared_values = shape.threads(),
          .depth = 1 + tree_depth(shape.threads())};
}

template <typename T, typename Op>
void launch_first_add(const Plan& plan, const Problem<T>& problem) {
  run_passes(plan, problem, [](const Pass& pass, void* queue, const T* in, T* partials) {
    launch<T>(first_add<T, Op>, pass, queue, in, pass.n, partials);
  });
}

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
