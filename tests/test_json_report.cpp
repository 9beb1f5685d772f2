#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report.hpp"
#include "sample_report.hpp"

namespace reduce_ladder {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Report& report) {
  return Json::parse(to_json(report));
}

std::vector<std::string> keys_of(const Json& json) {
  std::vector<std::string> keys;
  for (const auto& item : json.items()) keys.push_back(item.key());
  return keys;
}

TEST(JsonReport, TopLevelFollowsTheSchema) {
  const Json json = json_of(timed_report());
  EXPECT_EQ(keys_of(json), (std::vector<std::string>{
                               "schema", "tool", "date", "device", "state", "clocks_moved", "block",
                               "grid", "cache", "verify", "input", "reference", "ceilings",
                               "floor_s", "stages", "counters_note", "incomplete", "verdict"}));
  EXPECT_EQ(json["schema"], "reduce-ladder/1");
  EXPECT_EQ(json["tool"], Json({{"name", "reduce-ladder"}, {"version", REDUCE_LADDER_VERSION}}));
  EXPECT_EQ(json["date"], "2025-01-31T12:00:00Z");
  EXPECT_EQ(json["block"], 256);
  EXPECT_TRUE(json["grid"].is_null());
  EXPECT_EQ(json["cache"], "cold");
  EXPECT_EQ(json["incomplete"], false);
  EXPECT_EQ(json["verdict"], "passed");
}

TEST(JsonReport, DeviceHasItsFacts) {
  EXPECT_EQ(json_of(timed_report())["device"], Json::parse(R"json({
    "kind": "cuda", "name": "NVIDIA H200", "ordinal": 0, "compute_capability": "9.0",
    "multiprocessors": 132, "memory_bytes": 150323855360, "l2_bytes": 62914560,
    "theoretical_bytes_per_second": 4.8e12, "driver": "580.95.05", "runtime": "13.0",
    "cub": "3.0.1"})json"));
}

TEST(JsonReport, UnknownBandwidthIsNullAndNotZero) {
  Report report = timed_report();
  report.device.cuda->theoretical_bandwidth = 0;
  EXPECT_TRUE(json_of(report)["device"]["theoretical_bytes_per_second"].is_null());
}

TEST(JsonReport, TheSimulatorHasNoTimesAndNoCeilings) {
  const Json json = json_of(simulated_report());
  EXPECT_EQ(json["device"], Json({{"kind", "sim"}, {"name", "SIMT simulator"}}));
  for (const char* key : {"state", "clocks_moved", "ceilings", "floor_s"}) {
    EXPECT_TRUE(json[key].is_null()) << key;
  }
  for (const Json& stage : json["stages"]) {
    EXPECT_TRUE(stage["time_s"].is_null());
    EXPECT_TRUE(stage["gbps"].is_null());
  }
}

TEST(JsonReport, InputReferenceAndCeilingsAreRealNumbers) {
  const Json json = json_of(timed_report());
  EXPECT_EQ(json["input"],
            Json::parse(
                R"json({"n": 16777216, "bytes": 67108864, "source": "uniform [0,1)", "seed": 42,
                    "misalignment": 0})json"));
  EXPECT_EQ(
      json["reference"],
      Json::parse(
          R"json({"sum": 8388245.125, "abs_sum": 8388245.125, "condition": 1.0, "method": "fp64",
                        "sum_as_float": null, "fp64_loop": null})json"));
  EXPECT_EQ(json["ceilings"], Json::parse(R"json({
    "theoretical_gbps": 4800.0,
    "copy": {"bytes": 67108864, "gbps": 4194.304,
             "time_s": {"median": 32e-6, "min": 31e-6, "iqr": 1e-6, "samples": 50,
                        "discarded": 0, "stable": true}},
    "read": {"bytes": 67108864, "gbps": 4095.9999999999995,
             "shape": "float4 x 4, 256 threads x 8 blocks per SM",
             "time_s": {"median": 16.384e-6, "min": 16e-6, "iqr": 0.1e-6, "samples": 50,
                        "discarded": 0, "stable": true}}})json"));
  EXPECT_EQ(json["floor_s"],
            Json::parse(R"json({"median": 2.5e-6, "min": 2.4e-6, "iqr": 0.05e-6, "samples": 50,
    "discarded": 0, "stable": true})json"));
}

