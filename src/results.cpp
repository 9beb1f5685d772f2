#include "reduce_ladder/results.hpp"

#include <algorithm>
#include <cmath>

namespace reduce_ladder {
namespace {

bool moved(const std::optional<double>& before, const std::optional<double>& after) {
  return before && after && std::fabs(*before - *after) > 0.01 * std::max(*before, *after);
}

}  // namespace

double read_bandwidth(Index n, double seconds) {
  return static_cast<double>(n) * sizeof(float) / seconds;
}

double copy_bandwidth(const CopyCeiling& copy) {
  return 2 * static_cast<double>(copy.bytes) / copy.time.median;
}

double read_bandwidth(const ReadCeiling& read) {
  return static_cast<double>(read.bytes) / read.time.median;
}

std::optional<double> condition_number(const Reference& reference) {
  if (!std::isfinite(reference.sum) || reference.abs_sum == 0) return std::nullopt;
  return reference.abs_sum / std::fabs(reference.sum);
}

bool clocks_moved(const Report& report) {
  if (!report.state_before || !report.state_after) return false;
  const MachineState& before = *report.state_before;
  const MachineState& after = *report.state_after;
  return moved(before.sm_clock, after.sm_clock) || moved(before.memory_clock, after.memory_clock);
}

bool ceiling_not_tight(const Report& report) {
  if (!report.read || report.read->bytes == 0) return false;
  const Summary& read = report.read->time;
  // The ceiling may have been measured over another number of bytes.
  const double scale =
      static_cast<double>(report.input.n) * sizeof(float) / static_cast<double>(report.read->bytes);
  return std::ranges::any_of(report.stages, [&](const StageResult& stage) {
    return stage.time &&
           read.median * scale - stage.time->median > read.iqr * scale + stage.time->iqr;
  });
}

std::optional<Index> streaming_overtakes_floor(const Report& report) {
  if (!report.read || !report.floor) return {};
  // A small read is mostly floor itself and says little of streaming; the copy is always large.
  double bandwidth = read_bandwidth(*report.read);
  if (report.copy) bandwidth = std::max(bandwidth, copy_bandwidth(*report.copy));
  const double n = report.floor->median * bandwidth / sizeof(float);
  if (!(n >= 0 && n < 0x1p63)) return {};
  return static_cast<Index>(std::llround(n));
}

std::optional<AgainstReference> against_reference(const Report& report) {
  AgainstReference found;
  for (const StageResult& result : report.stages) {
    if (!result.time || !passed(result)) continue;
    if (is_reference(*result.stage)) {
      found.reference = &result;
    } else if (result.stage->determinism != Determinism::not_guaranteed &&
               (found.fastest == nullptr || result.time->median < found.fastest->time->median)) {
      found.fastest = &result;
    }
  }
  if (found.fastest == nullptr || found.reference == nullptr) return std::nullopt;
  found.ratio = found.fastest->time->median / found.reference->time->median;
  return found;
}

// A skipped check judged nothing: it is no failure of the stage, and the reports say that it is
// there.
bool passed(const StageResult& result) {
  return result.verification.verdict != Verdict::failed &&
         result.probe.outcome != Probe::Outcome::refuted;
}

bool passed(const Report& report) {
  return !report.incomplete &&
         std::ranges::all_of(report.stages, [](const StageResult& stage) { return passed(stage); });
}

}  // namespace reduce_ladder
