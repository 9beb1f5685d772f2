// How many blocks of how many threads: the one place that decides it from n and the machine.
#pragma once

#include <algorithm>
#include <bit>
#include <string>

#include "reduce_ladder/errors.hpp"
#include "reduce_ladder/stage.hpp"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

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

// Blocks of `block` threads that are resident at once on the whole machine, where a multiprocessor
// holds so many threads.
inline Index resident_blocks(unsigned block, unsigned threads_per_multiprocessor,
                             const Machine& machine) {
  return Index{machine.multiprocessors} *
         std::clamp(threads_per_multiprocessor / block, 1U, machine.blocks_per_multiprocessor);
}

// Rungs 7 to 9: blocks that fill the machine, but no more than `n` values are worth.
inline unsigned resident_blocks_for(Index n, const Shape& shape) {
  if (shape.grid) return *shape.grid;
  constexpr Index kValuesAThread = 8;  // fewer than that, and a block costs more than it folds
  const Index worth = std::max<Index>(1, n / (kValuesAThread * shape.threads()));
  return static_cast<unsigned>(std::min(
      {resident_blocks(shape.threads(), shape.machine.threads_per_multiprocessor, shape.machine),
       worth, kMaxGrid}));
}

// Threads on a multiprocessor at once, of the rungs that load vectors: fewer than there could be,
// so that each has 64 registers, enough for its loads in flight.
inline constexpr unsigned kResidentThreads = 1024;

// What a kernel's launch bounds may ask for: more than 16 blocks no GPU promises.
constexpr unsigned least_resident_blocks(unsigned block) {
  return std::min(kResidentThreads / block, 16U);
}

inline Index resident_vector_blocks(unsigned block, const Machine& machine) {
  return resident_blocks(block, std::min(machine.threads_per_multiprocessor, kResidentThreads),
                         machine);
}

struct GridAndBlock {
  unsigned grid = 1;
  unsigned block = kDefaultBlock;
};

// The rungs that load vectors. A thread has `values_in_flight` values in flight at a time; memory
// is busy when the threads of all multiprocessors together have enough of them.
//   small n   one block, with just the threads for one round of loads: nothing to put together
//   middle n  one round for each thread, in small blocks over all multiprocessors
//   large n   blocks of `most_threads`, so that few partials are left, and as many as are resident:
//             each thread goes round and round
inline GridAndBlock spread(Index n, Index values_in_flight, unsigned most_threads,
                           const Shape& shape) {
  constexpr Index kLeastOfMany = 256;  // threads a block, once there is more than one
  const Machine& machine = shape.machine;
  const Index threads = std::max<Index>(1, rounds(n, values_in_flight));
  const auto power_of_two = [=](Index wanted, Index least) {
    return static_cast<unsigned>(std::bit_ceil(std::clamp<Index>(wanted, least, most_threads)));
  };
  const unsigned block = shape.block.value_or(
      threads <= most_threads ? power_of_two(threads, kMinBlock)
                              : power_of_two(threads / machine.multiprocessors, kLeastOfMany));
  const Index grid = std::min(rounds(threads, block), resident_vector_blocks(block, machine));
  return {.grid = shape.grid.value_or(static_cast<unsigned>(std::min(grid, kMaxGrid))),
          .block = block};
}

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
