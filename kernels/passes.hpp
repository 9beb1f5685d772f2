// The host's side that all rungs share: cutting a problem into passes, and running them.
#pragma once

#include <algorithm>
#include <bit>
#include <string>
#include <type_traits>

#include "reduce_ladder/errors.hpp"
#include "reduce_ladder/stage.hpp"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

// Additions on the longest path of a binary tree over `leaves`, a power of two.
constexpr Index tree_depth(unsigned leaves) {
  return static_cast<Index>(std::countr_zero(leaves));
}

// Rounds that cover `n` values at `stride` values a round.
constexpr Index rounds(Index n, Index stride) {
  return n / stride + (n % stride != 0 ? 1 : 0);
}

// Blocks that `n` values need at `values_a_block` each; one even where there is nothing to reduce,
// since somebody has to write the identity.
inline unsigned blocks_for(Index n, Index values_a_block) {
  const Index blocks = std::max<Index>(1, rounds(n, values_a_block));
  if (blocks > kMaxGrid) {
    throw UsageError(std::to_string(n) + " values at " + std::to_string(values_a_block) +
                     " a block need " + std::to_string(blocks) + " blocks: at most " +
                     std::to_string(kMaxGrid) + " are allowed; a larger --block may help");
  }
  return static_cast<unsigned>(blocks);
}

// Blocks that fill the machine: as many as are resident at once, but no more than `n` values are
// worth.
inline unsigned resident_blocks_for(Index n, const Shape& shape) {
  constexpr Index kValuesAThread = 8;  // fewer than that, and a block costs more than it folds
  const Machine& machine = shape.machine;
  const Index resident =
      Index{machine.multiprocessors} * std::clamp(machine.threads_per_multiprocessor / shape.block,
                                                  1U, machine.blocks_per_multiprocessor);
  const Index worth = std::max<Index>(1, n / (kValuesAThread * shape.block));
  return static_cast<unsigned>(std::min({resident, worth, kMaxGrid}));
}

// A plan that reduces partials of partials until one value is left.
template <Pass (*pass_over)(Index n, const Shape& shape)>
Plan plan_until_one(Index n, const Shape& shape) {
  Plan plan;
  do {
    plan.passes.push_back(pass_over(n, shape));
    n = plan.passes.back().grid;
  } while (n > 1);
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
