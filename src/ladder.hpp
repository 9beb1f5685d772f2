// One whole run: every chosen stage executed, judged, probed and, on a device with a clock, timed.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "input.hpp"
#include "reduce_ladder/device.hpp"
#include "reduce_ladder/results.hpp"

namespace reduce_ladder {

struct Climb {
  std::vector<int> stages;  // numbers, in the order to run
  unsigned block = kDefaultBlock;
  unsigned repeats = 8;  // of the determinism probe, at least 1; all are judged
};

// Called with what is about to happen; for a person who waits.
using Progress = std::function<void(std::string_view)>;

// Throws UsageError if a stage cannot run over so many values, CudaError, OutOfMemoryError. A
// SimulatorFault makes its stage fail, with the fault as the note.
Report climb(Device& device, const Input& input, const Climb& what, const Progress& progress);

}  // namespace reduce_ladder
