// The stride between the slots of neighbouring threads made them collide in the banks of shared
// memory. Here the stride walks down from half the block, and neighbouring threads work on
// neighbouring slots.
#pragma once

#include "operators.hpp"
#include "passes.hpp"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

template <typename T, typename Op>
__global__ void sequential(GlobalArray<const T> in, Index n, GlobalArray<T> partials) {
  SharedArray<T> scratch = shared_memory<T>();
  const unsigned t = threadIdx.x;
  const Index i = Index{blockIdx.x} * blockDim.x + t;
  scratch[t] = i < n ? in[i] : Op::identity();
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
    if (t < s) scratch[t] = Op::combine(scratch[t], scratch[t + s]);
    __syncthreads();
  }
  if (t == 0) partials[blockIdx.x] = scratch[0];
}

inline Pass sequential_pass(Index n, const Shape& shape) {
  return {.n = n,
          .grid = blocks_for(n, shape.threads()),
          .block = shape.threads(),
          .shared_values = shape.threads(),
          .depth = tree_depth(shape.threads())};
}

template <typename T, typename Op>
void launch_sequential(const Plan& plan, const Problem<T>& problem) {
  run_passes(plan, problem, [](const Pass& pass, void* queue, const T* in, T* partials) {
    launch<T>(sequential<T, Op>, pass, queue, in, pass.n, partials);
  });
}

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