TEST(JsonReport, ACeilingThatWasNotMeasuredIsNull) {
  Report report = timed_report();
  report.device.cuda->theoretical_bandwidth = 0;
  report.copy.reset();
  const Json json = json_of(report);
  EXPECT_TRUE(json["ceilings"]["theoretical_gbps"].is_null());
  EXPECT_TRUE(json["ceilings"]["copy"].is_null());
  EXPECT_TRUE(json["ceilings"]["read"].is_object());
  report.read.reset();
  EXPECT_TRUE(json_of(report)["ceilings"].is_null());
}

TEST(JsonReport, TheStateOfTheMachineIsInSiUnits) {
  Report report = timed_report();
  report.state_after->power.reset();
  report.state_after->throttle_reasons = {{"software power cap", "software thermal slowdown"}};
  EXPECT_EQ(json_of(report)["state"], Json::parse(R"json({
    "before": {"sm_clock_hz": 1980e6, "memory_clock_hz": 3201e6, "power_w": 118.4,
               "temperature_c": 38.0, "throttle_reasons": []},
    "after": {"sm_clock_hz": 1980e6, "memory_clock_hz": 3201e6, "power_w": null,
              "temperature_c": 45.0,
              "throttle_reasons": ["software power cap", "software thermal slowdown"]}})json"));
  EXPECT_EQ(json_of(report)["clocks_moved"], false);
  report.state_after->sm_clock = 1700e6;
  EXPECT_EQ(json_of(report)["clocks_moved"], true);
}

TEST(JsonReport, AStateThatIsNotKnownIsNull) {
  Report report = timed_report();
  report.state_before->throttle_reasons.reset();
  EXPECT_TRUE(json_of(report)["state"]["before"]["throttle_reasons"].is_null());
  report.state_after->sm_clock.reset();
  EXPECT_EQ(json_of(report)["clocks_moved"], false);
  report.state_before->memory_clock.reset();
  EXPECT_TRUE(json_of(report)["clocks_moved"].is_null());
  report.state_before.reset();
  EXPECT_TRUE(json_of(report)["state"]["before"].is_null());
  EXPECT_TRUE(json_of(report)["state"]["after"].is_object());
}

TEST(JsonReport, AWarmCacheIsNamed) {
  Report report = timed_report();
  report.cache = CacheMode::warm;
  EXPECT_EQ(json_of(report)["cache"], "warm");
}

TEST(JsonReport, AReferenceThatWasNotComputedIsNull) {
  Report report = simulated_report();
  report.reference.reset();
  EXPECT_TRUE(json_of(report)["reference"].is_null());
}

TEST(JsonReport, AnIncompleteReportSaysSoAndDoesNotPass) {
  Report report = timed_report();
  report.incomplete = true;
  EXPECT_EQ(json_of(report)["incomplete"], true);
  EXPECT_EQ(json_of(report)["verdict"], "failed");
}

TEST(JsonReport, SamplesThatWereDiscardedOrNotStableAreNotHidden) {
  Report report = timed_report();
  report.stages[0].time->discarded = 7;
  report.stages[0].time->stable = false;
  EXPECT_EQ(json_of(report)["stages"][0]["time_s"]["discarded"], 7);
  EXPECT_EQ(json_of(report)["stages"][0]["time_s"]["stable"], false);
}

TEST(JsonReport, AFileHasNoSeed) {
  Report report = simulated_report();
  report.input.seed.reset();
  EXPECT_TRUE(json_of(report)["input"]["seed"].is_null());
}

