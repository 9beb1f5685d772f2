// Each thread had two loads of four bytes in flight and waited for them to add to its one sum.
// Here it has four loads of sixteen bytes in flight, and a sum for each that waits for no other.
#pragma once

#include "operators.hpp"
#include "passes.hpp"
#include "trees.hpp"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

// Loads this thread's share of in[0, n), as one of `kBlock` threads of block `block` of `blocks`,
// and hands it on: take(k, loaded) with a vector or a single value that load k of `kLoads` in
// flight brought. Lanes of a vector that lie behind the end are `filler`. Count is the type of
// positions: one that holds n and a round more. `one_round`: the blocks load everything at once.
template <unsigned kBlock, unsigned kLoads, bool one_round = false, typename T, typename Count,
          typename Take>
__device__ void take_share(GlobalArray<const T> in, Count n, Count block, Count blocks, T filler,
                           Take take) {
  // A vector lies on a 16-byte border. The few values before the first and behind the last border
  // are loaded one by one.
  const Count before = values_before_border(in);
  const Count head = before < n ? before : n;
  const Count vectors = (n - head) / kLanes<T>;
  const Count tail = head + vectors * kLanes<T>;
  const Count thread = block * kBlock + threadIdx.x;
  if (thread < head) take(0U, static_cast<T>(in[thread]));
  if (tail + thread < n) take(1U, static_cast<T>(in[tail + thread]));

  const GlobalArray<const T> body = in + head;
  Vector<T> loaded[kLoads];
  const auto take_loaded = [&] {
    for (unsigned k = 0; k < kLoads; ++k) take(k, loaded[k]);
  };
  // In a round, a block loads neighbours.
  Count i = block * (kBlock * kLoads) + threadIdx.x;
  if constexpr (!one_round) {
    for (; i + (kLoads - 1) * kBlock < vectors; i += blocks * (kBlock * kLoads)) {
      for (unsigned k = 0; k < kLoads; ++k) {
        loaded[k] = load_vector(body, (i + k * kBlock) * kLanes<T>);
      }
      take_loaded();
    }
  }
  if (i < vectors) {  // what is left of a round
    for (unsigned k = 0; k < kLoads; ++k) {
      loaded[k] = i + k * kBlock < vectors ? load_vector(body, (i + k * kBlock) * kLanes<T>)
                                           : same_in_all_lanes(filler);
    }
    take_loaded();
  }
}

// The sum of this thread's share.
template <typename Op, unsigned kBlock, unsigned kLoads, bool one_round = false, typename T,
          typename Count>
__device__ AccumulatorOf<Op> fold_vectors(GlobalArray<const T> in, Count n, Count block,
                                          Count blocks) {
  AccumulatorOf<Op> sums[kLoads];
  for (auto& sum : sums) sum = Op::identity();
  take_share<kBlock, kLoads, one_round>(in, n, block, blocks, Op::result(Op::identity()),
                                        [&](unsigned k, const auto& loaded) {
                                          sums[k] = Op::combine(sums[k], lane_tree<Op>(loaded));
                                        });
  for (unsigned s = kLoads / 2; s > 0; s /= 2) {
    for (unsigned k = 0; k < s; ++k) sums[k] = Op::combine(sums[k], sums[k + s]);
  }
  return sums[0];
}

inline constexpr unsigned kFourLoads = 4;

template <typename T, typename Op, unsigned kBlock>
__global__ void __launch_bounds__(kBlock, least_resident_blocks(kBlock))
    vector_loads(GlobalArray<const T> in, Index n, GlobalArray<T> partials) {
  T sum = fold_vectors<Op, kBlock, kFourLoads>(in, n, Index{blockIdx.x}, Index{gridDim.x});
  sum = block_tree<Op, kBlock>(sum, shared_memory<T>());
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

// One pass of blocks of at most `most_threads`, which leave a partial each.
template <typename T, unsigned kLoads, unsigned most_threads = kMaxBlock>
Pass vector_loads_pass(Index n, const Shape& shape) {
  const auto [grid, block] = spread(n, kLoads * kLanes<T>, most_threads, shape);
  const Index vectors_a_round = Index{kLoads} * grid * block;
  return {.n = n,
          .grid = grid,
          .block = block,
          .shared_values = block / 32,
          .depth = tree_depth(kLanes<T>) + rounds(n / kLanes<T>, vectors_a_round) +
                   tree_depth(kLoads) + tree_depth(block)};
}

template <typename T, typename Op>
void launch_vector_loads(const Plan& plan, const Problem<T>& problem) {
  run_passes(plan, problem, [](const Pass& pass, void* queue, const T* in, T* partials) {
    with_constant_block(pass.block, [&](auto block) {
      launch<T>(vector_loads<T, Op, block>, pass, queue, in, pass.n, partials);
    });
  });
}

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
