// Small reports with round numbers, for the tests of the text and of the JSON.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "reduce_ladder/results.hpp"

namespace reduce_ladder {

inline constexpr Stage kSampleStages[] = {
    {.number = 1,
     .name = "modulo",
     .idea = "a modulo chooses the threads",
     .removes = "nothing: the baseline",
     .determinism = Determinism::run_to_run},
    {.number = 8,
     .name = "warp-shuffle",
     .idea = "registers instead of shared memory",
     .removes = "shared-memory round trips",
     .determinism = Determinism::run_to_run},
    {.number = 9,
     .name = "shuffle-atomic",
     .idea = "one atomicAdd a block",
     .removes = "the second launch",
     .determinism = Determinism::not_guaranteed},
};

inline constexpr Stage kSampleTooNew = {.number = 13,
                                        .name = "bulk-copy",
                                        .idea = "copies ahead",
                                        .removes = "loads through registers",
                                        .determinism = Determinism::run_to_run,
                                        .compute_capability = 90};

inline constexpr Stage kSampleReference = {.number = kReferenceNumber,
                                           .name = "cub",
                                           .idea = "of the toolkit",
                                           .removes = "nothing",
                                           .determinism = Determinism::run_to_run,
                                           .compute_capability = 50};

inline StageResult sample_result(const Stage& stage, float min, Probe::Outcome outcome) {
  return {.stage = &stage,
          .launches = 3,
          .grid = 4224,
          .block = 256,
          .depth = 24,
          .result = 8388245.0F,
          .verification = {Verdict::passed, 0.125, 12.5, ""},
          .known_answers = {.runs = 25, .wrong = 0, .first_wrong = ""},
          .probe = {.claimed = stage.determinism,
                    .repeats = 8,
                    .distinct = min == 8388245.0F ? 1U : 2U,
                    .min = min,
                    .max = 8388245.0F,
                    .span_ulps = min == 8388245.0F ? 0U : 1U,
                    .outcome = outcome},
          .time = std::nullopt};
}

// Of a stage that cannot run there.
inline StageResult skipped_result(const Stage& stage = kSampleTooNew) {
  return {.stage = &stage,
          .ran = false,
          .result = std::numeric_limits<float>::quiet_NaN(),
          .verification = {Verdict::skipped, 0, 0, "needs another GPU"},
          .probe = {.claimed = stage.determinism},
          .time = std::nullopt};
}

// Of the reference stage, which does not say how it launches, in 40.96 us.
inline StageResult reference_result() {
  StageResult result = sample_result(kSampleReference, 8388245.0F, Probe::Outcome::held);
  result.launches = result.grid = result.block = 0;
  result.time = Summary{40.96e-6, 40e-6, 0.4096e-6, 50};
  return result;
}

// Three stages on the simulator, asked for blocks of 256: all passed.
inline Report simulated_report() {
  Report report;
  report.date = "2025-01-31T12:00:00Z";
  report.device.name = "SIMT simulator";
  report.block = 256;
  report.input = {.n = 16777216, .source = "uniform [0,1)", .seed = 42};
  report.reference = {.sum = 8388245.125, .abs_sum = 8388245.125, .method = "fp64"};
  report.stages = {sample_result(kSampleStages[0], 8388245.0F, Probe::Outcome::held),
                   sample_result(kSampleStages[1], 8388245.0F, Probe::Outcome::held),
                   sample_result(kSampleStages[2], 8388244.5F, Probe::Outcome::unclaimed)};
  return report;
}

// The same on a GPU: 0.2048, 0.032 and 0.02048 ms, a copy at 4194.304 GB/s, reads at 4096 GB/s, a
// floor of 2.5 us, and clocks that stood still.
inline Report timed_report() {
  Report report = simulated_report();
  report.device = {.kind = DeviceKind::cuda,
                   .name = "NVIDIA H200",
                   .machine = {132, 2048, 32},
                   .cuda = CudaInfo{.ordinal = 0,
                                    .compute_major = 9,
                                    .compute_minor = 0,
                                    .memory_bytes = std::size_t{140} << 30,
                                    .l2_bytes = std::size_t{60} << 20,
                                    .theoretical_bandwidth = 4.8e12,
                                    .driver = "580.95.05",
                                    .runtime = "13.0",
                                    .cub = "3.0.1"}};
  report.copy = CopyCeiling{std::size_t{64} << 20, {32e-6, 31e-6, 1e-6, 50}};
  report.read = ReadCeiling{std::size_t{64} << 20,
                            "float4 x 4, 256 threads x 8 blocks per SM",
                            {16.384e-6, 16e-6, 0.1e-6, 50}};
  report.floor = Summary{2.5e-6, 2.4e-6, 0.05e-6, 50};
  report.state_before = MachineState{.sm_clock = 1980e6,
                                     .memory_clock = 3201e6,
                                     .power = 118.4,
                                     .temperature = 38,
                                     .throttle_reasons = std::vector<std::string>{}};
  report.state_after = report.state_before;
  report.state_after->power = 310.2;
  report.state_after->temperature = 45;
  report.stages[0].time = Summary{204.8e-6, 200e-6, 2.048e-6, 60};
  report.stages[1].time = Summary{32e-6, 31e-6, 0.16e-6, 50};
  report.stages[2].time = Summary{20.48e-6, 20e-6, 0.2048e-6, 55};
  return report;
}

}  // namespace reduce_ladder
