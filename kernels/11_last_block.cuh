// A second launch had to begin before anybody could add the partials.
// Here every block takes a ticket when its partial is out, and whoever draws the last one adds all
// partials, in the order of the blocks.
#pragma once

#include "10_vector_loads.cuh"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

// The sum of this thread's share of partials[0, gridDim.x), of one block that adds them all.
template <typename Op, unsigned kBlock, typename A>
__device__ A fold_partials(GlobalArray<A> partials) {
  A sum = Op::identity();
  for (unsigned i = threadIdx.x; i < gridDim.x; i += kBlock) sum = Op::combine(sum, partials[i]);
  return sum;
}

template <typename T, typename Op, unsigned kBlock>
__global__ void __launch_bounds__(kBlock, least_resident_blocks(kBlock))
    last_block(GlobalArray<const T> in, Index n, GlobalArray<AccumulatorOf<Op>> partials,
               GlobalArray<ControlWord> tickets, GlobalArray<T> result) {
  using A = AccumulatorOf<Op>;
  SharedArray<A> scratch = shared_memory<A>();
  A sum = fold_vectors<Op, kBlock, kFourLoads>(in, n, Index{blockIdx.x}, Index{gridDim.x});
  sum = block_tree<Op, kBlock>(sum, scratch);
  if (gridDim.x == 1) {
    if (threadIdx.x == 0) result[0] = Op::result(sum);
    return;
  }
  bool last = false;
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = sum;
    // Releases this partial to whoever draws a later ticket, and acquires those of all earlier
    // ones. The barrier below passes that on to the other threads of the block.
    const ControlWord ticket = fetch_add(tickets, ControlWord{1}, memory_order_acq_rel);
    last = ticket == gridDim.x - 1;
  }
  if (!__syncthreads_or(last)) return;
  sum = block_tree<Op, kBlock>(fold_partials<Op, kBlock>(partials), scratch);
  if (threadIdx.x == 0) {
    result[0] = Op::result(sum);
    tickets[0] = 0;  // nobody draws any more: ready for the next run
  }
}

// One launch whose blocks leave a partial each, of type A, for one block of it to add.
template <typename T, typename A = T>
Plan last_block_plan(Index n, const Shape& shape) {
  constexpr unsigned kValues = kLanes<T> / kLanes<A>;  // that one A takes the room of
  Pass pass = vector_loads_pass<T, kFourLoads>(n, shape);
  pass.shared_values *= kValues;
  if (pass.grid == 1) return {.passes = {pass}};
  pass.depth += rounds(pass.grid, pass.block) + tree_depth(pass.block);
  return {.passes = {pass}, .scratch = Index{kValues} * pass.grid, .control = 1};
}

template <typename T, typename Op>
void launch_last_block(const Plan& plan, const Problem<T>& problem) {
  const Pass& pass = plan.passes.front();
  with_constant_block(pass.block, [&](auto block) {
    launch<T>(last_block<T, Op, block>, pass, problem.queue, problem.input, pass.n,
              reinterpret_cast<AccumulatorOf<Op>*>(problem.workspace), problem.control,
              problem.output);
  });
}

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
