// What a launch did, counted: exactly by the simulator, and by the counters of a GPU.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

namespace reduce_ladder {

// An instruction counts once for each warp that has at least one active lane there, whatever the
// number of its lanes. Shared memory has 32 banks of 4 bytes and serves one word of each bank in a
// wavefront; global memory moves sectors of 32 bytes.
enum class Counter : unsigned {
  blocks,
  warps,
  warp_instructions,      // of a GPU alone, like all that are so marked
  lanes_per_instruction,  // threads whose predicate was on, of 32; of a GPU alone
  block_barriers,         // __syncthreads, once for each warp
  warp_barriers,          // __syncwarp
  shuffles,
  ballots,
  shared_loads,
  shared_load_lanes,  // active, of all shared loads together
  shared_load_wavefronts,
  shared_stores,
  shared_store_lanes,
  shared_store_wavefronts,
  global_loads,
  global_load_lanes,
  global_load_sectors,
  global_load_bytes,  // that lanes asked for
  global_stores,
  global_store_lanes,
  global_store_sectors,
  global_store_bytes,
  global_atomics,
  global_atomic_lanes,
  global_atomic_lanes_at_one,  // at the address that most of these meet at; of the simulator alone
  shared_loads_issued,    // also where no lane is active, as the compiler predicates short branches
  shared_stores_issued,   // likewise; both of a GPU alone
  shared_load_conflicts,  // wavefronts that other addresses would have done without
  shared_store_conflicts,  // likewise; of a GPU those that its own counter has
  barrier_stall,           // warps that stood at a block barrier, of those resident; of a GPU alone
  dram_bytes,              // read and written; of a GPU alone
  dram_share,              // of the peak throughput, 0 to 1; of a GPU alone
  count
};
inline constexpr auto kCounters = static_cast<std::size_t>(Counter::count);

// Those that the simulator counts.
inline constexpr Counter kSimulatedCounters[] = {
    Counter::blocks,
    Counter::warps,
    Counter::block_barriers,
    Counter::warp_barriers,
    Counter::shuffles,
    Counter::ballots,
    Counter::shared_loads,
    Counter::shared_load_lanes,
    Counter::shared_load_wavefronts,
    Counter::shared_stores,
    Counter::shared_store_lanes,
    Counter::shared_store_wavefronts,
    Counter::global_loads,
    Counter::global_load_lanes,
    Counter::global_load_sectors,
    Counter::global_load_bytes,
    Counter::global_stores,
    Counter::global_store_lanes,
    Counter::global_store_sectors,
    Counter::global_store_bytes,
    Counter::global_atomics,
    Counter::global_atomic_lanes,
    Counter::global_atomic_lanes_at_one,
    Counter::shared_load_conflicts,
    Counter::shared_store_conflicts,
};

// Counters of one launch; absent where nobody counts them.
struct LaunchCounters {
  std::array<std::optional<double>, kCounters> values;

  std::optional<double>& operator[](Counter counter) {
    return values[static_cast<std::size_t>(counter)];
  }
  const std::optional<double>& operator[](Counter counter) const {
    return values[static_cast<std::size_t>(counter)];
  }
};

}  // namespace reduce_ladder
