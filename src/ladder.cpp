#include "ladder.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>

#include "reduce_ladder/errors.hpp"
#include "reference.hpp"
#include "statistics.hpp"
#include "verify.hpp"

namespace reduce_ladder {
namespace {

const Stage& find_stage(std::span<const Stage> stages, int number) {
  const auto found = std::find_if(stages.begin(), stages.end(),
                                  [number](const Stage& s) { return s.number == number; });
  if (found == stages.end()) throw UsageError(fmt::format("this device has no stage {}", number));
  return *found;
}

std::optional<StageResult> skipped(const Stage& stage, const std::string& why) {
  StageResult result;
  result.stage = &stage;
  result.ran = false;
  result.result = Device::kNan;
  result.verification = {.verdict = Verdict::skipped, .error = 0, .bound = 0, .note = why};
  result.probe.claimed = stage.determinism;
  return result;
}

// Nothing if interrupted before the last run.
std::optional<StageResult> run_stage(Device& device, const Stage& stage, const Plan& plan,
                                     const Climb& what, const Reference& reference,
                                     const Progress& progress, const Interrupted& interrupted) {
  StageResult result;
  result.stage = &stage;
  const Pass& first = plan.passes.front();
  if (first.block > 0) {
    result.launches = static_cast<unsigned>(plan.passes.size());
    result.grid = first.grid;
    result.block = first.block;
  }
  result.depth = plan.depth();
  // A stage that writes nothing must not look like one that found the NaN in the data.
  const float poison = std::isnan(reference.sum) ? 0 : Device::kNan;
  std::vector<float> results;
  try {
    for (unsigned i = 0; i < what.repeats; ++i) {
      if (interrupted()) return std::nullopt;
      progress(fmt::format("stage {}: run {} of {}", stage.name, i + 1, what.repeats));
      results.push_back(device.run(stage, plan, poison));
    }
  } catch (const SimulatorFault& fault) {
    result.result = Device::kNan;
    result.verification = {.verdict = Verdict::failed,
                           .error = std::numeric_limits<double>::quiet_NaN(),
                           .bound = error_factor(result.depth, reference.n) * reference.abs_sum,
                           .note = fault.what()};
    result.probe = probe(results, stage.determinism);
    return result;
  }
  result.result = results.front();
  result.verification = verify(results, reference, result.depth, plan.atomic_depth);
  result.probe = probe(results, stage.determinism);
  if (!what.timed) return result;
  progress(fmt::format("stage {}: timing", stage.name));
  if (const auto samples = device.time(stage, plan, what.sampling)) {
    result.time = summarize(*samples);
  }
  return result;
}

void measure_ceilings(Device& device, const Sampling& sampling, Report& report) {
  if (const auto copy = device.time_copy(sampling)) {
    report.copy = CopyCeiling{copy->bytes, summarize(copy->samples)};
  }
  if (const auto read = device.time_read(report.input.n, sampling)) {
    report.read = ReadCeiling{read->bytes, read->shape, summarize(read->samples)};
  }
  if (const auto samples = device.time_empty_launch(sampling)) {
    report.floor = summarize(*samples);
  }
}

}  // namespace

std::vector<PlannedStage> plan_stages(const Device& device, Index n, const Climb& what) {
  std::vector<PlannedStage> planned;
  for (const int number : what.stages) {
    const Stage& stage = find_stage(device.stages(), number);
    PlannedStage& next = planned.emplace_back();
    next.stage = &stage;
    next.obstacle = device.obstacle(stage);
    if (!next.obstacle) {
      next.plan = stage.plan(n, {what.block, device.info().machine, what.grid});
    }
  }
  return planned;
}

Report climb(Device& device, const Input& input, const Climb& what, const Progress& progress,
             const Interrupted& interrupted) {
  Report report;
  report.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  report.device = device.info();
  report.block = what.block;
  report.grid = what.grid;
  report.input = input.info;
  report.input.misalignment = what.misalignment;

  report.cache = what.sampling.cache;
  const std::vector<PlannedStage> planned = plan_stages(device, input.info.n, what);

  // First, since the reference of values that have no room on the device would take long.
  progress("loading the input");
  load(device, input, what.misalignment);
  progress("reference sum on the CPU");
  report.reference = compute_reference(input);
  report.state_before = device.state();
  if (what.timed) measure_ceilings(device, what.sampling, report);
  for (const auto& [stage, plan, obstacle] : planned) {
    auto result =
        obstacle ? skipped(*stage, *obstacle)
                 : run_stage(device, *stage, plan, what, report.reference, progress, interrupted);
    if (!result) {
      report.incomplete = true;
      break;
    }
    report.stages.push_back(std::move(*result));
  }
  report.state_after = device.state();
  return report;
}

}  // namespace reduce_ladder