TEST(JsonReport, AMisalignedBaseIsNotHidden) {
  Report report = timed_report();
  report.input.misalignment = 3;
  EXPECT_EQ(json_of(report)["input"]["misalignment"], 3);
}

TEST(JsonReport, AConditionThatIsNoNumberIsAWordOrNull) {
  Report report = timed_report();
  const auto condition = [&report](double sum, double abs_sum) {
    report.reference->sum = sum;
    report.reference->abs_sum = abs_sum;
    return json_of(report)["reference"]["condition"];
  };
  EXPECT_EQ(condition(-2, 5), 2.5);
  EXPECT_EQ(condition(0, 5), "inf");
  EXPECT_TRUE(condition(0, 0).is_null());
  EXPECT_TRUE(condition(std::numeric_limits<double>::quiet_NaN(), 5).is_null());
}

TEST(JsonReport, SeedsAndSizesKeepAll64Bits) {
  Report report = simulated_report();
  report.input.seed = std::numeric_limits<std::uint64_t>::max();
  report.input.n = Index{1} << 40;
  const Json json = json_of(report);
  EXPECT_EQ(json["input"]["seed"], std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(json["input"]["bytes"], Index{1} << 42);
}

TEST(JsonReport, AStageFollowsTheSchema) {
  const Json json = json_of(timed_report());
  ASSERT_EQ(json["stages"].size(), 3U);
  EXPECT_EQ(json["stages"][2].dump(), Json::parse(R"json({
    "number": 9, "name": "shuffle-atomic", "removes": "the second launch", "result": 8388245.0,
    "error": 0.125, "bound": 12.5, "expected_error": null, "accumulation": "fp32", "depth": 24,
    "verify": "passed", "note": null, "known_answers": {"runs": 25, "wrong": 0},
    "determinism": {"class": "not_guaranteed", "repeats": 8, "distinct": 2, "min": 8388244.5,
                    "max": 8388245.0, "span_ulps": 1, "shapes": 1, "permuted": false,
                    "verdict": "unclaimed"},
    "time_s": {"median": 20.48e-6, "min": 20e-6, "iqr": 0.2048e-6, "samples": 55,
               "discarded": 0, "stable": true},
    "gbps": 3276.8, "launches": 3, "grid": 4224, "block": 256,
    "counters": {"simulated": null, "measured": null}})json")
                                          .dump());
}

TEST(JsonReport, CountersAreByLaunchAndWholeWhereTheyAre) {
  Report report = timed_report();
  LaunchCounters first;
  first[Counter::blocks] = 4096;
  LaunchCounters second;
  second[Counter::barrier_stall] = 0.25;
  report.stages.front().simulated = {first, second};
  report.counters_note = "no permission";
  const auto json = json_of(report);
  EXPECT_EQ(json["stages"][0]["counters"]["simulated"].dump(),
            R"json([{"blocks":4096},{"barrier_stall":0.25}])json");
  EXPECT_EQ(json["stages"][0]["counters"]["measured"], nullptr);
  EXPECT_EQ(json["counters_note"], "no permission");
}

TEST(JsonReport, AStageThatCannotRunHasNoNumbers) {
  Report report = timed_report();
  report.stages = {skipped_result()};
  const Json json = json_of(report);
  EXPECT_EQ(json["stages"][0].dump(), Json::parse(R"json({
    "number": 13, "name": "bulk-copy", "removes": "loads through registers", "result": null,
    "error": null, "bound": null, "expected_error": null, "accumulation": "fp32", "depth": null,
    "verify": "skipped", "note": "needs another GPU", "known_answers": {"runs": 0, "wrong": 0},
    "determinism": {"class": "run_to_run", "repeats": 0, "distinct": 0, "min": null, "max": null,
                    "span_ulps": null, "shapes": null, "permuted": null, "verdict": "untested"},
    "time_s": null, "gbps": null, "launches": null, "grid": null, "block": null,
    "counters": {"simulated": null, "measured": null}})json")
                                          .dump());
  EXPECT_EQ(json["verdict"], "passed");
}

