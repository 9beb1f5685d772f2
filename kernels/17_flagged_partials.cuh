// The last block waited for its partial to be out before it drew its ticket, and read the others
// only then.
// Here a partial travels with its flag in one word, which needs no fence; the block that began last
// adds each as soon as it sees its flag.
#pragma once

#include "11_last_block.cuh"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

inline constexpr ControlWord kFlag = ControlWord{1} << 32U;
inline constexpr unsigned kEightLoads = 8;  // more than four, in half as many threads
inline constexpr unsigned kMostThreads = kMaxBlock / 2;

// words[0] counts the blocks that have begun; words[1 + b] is block b's. `alone`: the grid is one
// block, which takes everything in one round of loads.
template <typename T, typename Op, unsigned kBlock, bool alone>
__global__ void __launch_bounds__(kBlock, least_resident_blocks(kBlock))
    flagged_partials(GlobalArray<const T> in, Index n, GlobalArray<ControlWord> words,
                     GlobalArray<T> result) {
  static_assert(sizeof(T) == 4, "value and flag share a word of 8 bytes");
  SharedArray<T> scratch = shared_memory<T>();
  const unsigned t = threadIdx.x;
  if constexpr (alone) {
    T sum = fold_vectors<Op, kBlock, kFourLoads, true>(in, static_cast<unsigned>(n), 0U, 1U);
    sum = block_tree<Op, kBlock>(sum, scratch);
    if (t == 0) result[0] = sum;
    return;
  }
  // All others have begun when the last one does: they will come to their end without it, whether
  // or not all blocks are resident at once. Asked early, so that nobody waits for the answer.
  const bool last =
      t == 0 && fetch_add(words, ControlWord{1}, memory_order_relaxed) == gridDim.x - 1;
  T sum = fold_vectors<Op, kBlock, kEightLoads>(in, n, Index{blockIdx.x}, Index{gridDim.x});
  const bool gathers = __syncthreads_or(last);
  sum = block_tree<Op, kBlock>(sum, scratch);
  // Value and flag are one atomic word, so that whoever sees the flag has the value.
  if (t == 0) store(words + 1 + blockIdx.x, kFlag | same_bits<unsigned>(sum), memory_order_relaxed);
  if (!gathers) return;

  sum = Op::identity();
  for (unsigned i = t; i < gridDim.x; i += kBlock) {
    ControlWord word = 0;
    while ((word & kFlag) == 0) word = load(words + 1 + i, memory_order_relaxed);
    sum = Op::combine(sum, same_bits<T>(static_cast<unsigned>(word)));
    words[1 + i] = 0;  // its block wrote it once: ready for the next run
  }
  __syncthreads();
  sum = block_tree<Op, kBlock>(sum, scratch);
  if (t == 0) {
    words[0] = 0;
    result[0] = sum;
  }
}

template <typename T>
Plan flagged_partials_plan(Index n, const Shape& shape) {
  const Pass one = vector_loads_pass<T, kFourLoads>(n, shape);
  if (one.grid == 1 && n <= kFourLoads * kLanes<T> * one.block) return {.passes = {one}};
  Pass pass = vector_loads_pass<T, kEightLoads, kMostThreads>(n, shape);
  pass.depth += rounds(pass.grid, pass.block) + tree_depth(pass.block);
  return {.passes = {pass}, .control = std::size_t{1} + pass.grid};
}

template <typename T, typename Op>
void launch_flagged_partials(const Plan& plan, const Problem<T>& problem) {
  const Pass& pass = plan.passes.front();
  with_constant_block(pass.block, [&](auto block) {
    const auto kernel = plan.control == 0 ? flagged_partials<T, Op, block, true>
                                          : flagged_partials<T, Op, block, false>;
    launch<T>(kernel, pass, problem.queue, problem.input, pass.n, problem.control, problem.output);
  });
}

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
