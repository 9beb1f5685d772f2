#include "ladder.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "known_answers.hpp"
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

// A stage that promises the same bits whatever the shape of the launch and the order of the values
// is probed over these, too.
bool probes_everything(const Stage& stage, const Climb& what) {
  return stage.determinism == Determinism::gpu_to_gpu && what.repeats > 1;
}

struct OtherShape {
  Plan plan;
  std::string name;
};

// Shapes of launches over which a stage that promises the same bits whatever the shape is probed:
// none twice, and none that is `usual`.
std::vector<OtherShape> other_shapes(const Device& device, const Stage& stage, Index n,
                                     const Plan& usual) {
  std::vector<OtherShape> shapes;
  std::set<std::pair<unsigned, unsigned>> seen;
  const auto is_new = [&seen](const Plan& plan) {
    return seen.emplace(plan.passes.front().grid, plan.passes.front().block).second;
  };
  is_new(usual);
  const auto add = [&](const Shape& shape, std::string name) {
    Plan plan = stage.plan(n, shape);
    if (is_new(plan)) shapes.push_back({std::move(plan), std::move(name)});
  };
  const Machine& machine = device.info().machine;
  for (unsigned block = kMinBlock; block <= kMaxBlock; block *= 2) {
    add({block, machine}, fmt::format("block {}", block));
  }
  for (const unsigned grid : {1U, 7U, 1000U}) {
    add({std::nullopt, machine, grid}, fmt::format("grid {}", grid));
  }
  return shapes;
}

// What the output holds before a run: a stage that writes nothing must not look like one that is
// right.
float poison_for(const Reference& reference) {
  return std::isnan(reference.sum) ? 0 : Device::kNan;
}

// Nothing if interrupted before the last run.
std::optional<StageResult> run_stage(Device& device, const Stage& stage, const Plan& plan,
                                     const Climb& what, const Reference& reference,
                                     std::optional<float> of_permuted, const KnownAnswers& answers,
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
  result.known_answers = answers;
  const float poison = poison_for(reference);
  std::vector<float> results;
  unsigned shapes = 1;
  try {
    for (unsigned i = 0; i < what.repeats; ++i) {
      if (interrupted()) return std::nullopt;
      progress(fmt::format("stage {}: run {} of {}", stage.name, i + 1, what.repeats));
      results.push_back(device.run(stage, plan, poison));
    }
    result.verification = verify(results, reference, stage, plan);
    if (probes_everything(stage, what)) {
      for (const auto& [other, name] : other_shapes(device, stage, reference.n, plan)) {
        if (interrupted()) return std::nullopt;
        const float of_other = device.run(stage, other, poison);
        keep_worse(result.verification, verify(std::span(&of_other, 1), reference, stage, other),
                   name);
        results.push_back(of_other);
        ++shapes;
      }
    }
  } catch (const SimulatorFault& fault) {
    result.result = Device::kNan;
    result.verification = {.verdict = Verdict::failed,
                           .error = std::numeric_limits<double>::quiet_NaN(),
                           .bound = error_bound(stage.accumulation, reference, result.depth),
                           .note = fault.what()};
    result.probe = probe(results, stage.determinism);
    result.probe.repeats = std::min(result.probe.repeats, what.repeats);
    return result;
  }
  if (of_permuted) {
    keep_worse(result.verification, verify(std::span(&*of_permuted, 1), reference, stage, plan),
               "reversed order");
    results.push_back(*of_permuted);
  }
  result.result = results.front();
  result.verification.expected = expected_error(stage.accumulation, reference, result.depth);
  result.probe = probe(results, stage.determinism);
  result.probe.repeats = what.repeats;
  result.probe.shapes = shapes;
  result.probe.permuted = of_permuted.has_value();
  if (answers.wrong > 0) {
    result.verification.verdict = Verdict::failed;
    result.verification.note = answers.first_wrong;
  }
  // How fast a stage is wrong is of no interest, and it may not even write a result.
  if (!what.timed || result.verification.verdict == Verdict::failed) return result;
  progress(fmt::format("stage {}: timing", stage.name));
  if (const auto samples = device.time(stage, plan, what.sampling)) {
    result.time = summarize(*samples);
  }
  return result;
}