TEST(JsonReport, TheReferenceHasNoNumberAndItsLaunchesAreNotKnown) {
  Report report = timed_report();
  report.stages.push_back(reference_result());
  const Json stage = json_of(report)["stages"][3];
  EXPECT_EQ(stage["name"], "cub");
  EXPECT_EQ(stage["result"], 8388245.0);
  EXPECT_EQ(stage["depth"], 24);
  for (const char* key : {"number", "launches", "grid", "block"}) {
    EXPECT_TRUE(stage[key].is_null()) << key;
  }
}

TEST(JsonReport, TheShapeAskedForIsNotThatOfAStage) {
  Report report = timed_report();
  report.block.reset();
  report.grid = 7;
  const Json json = json_of(report);
  EXPECT_TRUE(json["block"].is_null());
  EXPECT_EQ(json["grid"], 7);
  EXPECT_EQ(json["stages"][0]["block"], 256);
  EXPECT_EQ(json["stages"][0]["grid"], 4224);
}

TEST(JsonReport, FailuresAreNotHidden) {
  Report report = simulated_report();
  report.stages[0].verification = {Verdict::failed, 13, 12.5, "off by 13"};
  report.stages[1].verification = {Verdict::skipped, 13, 12.5, "overflow"};
  report.stages[2].probe.claimed = Determinism::gpu_to_gpu;
  report.stages[2].probe.outcome = Probe::Outcome::refuted;
  const Json json = json_of(report);
  EXPECT_EQ(json["verdict"], "failed");
  EXPECT_EQ(json["stages"][0]["verify"], "failed");
  EXPECT_EQ(json["stages"][0]["note"], "off by 13");
  EXPECT_EQ(json["stages"][1]["verify"], "skipped");
  EXPECT_EQ(json["stages"][2]["determinism"]["class"], "gpu_to_gpu");
  EXPECT_EQ(json["stages"][2]["determinism"]["verdict"], "refuted");
}

TEST(JsonReport, NumbersThatJsonLacksAreWords) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  Report report = simulated_report();
  report.reference->sum = -kNan;
  report.stages[0].result = kNan;
  report.stages[0].verification.error = kInf;
  report.stages[0].probe.min = -kInf;
  const Json json = json_of(report);
  EXPECT_EQ(json["reference"]["sum"], "nan");
  EXPECT_EQ(json["stages"][0]["result"], "nan");
  EXPECT_EQ(json["stages"][0]["error"], "inf");
  EXPECT_EQ(json["stages"][0]["determinism"]["min"], "-inf");
}

TEST(JsonReport, ResultsAreTheShortestDecimalsOfTheirFloats) {
  Report report = simulated_report();
  report.stages[0].result = 0.1F;
  EXPECT_NE(to_json(report).find("\"result\": 0.1,"), std::string::npos);

  for (float value : {1.0F / 3, 16777216.0F, -1e-45F, 3.4028235e38F, 8388244.5F}) {
    report.stages[0].result = value;
    EXPECT_EQ(static_cast<float>(json_of(report)["stages"][0]["result"].get<double>()), value);
  }
}

TEST(JsonReport, APathThatIsNotUtf8DoesNotThrow) {
  Report report = simulated_report();
  report.input.source = "bad\xff.npy";
  EXPECT_EQ(json_of(report)["input"]["source"], "bad\ufffd.npy");
}

TEST(JsonReport, WithoutStagesThereIsAnEmptyList) {
  Report report = simulated_report();
  report.stages.clear();
  EXPECT_EQ(json_of(report)["stages"], Json::array());
}

TEST(JsonReport, EndsInOneNewline) {
  const std::string text = to_json(simulated_report());
  EXPECT_TRUE(text.ends_with("}\n"));
}

}  // namespace
}  // namespace reduce_ladder
