// Nobody knew who would be last, so a counter had to find out and be put back to zero.
// Here all blocks are resident at once, by a cooperative launch, and wait for each other at a
// barrier of the grid; behind it block 0 adds the partials.
#pragma once

#include "11_last_block.cuh"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

template <typename T, typename Op, unsigned kBlock>
__global__ void __launch_bounds__(kBlock, least_resident_blocks(kBlock))
    grid_barrier(GlobalArray<const T> in, Index n, GlobalArray<T> partials, GlobalArray<T> result) {
  SharedArray<T> scratch = shared_memory<T>();
  T sum = fold_vectors<Op, kBlock, kFourLoads>(in, n, Index{blockIdx.x}, Index{gridDim.x});
  sum = block_tree<Op, kBlock>(sum, scratch);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
  wait_for_grid();
  if (blockIdx.x != 0) return;
  sum = block_tree<Op, kBlock>(fold_partials<Op, kBlock>(partials), scratch);
  if (threadIdx.x == 0) result[0] = sum;
}

template <typename T>
Plan grid_barrier_plan(Index n, const Shape& shape) {
  Pass pass = vector_loads_pass<T, kFourLoads>(n, shape);
  const Index most = resident_vector_blocks(pass.block, shape.machine);
  if (pass.grid > most) {
    throw UsageError("a grid of " + std::to_string(pass.grid) + " blocks of " +
                     std::to_string(pass.block) +
                     " threads: stage 12, grid-barrier, needs all of "
                     "them resident at once: at most " +
                     std::to_string(most) + " are allowed");
  }
  pass.depth += rounds(pass.grid, pass.block) + tree_depth(pass.block);
  return {.passes = {pass}, .scratch = pass.grid};
}

template <typename T, typename Op>
void launch_grid_barrier(const Plan& plan, const Problem<T>& problem) {
  const Pass& pass = plan.passes.front();
  with_constant_block(pass.block, [&](auto block) {
    launch_cooperative<T>(grid_barrier<T, Op, block>, pass, problem.queue, problem.input, pass.n,
                          problem.workspace, problem.output);
  });
}

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
