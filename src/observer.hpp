// What a worker of the simulator sees of the blocks that it runs: counts their instructions, and
// finds accesses that must not be.
//
// The threads of a warp run one after the other, so an instruction of the warp is put together from
// what its lanes did at one place of the source between two meetings of all of them: the first of
// each, the second of each, and so on. Lanes that leave out some rounds of a loop and come back to
// it before they next meet are counted with rounds that were not theirs.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "reduce_ladder/simulator.hpp"

namespace reduce_ladder::simt {

// Throws SimulatorFault about the running thread.
[[noreturn]] void fault(std::string_view what);
// "kernel sum, block 3", as faults begin.
std::string running_block();

// Calls body(lane) for each lane of a mask.
template <typename Body>
void for_each_lane(std::uint32_t lanes, Body body) {
  for (; lanes != 0; lanes &= lanes - 1) body(static_cast<unsigned>(std::countr_zero(lanes)));
}

// Lanes of atomic operations, by their address.
using AtomicLanes = std::unordered_map<std::uint64_t, std::uint64_t>;

class Observer {
 public:
  void begin_launch(Observation& observation);
  void begin_block(unsigned threads);
  // An access of the running thread. Throws SimulatorFault for one that must not be.
  void note(const Observed& site, Access access, const void* address, std::size_t bytes);
  // Lanes of a warp have met.
  void meet(WarpOperation operation, unsigned warp, unsigned lanes);
  // A block comes to the barrier of the grid, for which a GPU needs one atomic operation of it.
  void meet_other_blocks();
  // After so many barriers.
  void end_block(std::uint64_t complete);
  // Adds what was counted.
  void end_launch(LaunchCounters& sum, AtomicLanes& atomic_lanes) const;

 private:
  static constexpr unsigned kWarps = kMaxBlock / kWarpSize;

  // An instruction, by its place in the source.
  struct Site {
    Place where;
    Space space;
    Access access;
    unsigned bytes;
  };
  // One execution by a warp.
  struct Execution {
    std::uint32_t lanes = 0;
    std::array<std::uint64_t, kWarpSize> address;
  };
  // Executions of an instruction by a warp since it last met as a whole.
  struct Stream {
    std::uint64_t barrier = 0;                       // of the block
    unsigned meeting = 0;                            // of the warp
    std::array<std::uint32_t, kWarpSize> of_lane{};  // how many
    std::vector<Execution> executions;
  };

  // An access, for comparison with a later one.
  struct Stamp {
    std::uint64_t barrier = 0;
    unsigned thread = 0;
    unsigned clock = 0;  // of the thread's lane
    Place where;
  };
  // Four bytes of shared memory.
  struct SharedWord {
    bool written = false;
    Stamp last_store;
    std::vector<Stamp> loads;  // since the last barrier of those
  };
  // A load of shared memory that nobody had written. If another thread does before the next
  // barrier, then that is a race; else it is reported then.
  struct EarlyLoad {
    Stamp stamp;
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };
  // For each lane, the barriers of its warp that it came to; and those of each other lane that are
  // known to lie before what it does now.
  using Clocks = std::array<std::array<unsigned, kWarpSize>, kWarpSize>;

  std::uint64_t& tally(Counter counter) { return tallies_[static_cast<std::size_t>(counter)]; }
  std::size_t find_site(const Observed& site, Access access, std::size_t bytes);
  void count(const Observed& site, Access access, std::uint64_t address, std::size_t bytes);
  void count_executions(const Site& site, Stream& stream);
  void check_global(const Observed& site, Access access, const void* address,
                    std::size_t bytes) const;
  void check_shared(const Observed& site, Access access, std::size_t offset, std::size_t bytes);
  void report_early_load();
  [[nodiscard]] bool ordered(const Stamp& before) const;

  Observation* observation_ = nullptr;
  unsigned threads_ = 0;  // of the running block
  unsigned warps_ = 0;    // likewise
  std::array<std::uint64_t, kCounters> tallies_{};
  std::vector<Site> sites_;
  std::array<std::uint16_t, 256> site_after_hash_{};  // one more than where to look first
  std::vector<Stream> streams_;                       // [site][warp]
  std::vector<SharedWord> shared_words_;
  std::optional<EarlyLoad> early_load_;
  std::array<Clocks, kWarps> clocks_;
  std::array<unsigned, kWarps> meetings_{};  // of all lanes of a warp, in the running block
  AtomicLanes atomic_lanes_;
};

}  // namespace reduce_ladder::simt
