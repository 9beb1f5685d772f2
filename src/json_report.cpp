#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "report.hpp"
#include "words.hpp"

namespace reduce_ladder {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no numbers for these: "nan", "inf" and "-inf" stand for them.
Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return value;
}

// As its shortest decimal: 0.1f reads 0.1, not 0.10000000149011612.
Json number(float value) {
  if (!std::isfinite(value)) return number(static_cast<double>(value));
  char text[32];
  const auto written = std::to_chars(std::begin(text), std::end(text), value);
  double decimal = 0;
  std::from_chars(std::begin(text), written.ptr, decimal);
  return decimal;
}

Json summary_json(const Summary& summary) {
  return {{"median", number(summary.median)}, {"min", number(summary.min)},
          {"iqr", number(summary.iqr)},       {"samples", summary.samples},
          {"discarded", summary.discarded},   {"stable", summary.stable}};
}

Json device_json(const DeviceInfo& device) {
  if (!device.cuda) return {{"kind", "sim"}, {"name", device.name}};
  const CudaInfo& cuda = *device.cuda;
  return {{"kind", "cuda"},
          {"name", device.name},
          {"ordinal", cuda.ordinal},
          {"compute_capability", fmt::format("{}.{}", cuda.compute_major, cuda.compute_minor)},
          {"multiprocessors", device.machine.multiprocessors},
          {"memory_bytes", cuda.memory_bytes},
          {"l2_bytes", cuda.l2_bytes},
          {"theoretical_bytes_per_second",
           cuda.theoretical_bandwidth > 0 ? number(cuda.theoretical_bandwidth) : Json()},
          {"driver", cuda.driver},
          {"runtime", cuda.runtime},
          {"cub", cuda.cub}};
}

Json input_json(const InputInfo& input) {
  return {{"n", input.n},
          {"bytes", input.n * sizeof(float)},
          {"source", input.source},
          {"seed", input.seed ? Json(*input.seed) : Json()},
          {"misalignment", input.misalignment}};
}

