// The sum as one would first write it: nothing is reduced before it meets the result.
// Every thread adds its one element to the same address, and the memory puts them in a row.
#pragma once

#include "operators.hpp"
#include "passes.hpp"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

template <typename T, typename Op>
__global__ void atomic_per_element(GlobalArray<const T> in, Index n, GlobalArray<T> result) {
  const Index i = Index{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) Op::combine_atomically(result, in[i]);
}

inline Plan atomic_per_element_plan(Index n, const Shape& shape) {
  const Pass pass{.n = n, .grid = blocks_for(n, shape.threads()), .block = shape.threads()};
  return {.passes = {pass}, .atomic_depth = n};
}

template <typename T, typename Op>
void launch_atomic_per_element(const Plan& plan, const Problem<T>& problem) {
  static_assert(Op::kIdentityIsZero, "the result starts at zero");
  zero(problem.output, 1, problem.queue);
  const Pass& pass = plan.passes.front();
  launch<T>(atomic_per_element<T, Op>, pass, problem.queue, problem.input, pass.n, problem.output);
}

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
