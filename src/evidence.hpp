// What counters say of a rung: its costs in units that can be compared, whether the one that it is
// for is gone, and which of those that are left weighs most.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "layout.hpp"
#include "reduce_ladder/counters.hpp"
#include "reduce_ladder/results.hpp"

namespace reduce_ladder {

// One run, counted launch by launch.
using Launches = std::vector<LaunchCounters>;

// Share of one kind of work in the time of all launches, by a model that gives every counted event
// a fixed number of cycles (see evidence.cpp). It ranks; it does not predict times.
struct Share {
  std::string_view work;
  double share = 0;  // of 1
};
// Largest first; those of nothing left out. By the simulator's counters: empty without them.
std::vector<Share> shares(const Launches& launches, unsigned multiprocessors);

// What is known of one stage.
struct Evidence {
  const Stage* stage = nullptr;
  Launches simulated;
  Launches measured;       // empty: not on a GPU
  std::string fault = {};  // that the simulator met, or why nothing was counted
};

// What became of the cost that `after` is for: by what was measured, where it was and has nothing
// else in it.
enum class Removal {
  removed,
  reduced,  // by a little
  not_removed,
  not_there,    // nor before
  added,        // not there before
  not_counted,  // nobody did, or over too few values
  none_claimed,
};
Removal removal(const Evidence& before, const Evidence& after, Index n);

// --explain: the stage's idea in its own file's words, its kernel, its counters beside those of the
// stage that it changes (if any), what that says, and what is now first.
std::string format_explanation(const Evidence* before, const Evidence& after, Index n,
                               unsigned multiprocessors, const TextStyle& style);

// Whether the GPU's own counters were read, of every stage that ran.
bool measured(const Report& report);

// --counters: a row a launch of every stage.
std::string format_counters(const Report& report, const TextStyle& style);

// The number of the stage that `stage` changes, of those that there are; nothing for one that
// removes nothing.
std::optional<int> changed_by(const Stage& stage, std::span<const Stage> stages);

// The file of the rung with this number; empty where there is none.
std::string_view rung_source(int number);

}  // namespace reduce_ladder
