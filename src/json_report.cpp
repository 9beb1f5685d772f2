#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

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
  return {{"median", number(summary.median)},
          {"min", number(summary.min)},
          {"iqr", number(summary.iqr)},
          {"samples", summary.samples}};
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
          {"runtime", cuda.runtime}};
}

Json input_json(const InputInfo& input) {
  return {{"n", input.n},
          {"bytes", input.n * sizeof(float)},
          {"source", input.source},
          {"seed", input.seed ? Json(*input.seed) : Json()}};
}

Json ceilings_json(const std::optional<CopyCeiling>& copy) {
  if (!copy) return nullptr;
  return {{"copy",
           {{"bytes", copy->bytes},
            {"gbps", number(copy_bandwidth(*copy) / 1e9)},
            {"time_s", summary_json(copy->time)}}}};
}

Json stage_json(const StageResult& result, Index n) {
  const Verification& verification = result.verification;
  const Probe& probe = result.probe;
  Json json = {{"number", result.stage->number},
               {"name", result.stage->name},
               {"removes", result.stage->removes},
               {"result", number(result.result)},
               {"error", number(verification.error)},
               {"bound", number(verification.bound)},
               {"depth", result.depth},
               {"verify", to_word(verification.verdict)},
               {"note", verification.note.empty() ? Json() : Json(verification.note)}};
  json["determinism"] = {{"class", to_word(probe.claimed)}, {"repeats", probe.repeats},
                         {"distinct", probe.distinct},      {"min", number(probe.min)},
                         {"max", number(probe.max)},        {"verdict", to_word(probe.outcome)}};
  json["time_s"] = result.time ? summary_json(*result.time) : Json();
  json["gbps"] = result.time ? number(read_bandwidth(n, result.time->median) / 1e9) : Json();
  json["launches"] = result.launches;
  return json;
}

}  // namespace

std::string to_json(const Report& report) {
  Json stages = Json::array();
  for (const StageResult& stage : report.stages) {
    stages.push_back(stage_json(stage, report.input.n));
  }
  const Json json = {{"schema", "reduce-ladder/1"},
                     {"tool", {{"name", "reduce-ladder"}, {"version", REDUCE_LADDER_VERSION}}},
                     {"date", report.date},
                     {"device", device_json(report.device)},
                     {"block", report.block},
                     {"input", input_json(report.input)},
                     {"reference",
                      {{"sum", number(report.reference.sum)},
                       {"abs_sum", number(report.reference.abs_sum)},
                       {"method", report.reference.method}}},
                     {"ceilings", ceilings_json(report.copy)},
                     {"stages", stages},
                     {"verdict", to_word(passed(report) ? Verdict::passed : Verdict::failed)}};
  // A path need not be UTF-8; what is not becomes U+FFFD.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace reduce_ladder
