#include "ladder.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

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

StageResult run_stage(Device& device, const Stage& stage, const Plan& plan, const Climb& what,
                      const Reference& reference, const Progress& progress) {
  StageResult result;
  result.stage = &stage;
  result.launches = static_cast<unsigned>(plan.passes.size());
  result.depth = plan.depth();
  // A stage that writes nothing must not look like one that found the NaN in the data.
  const float poison = std::isnan(reference.sum) ? 0 : Device::kNan;
  std::vector<float> results;
  try {
    for (unsigned i = 0; i < what.repeats; ++i) {
      progress(
          fmt::format("stage {} {}: run {} of {}", stage.number, stage.name, i + 1, what.repeats));
      results.push_back(device.run(stage, plan, poison));
    }
  } catch (const SimulatorFault& fault) {
    result.result = Device::kNan;
    result.verification = {.verdict = Verdict::failed,
                           .error = std::numeric_limits<double>::quiet_NaN(),
                           .bound = gamma(result.depth) * reference.abs_sum,
                           .note = fault.what()};
    result.probe = probe(results, stage.determinism);
    return result;
  }
  result.result = results.front();
  result.verification = verify(results, reference, result.depth, plan.atomic_depth);
  result.probe = probe(results, stage.determinism);
  if (const auto samples = device.time(stage, plan, Sampling{})) result.time = summarize(*samples);
  return result;
}

}  // namespace

Report climb(Device& device, const Input& input, const Climb& what, const Progress& progress) {
  Report report;
  report.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  report.device = device.info();
  report.block = what.block;
  report.input = input.info;

  // All plans first: what cannot run is refused before anything has run.
  struct Planned {
    const Stage* stage;
    Plan plan;
  };
  std::vector<Planned> planned;
  for (const int number : what.stages) {
    const Stage& stage = find_stage(device.stages(), number);
    planned.push_back({&stage, stage.plan(input.info.n, {what.block, report.device.machine})});
  }

  progress("reference sum on the CPU");
  report.reference = compute_reference(input.values());
  progress("loading the input");
  device.load(input.values());
  if (const auto copy = device.time_copy(Sampling{})) {
    report.copy = CopyCeiling{copy->bytes, summarize(copy->seconds)};
  }
  for (const auto& [stage, plan] : planned) {
    report.stages.push_back(run_stage(device, *stage, plan, what, report.reference, progress));
  }
  return report;
}

}  // namespace reduce_ladder
