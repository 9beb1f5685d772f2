// The host's side that all rungs share: cutting a problem into passes, and running them.
#pragma once

#include <bit>
#include <string>
#include <type_traits>

#include "launch_shape.hpp"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

// Additions on the longest path of a binary tree over `leaves`, a power of two.
constexpr Index tree_depth(unsigned leaves) {
  return static_cast<Index>(std::countr_zero(leaves));
}

// A plan that reduces partials of partials until one value is left.
// A grid that was asked for is the first pass's.
template <Pass (*pass_over)(Index n, const Shape& shape)>
Plan plan_until_one(Index n, const Shape& shape) {
  Plan plan{.passes = {pass_over(n, shape)}};
  const Shape later{.block = shape.block, .machine = shape.machine, .grid = {}};
  while (plan.passes.back().grid > 1) {
    plan.passes.push_back(pass_over(plan.passes.back().grid, later));
  }
  return plan;
}

// Runs the passes one after the other, each on the partials of the one before.
// queue_pass(pass, queue, in, partials) launches one of them.
template <typename T, typename QueuePass>
void run_passes(const Plan& plan, const Problem<T>& problem, QueuePass queue_pass) {
  const T* in = problem.input;
  T* partials = problem.workspace;
  for (const Pass& pass : plan.passes) {
    T* out = &pass == &plan.passes.back() ? problem.output : partials;
    queue_pass(pass, problem.queue, in, out);
    in = out;
    partials += pass.grid;
  }
}

// Calls body(std::integral_constant<unsigned, block>): the way from a run-time block size to a
// template argument. Blocks are powers of two from kMinBlock to kMaxBlock.
template <unsigned kBlock = kMinBlock, typename Body>
void with_constant_block(unsigned block, Body body) {
  if (block == kBlock) {
    body(std::integral_constant<unsigned, kBlock>{});
  } else if constexpr (kBlock < kMaxBlock) {
    with_constant_block<2 * kBlock>(block, body);
  } else {
    throw UsageError("a block of " + std::to_string(block) +
                     " threads: must be a power of two from " + std::to_string(kMinBlock) + " to " +
                     std::to_string(kMaxBlock));
  }
}

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