bool runs_over_reversed(const PlannedStage& planned, const Climb& what) {
  return !planned.obstacle && probes_everything(*planned.stage, what);
}

// What stages that are probed so return over the loaded values, which are in reversed order; in the
// order of `planned`, nothing for the others, nor for those after an interruption.
std::vector<std::optional<float>> run_over_reversed(Device& device,
                                                    std::span<const PlannedStage> planned,
                                                    const Climb& what, const Reference& reference,
                                                    const Progress& progress,
                                                    const Interrupted& interrupted) {
  std::vector<std::optional<float>> results(planned.size());
  for (std::size_t i = 0; i < planned.size(); ++i) {
    if (!runs_over_reversed(planned[i], what)) continue;
    if (interrupted()) break;
    const Stage& stage = *planned[i].stage;
    progress(fmt::format("stage {}: run over the values in reversed order", stage.name));
    try {
      results[i] = device.run(stage, planned[i].plan, poison_for(reference));
    } catch (const SimulatorFault&) {
      results[i] = poison_for(reference);  // the run over the values themselves will say what
    }
  }
  return results;
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

// Counts one run of every stage. False if interrupted.
bool count_stages(Device& device, const Input& input, std::span<const PlannedStage> planned,
                  const Climb& what, Report& report, const Progress& progress,
                  const Interrupted& interrupted) {
  Counting counting(device, input, what.misalignment);
  bool complete = true;
  for (std::size_t i = 0; i < report.stages.size(); ++i) {
    if (planned[i].obstacle) continue;
    if (interrupted()) {
      counting.add_note("interrupted while counting");
      complete = false;
      break;
    }
    progress(fmt::format("stage {}: counting", planned[i].stage->name));
    Evidence evidence = counting.count(*planned[i].stage, planned[i].plan);
    StageResult& result = report.stages[i];
    result.simulated = std::move(evidence.simulated);
    result.measured = std::move(evidence.measured);
    if (evidence.fault.empty()) continue;
    result.verification.verdict = Verdict::failed;
    result.verification.note = evidence.fault;
  }
  report.counters_note = counting.note();
  return complete;
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
  report.verify = what.verify;
  // Unless it comes to that.
  if (what.counted) report.counters_note = "interrupted before counting";
  const std::vector<PlannedStage> planned = plan_stages(device, input.info.n, what);

  // First what has no room on the device is refused, before its reference takes long.
  std::vector<KnownAnswers> answers(planned.size());
  if (what.verify) {
    answers = check_known_answers(device, planned, input.info.n, what, progress, interrupted);
  }
  const auto stopped = [&] {
    report.incomplete = interrupted() || answers.size() < planned.size();
    return report.incomplete;
  };
  if (stopped()) return report;
  const bool reversed = std::ranges::any_of(
      planned, [&](const PlannedStage& next) { return runs_over_reversed(next, what); });
  progress("loading the input");
  if (reversed) {
    load_reversed(device, input, what.misalignment);
  } else {
    load(device, input, what.misalignment);
  }
  if (stopped()) return report;
  progress("reference sum on the CPU");
  report.reference = compute_reference(input);
  std::vector<std::optional<float>> of_permuted(planned.size());
  if (reversed) {
    of_permuted =
        run_over_reversed(device, planned, what, *report.reference, progress, interrupted);
    if (stopped()) return report;
    progress("loading the input");
    load(device, input, what.misalignment);
  }
  if (stopped()) return report;
  report.state_before = device.state();
  if (what.timed) measure_ceilings(device, what.sampling, report);
  for (std::size_t i = 0; i < planned.size(); ++i) {
    const auto& [stage, plan, obstacle] = planned[i];
    auto result = obstacle ? skipped(*stage, *obstacle)
                           : run_stage(device, *stage, plan, what, *report.reference,
                                       of_permuted[i], answers[i], progress, interrupted);
    if (!result) {
      report.incomplete = true;
      break;
    }
    report.stages.push_back(std::move(*result));
  }
  report.state_after = device.state();
  if (what.counted && !report.incomplete &&
      !count_stages(device, input, planned, what, report, progress, interrupted)) {
    report.incomplete = true;
  }
  return report;
}

Counting::Counting(Device& device, const Input& input, unsigned misalignment) : device_(device) {
  if (device.info().kind != DeviceKind::cuda) return;
  if (input.info.n > kMostHeld) {
    add_note(fmt::format("more than {} values are not simulated", kMostHeld));
    return;
  }
  try {
    simulator_ = make_simulated_device(Simulation{});
    load(*simulator_, input, misalignment);
  } catch (const OutOfMemoryError& why) {
    simulator_ = nullptr;
    add_note(fmt::format("not simulated: {}", why.what()));
  }
}

void Counting::add_note(const std::string& text) {
  if (note_.find(text) != std::string::npos) return;  // as of every stage
  note_ += (note_.empty() ? "" : "; ") + text;
}

Evidence Counting::count(const Stage& stage, const Plan& plan) {
  Evidence evidence{.stage = &stage, .simulated = {}, .measured = {}, .fault = {}};
  const bool gpu = device_.info().kind == DeviceKind::cuda;
  Device* const by = gpu ? simulator_.get() : &device_;
  try {
    if (by != nullptr && !by->obstacle(stage)) evidence.simulated = by->count(stage, plan);
  } catch (const SimulatorFault& fault) {
    evidence.fault = fault.what();
    add_note(fmt::format("stage {}: {}", stage.name, fault.what()));
  } catch (const OutOfMemoryError& why) {
    add_note(fmt::format("stage {} is not simulated: {}", stage.name, why.what()));
  }
  try {
    if (gpu) evidence.measured = device_.count(stage, plan);
  } catch (const CountersUnavailable& why) {
    add_note(why.what());
  }
  return evidence;
}

std::vector<PlannedStage> plan_explanation(const Device& device, Index n, Climb what) {
  std::vector<int> needed;
  for (const int number : what.stages) {
    needed.push_back(number);
    const auto before = changed_by(find_stage(device.stages(), number), device.stages());
    if (before) needed.push_back(*before);
  }
  what.stages = std::move(needed);
  return plan_stages(device, n, what);
}

Explainer::Explainer(Device& device, const Input& input, std::vector<PlannedStage> planned,
                     unsigned misalignment, Progress progress)
    : device_(device),
      n_(input.info.n),
      planned_(std::move(planned)),
      progress_(std::move(progress)),
      counting_(device, input, misalignment) {
  load(device, input, misalignment);
}

const Evidence& Explainer::evidence(int number) {
  const auto [known, added] = counted_.try_emplace(number);
  if (!added) return known->second;
  const auto is_it = [number](const PlannedStage& p) { return p.stage->number == number; };
  const auto& [stage, plan, obstacle] = *std::ranges::find_if(planned_, is_it);
  known->second.stage = stage;
  if (obstacle) {
    known->second.fault = *obstacle;
    return known->second;
  }
  progress_(fmt::format("stage {}: counting", stage->name));
  Evidence& counted = known->second = counting_.count(*stage, plan);
  const bool nothing = counted.simulated.empty() && counted.measured.empty();
  if (nothing && counted.fault.empty()) counted.fault = counting_.note();
  return counted;
}

std::string Explainer::explain(int number, const TextStyle& style) {
  const Evidence& after = evidence(number);
  const std::optional<int> before = changed_by(*after.stage, device_.stages());
  return format_explanation(before ? &evidence(*before) : nullptr, after, n_,
                            device_.info().machine.multiprocessors, style);
}

}  // namespace reduce_ladder
