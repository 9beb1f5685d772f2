// One whole run: every chosen stage executed, judged, probed and, on a device with a clock, timed.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "input.hpp"
#include "reduce_ladder/device.hpp"
#include "reduce_ladder/results.hpp"

namespace reduce_ladder {

struct Climb {
  std::vector<int> stages;             // numbers, in the order to run
  std::optional<unsigned> block;       // threads; each stage's own choice if absent
  std::optional<unsigned> grid;        // blocks, of stages whose grid is free; likewise
  unsigned misalignment = 0;           // values that the input begins past a 16-byte border, 0 to 3
  unsigned repeats = 8;                // of the determinism probe, at least 1; all are judged
  std::optional<Thoroughness> verify;  // by known answers, beside the data; absent: not
  Sampling sampling;
  bool timed = true;  // false: no ceilings and no times, as a profiler wants it
};

struct PlannedStage {
  const Stage* stage = nullptr;
  Plan plan;
  std::optional<std::string> obstacle;  // why the stage cannot run here; it has no plan then
};

// The chosen stages over n values. Throws UsageError if one cannot run over so many.
std::vector<PlannedStage> plan_stages(const Device& device, Index n, const Climb& what);

// Called with what is about to happen; for a person who waits.
using Progress = std::function<void(std::string_view)>;

// Asked before every run: whether to stop there, with a report of the stages that are done.
using Interrupted = std::function<bool()>;

// Throws what plan_stages() throws, CudaError, OutOfMemoryError. A SimulatorFault makes its stage
// fail, with the fault as the note.
Report climb(
    Device& device, const Input& input, const Climb& what, const Progress& progress,
    const Interrupted& interrupted = [] { return false; });

}  // namespace reduce_ladder
