// The words that the text report and the JSON share.
#pragma once

#include <iterator>
#include <string_view>

#include "reduce_ladder/results.hpp"

namespace reduce_ladder {

constexpr std::string_view to_word(Determinism determinism) {
  switch (determinism) {
    case Determinism::not_guaranteed:
      return "not_guaranteed";
    case Determinism::run_to_run:
      return "run_to_run";
    case Determinism::gpu_to_gpu:
      break;
  }
  return "gpu_to_gpu";
}

constexpr std::string_view to_word(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed:
      return "passed";
    case Verdict::failed:
      return "failed";
    case Verdict::skipped:
      break;
  }
  return "skipped";
}

constexpr std::string_view to_word(Probe::Outcome outcome) {
  switch (outcome) {
    case Probe::Outcome::held:
      return "held";
    case Probe::Outcome::refuted:
      return "refuted";
    case Probe::Outcome::unclaimed:
      return "unclaimed";
    case Probe::Outcome::untested:
      break;
  }
  return "untested";
}

constexpr std::string_view to_word(Accumulation accumulation) {
  switch (accumulation) {
    case Accumulation::fp32:
      return "fp32";
    case Accumulation::fp64:
      return "fp64";
    case Accumulation::compensated:
      return "compensated";
    case Accumulation::exact:
      break;
  }
  return "exact";
}

constexpr std::string_view to_word(Thoroughness thoroughness) {
  return thoroughness == Thoroughness::quick ? "quick" : "full";
}

constexpr std::string_view to_word(Counter counter) {
  constexpr std::string_view kWords[] = {"blocks",
                                         "warps",
                                         "warp_instructions",
                                         "lanes_per_instruction",
                                         "block_barriers",
                                         "warp_barriers",
                                         "shuffles",
                                         "ballots",
                                         "shared_loads",
                                         "shared_load_lanes",
                                         "shared_load_wavefronts",
                                         "shared_stores",
                                         "shared_store_lanes",
                                         "shared_store_wavefronts",
                                         "global_loads",
                                         "global_load_lanes",
                                         "global_load_sectors",
                                         "global_load_bytes",
                                         "global_stores",
                                         "global_store_lanes",
                                         "global_store_sectors",
                                         "global_store_bytes",
                                         "global_atomics",
                                         "global_atomic_lanes",
                                         "global_atomic_lanes_at_one",
                                         "shared_loads_issued",
                                         "shared_stores_issued",
                                         "shared_load_conflicts",
                                         "shared_store_conflicts",
                                         "barrier_stall",
                                         "dram_bytes",
                                         "dram_share"};
  static_assert(std::size(kWords) == kCounters);
  return kWords[static_cast<std::size_t>(counter)];
}

constexpr std::string_view to_word(CacheMode cache) {
  return cache == CacheMode::cold ? "cold" : "warm";
}

}  // namespace reduce_ladder