template <typename T>
Json number_or_null(const std::optional<T>& value) {
  return value ? number(*value) : Json();
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json reference_json(const std::optional<Reference>& reference) {
  if (!reference) return nullptr;
  return {{"sum", number(reference->sum)},
          {"abs_sum", number(reference->abs_sum)},
          {"condition", number_or_null(condition_number(*reference))},
          {"method", reference->method},
          {"sum_as_float", number_or_null(reference->sum_as_float)},
          {"fp64_loop", number_or_null(reference->fp64_loop)}};
}

Json state_json(const std::optional<MachineState>& state) {
  if (!state) return nullptr;
  return {{"sm_clock_hz", or_null(state->sm_clock)},
          {"memory_clock_hz", or_null(state->memory_clock)},
          {"power_w", or_null(state->power)},
          {"temperature_c", or_null(state->temperature)},
          {"throttle_reasons", or_null(state->throttle_reasons)}};
}

Json states_json(const Report& report) {
  if (!report.state_before && !report.state_after) return nullptr;
  return {{"before", state_json(report.state_before)}, {"after", state_json(report.state_after)}};
}

// Nothing can be said of a clock that was not read twice.
Json clocks_moved_json(const Report& report) {
  auto read_twice = [&](std::optional<double> MachineState::*clock) {
    return report.state_before && report.state_after && *report.state_before.*clock &&
           *report.state_after.*clock;
  };
  if (!read_twice(&MachineState::sm_clock) && !read_twice(&MachineState::memory_clock)) {
    return nullptr;
  }
  return clocks_moved(report);
}

Json ceilings_json(const Report& report) {
  if (!report.copy && !report.read) return nullptr;
  const double theoretical = report.device.cuda ? report.device.cuda->theoretical_bandwidth : 0;
  Json json = {{"theoretical_gbps", theoretical > 0 ? number(theoretical / 1e9) : Json()},
               {"copy", nullptr},
               {"read", nullptr}};
  if (report.copy) {
    json["copy"] = {{"bytes", report.copy->bytes},
                    {"gbps", number(copy_bandwidth(*report.copy) / 1e9)},
                    {"time_s", summary_json(report.copy->time)}};
  }
  if (report.read) {
    json["read"] = {{"bytes", report.read->bytes},
                    {"gbps", number(read_bandwidth(*report.read) / 1e9)},
                    {"shape", report.read->shape},
                    {"time_s", summary_json(report.read->time)}};
  }
  return json;
}

// Of each launch, those that were counted. Whole numbers where they are.
Json counters_json(const std::vector<LaunchCounters>& launches) {
  if (launches.empty()) return nullptr;
  Json json = Json::array();
  for (const LaunchCounters& launch : launches) {
    Json counters = Json::object();
    for (std::size_t i = 0; i < kCounters; ++i) {
      if (!launch.values[i]) continue;
      const double value = *launch.values[i];
      const bool whole = value == std::floor(value) && std::fabs(value) < 0x1p53;
      counters[std::string(to_word(static_cast<Counter>(i)))] =
          whole ? Json(static_cast<std::int64_t>(value)) : number(value);
    }
    json.push_back(std::move(counters));
  }
  return json;
}

Json stage_json(const StageResult& result, Index n) {
  const Verification& verification = result.verification;
  const Probe& probe = result.probe;
  const auto if_ran = [&](Json value) { return result.ran ? std::move(value) : Json(); };
  const auto if_known = [](unsigned value) { return value > 0 ? Json(value) : Json(); };
  Json json = {{"number", is_reference(*result.stage) ? Json() : Json(result.stage->number)},
               {"name", result.stage->name},
               {"removes", result.stage->removes},
               {"result", if_ran(number(result.result))},
               {"error", if_ran(number(verification.error))},
               {"bound", if_ran(number(verification.bound))},
               {"expected_error", number_or_null(verification.expected)},
               {"accumulation", to_word(result.stage->accumulation)},
               {"depth", if_ran(result.depth)},
               {"verify", to_word(verification.verdict)},
               {"note", verification.note.empty() ? Json() : Json(verification.note)}};
  json["known_answers"] = {{"runs", result.known_answers.runs},
                           {"wrong", result.known_answers.wrong}};
  json["determinism"] = {{"class", to_word(probe.claimed)},  {"repeats", probe.repeats},
                         {"distinct", probe.distinct},       {"min", if_ran(number(probe.min))},
                         {"max", if_ran(number(probe.max))}, {"span_ulps", if_ran(probe.span_ulps)},
                         {"shapes", if_ran(probe.shapes)},   {"permuted", if_ran(probe.permuted)},
                         {"verdict", to_word(probe.outcome)}};
  json["time_s"] = result.time ? summary_json(*result.time) : Json();
  json["gbps"] = result.time ? number(read_bandwidth(n, result.time->median) / 1e9) : Json();
  json["launches"] = if_known(result.launches);
  json["grid"] = if_known(result.grid);
  json["block"] = if_known(result.block);
  json["counters"] = {{"simulated", counters_json(result.simulated)},
                      {"measured", counters_json(result.measured)}};
  return json;
}

}  // namespace

std::string to_json(const Report& report) {
  Json stages = Json::array();
  for (const StageResult& stage : report.stages) {
    stages.push_back(stage_json(stage, report.input.n));
  }
  const Json json = {
      {"schema", "reduce-ladder/1"},
      {"tool", {{"name", "reduce-ladder"}, {"version", REDUCE_LADDER_VERSION}}},
      {"date", report.date},
      {"device", device_json(report.device)},
      {"state", states_json(report)},
      {"clocks_moved", clocks_moved_json(report)},
      {"block", or_null(report.block)},
      {"grid", or_null(report.grid)},
      {"cache", to_word(report.cache)},
      {"verify", report.verify ? Json(to_word(*report.verify)) : Json()},
      {"input", input_json(report.input)},
      {"reference", reference_json(report.reference)},
      {"ceilings", ceilings_json(report)},
      {"floor_s", report.floor ? summary_json(*report.floor) : Json()},
      {"stages", stages},
      {"counters_note", report.counters_note.empty() ? Json() : Json(report.counters_note)},
      {"incomplete", report.incomplete},
      {"verdict", to_word(passed(report) ? Verdict::passed : Verdict::failed)}};
  // A path need not be UTF-8; what is not becomes U+FFFD.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace reduce_ladder
