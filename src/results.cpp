#include "reduce_ladder/results.hpp"

#include <algorithm>

namespace reduce_ladder {

double read_bandwidth(Index n, double seconds) {
  return static_cast<double>(n) * sizeof(float) / seconds;
}

double copy_bandwidth(const CopyCeiling& copy) {
  return 2 * static_cast<double>(copy.bytes) / copy.time.median;
}

// A skipped check judged nothing: it is no failure of the stage, and the reports say that it is
// there.
bool passed(const StageResult& result) {
  return result.verification.verdict != Verdict::failed &&
         result.probe.outcome != Probe::Outcome::refuted;
}

bool passed(const Report& report) {
  return std::ranges::all_of(report.stages, [](const StageResult& stage) { return passed(stage); });
}

}  // namespace reduce_ladder
