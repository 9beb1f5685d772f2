#include "reduce_ladder/results.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "sample_report.hpp"

namespace reduce_ladder {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Bandwidth, AReductionOnlyReads) {
  EXPECT_DOUBLE_EQ(read_bandwidth(1000, 2e-6), 2e9);
}

TEST(Bandwidth, ACopyCountsBothDirections) {
  EXPECT_DOUBLE_EQ(copy_bandwidth({4000, {2e-6, 1e-6, 0, 50}}), 4e9);
}

TEST(Bandwidth, TheReadCeilingCountsItsBytesOnce) {
  EXPECT_DOUBLE_EQ(read_bandwidth({4000, "", {2e-6, 1e-6, 0, 50}}), 2e9);
}

TEST(ConditionNumber, IsTheSumOfMagnitudesOverTheMagnitudeOfTheSum) {
  EXPECT_EQ(condition_number({.sum = 3, .abs_sum = 3, .method = ""}), 1);
  EXPECT_EQ(condition_number({.sum = -2, .abs_sum = 5, .method = ""}), 2.5);
  EXPECT_EQ(condition_number({.sum = 0, .abs_sum = 5, .method = ""}), kInf);
}

TEST(ConditionNumber, IsInventedForSumsWithoutARelativeError) {
  EXPECT_EQ(condition_number({.sum = 0, .abs_sum = 0, .method = ""}), std::nullopt);
  EXPECT_EQ(condition_number({.sum = kInf, .abs_sum = kInf, .method = ""}), std::nullopt);
  EXPECT_EQ(condition_number({.sum = kNan, .abs_sum = kInf, .method = ""}), std::nullopt);
  EXPECT_EQ(condition_number({.sum = kNan, .abs_sum = kNan, .method = ""}), std::nullopt);
}

Report with_clocks(std::optional<double> sm_before, std::optional<double> sm_after,
                   std::optional<double> memory_before = {},
                   std::optional<double> memory_after = {}) {
  Report report = timed_report();
  report.state_before = MachineState{sm_before, memory_before, {}, {}, {}};
  report.state_after = MachineState{sm_after, memory_after, {}, {}, {}};
  return report;
}

TEST(ClocksMoved, AnyClockByMoreThanOnePercent) {
  EXPECT_TRUE(clocks_moved(with_clocks(1980e6, 1950e6)));
  EXPECT_TRUE(clocks_moved(with_clocks(1950e6, 1980e6)));
  EXPECT_TRUE(clocks_moved(with_clocks(1980e6, 1980e6, 3201e6, 2619e6)));
  EXPECT_FALSE(clocks_moved(with_clocks(1980e6, 1965e6, 3201e6, 3201e6)));
}

TEST(ClocksMoved, WhatIsUnknownDidNotMove) {
  EXPECT_FALSE(clocks_moved(with_clocks(1980e6, {})));
  EXPECT_FALSE(clocks_moved(with_clocks({}, 1980e6)));
  EXPECT_TRUE(clocks_moved(with_clocks(1980e6, {}, 3201e6, 2619e6)));
  Report report = with_clocks(1980e6, 1000e6);
  report.state_after.reset();
  EXPECT_FALSE(clocks_moved(report));
}

// A ceiling of 20 +- 1 us over the bytes of the input, and a stage.
bool beaten_by(double median, double iqr, std::size_t bytes = std::size_t{64} << 20) {
  Report report = timed_report();
  report.read = ReadCeiling{bytes, "", {20e-6, 19e-6, 1e-6, 50}};
  report.stages[2].time = Summary{median, median, iqr, 50};
  return ceiling_not_tight(report);
}

TEST(CeilingNotTight, OnlyBeyondTheSpreadOfBoth) {
  EXPECT_FALSE(beaten_by(21e-6, 0));
  EXPECT_FALSE(beaten_by(19.5e-6, 0));
  EXPECT_TRUE(beaten_by(18.5e-6, 0));
  EXPECT_FALSE(beaten_by(18.5e-6, 1e-6));
  EXPECT_TRUE(beaten_by(17.5e-6, 1e-6));
}

TEST(CeilingNotTight, ComparesRatesAndNotTimes) {
  EXPECT_TRUE(beaten_by(30e-6, 0, std::size_t{32} << 20));
  EXPECT_FALSE(beaten_by(18e-6, 0, std::size_t{128} << 20));
}

TEST(CeilingNotTight, NeedsACeilingAndATime) {
  Report report = timed_report();
  report.stages[2].time = Summary{1e-6, 1e-6, 0, 50};
  EXPECT_TRUE(ceiling_not_tight(report));
  report.read.reset();
  EXPECT_FALSE(ceiling_not_tight(report));
  EXPECT_FALSE(ceiling_not_tight(simulated_report()));
}

TEST(StreamingOvertakesFloor, WhereTheBytesTakeAsLongAsTheLaunch) {
  Report report = timed_report();
  report.copy.reset();
  report.read = ReadCeiling{4000000, "", {1e-6, 1e-6, 0, 50}};
  report.floor = Summary{2e-6, 2e-6, 0, 50};
  EXPECT_EQ(streaming_overtakes_floor(report), Index{2000000});
}

TEST(StreamingOvertakesFloor, AReadThatIsMostlyFloorSaysNothingOfStreaming) {
  Report report = timed_report();
  report.copy = CopyCeiling{4000000, {2e-6, 2e-6, 0, 50}};
  report.read = ReadCeiling{4, "", {2e-6, 2e-6, 0, 50}};
  report.floor = Summary{2e-6, 2e-6, 0, 50};
  EXPECT_EQ(streaming_overtakes_floor(report), Index{2000000});
}

TEST(StreamingOvertakesFloor, NeedsBoth) {
  Report report = timed_report();
  EXPECT_TRUE(streaming_overtakes_floor(report));
  report.floor.reset();
  EXPECT_FALSE(streaming_overtakes_floor(report));
  report = timed_report();
  report.read.reset();
  EXPECT_FALSE(streaming_overtakes_floor(report));
}

TEST(AgainstReference, TakesTheFastestThatPromisesItsBits) {
  Report report = timed_report();
  report.stages.push_back(reference_result());
  // Stage 9 is faster than stage 8, and promises nothing.
  const std::optional<AgainstReference> against = against_reference(report);
  ASSERT_TRUE(against);
  EXPECT_EQ(against->fastest, &report.stages[1]);
  EXPECT_EQ(against->reference, &report.stages[3]);
  EXPECT_DOUBLE_EQ(against->ratio, 0.78125);
}

TEST(AgainstReference, DoesNotTakeTheReferenceForARung) {
  Report report = timed_report();
  report.stages.push_back(reference_result());
  report.stages.back().time->median = 16e-6;
  EXPECT_EQ(against_reference(report)->fastest, &report.stages[1]);
  EXPECT_DOUBLE_EQ(against_reference(report)->ratio, 2);
}

TEST(AgainstReference, NeedsTheTimesOfBoth) {
  EXPECT_FALSE(against_reference(timed_report()));
  Report report = timed_report();
  report.stages.push_back(skipped_result(kSampleReference));
  EXPECT_FALSE(against_reference(report));
  report.stages = {timed_report().stages[2], reference_result(), skipped_result()};
  EXPECT_FALSE(against_reference(report));
}

TEST(Passed, NotWhereAnythingIsMissing) {
  Report report = timed_report();
  EXPECT_TRUE(passed(report));
  report.incomplete = true;
  EXPECT_FALSE(passed(report));
}

TEST(Passed, ASkippedCheckIsNoFailure) {
  Report report = timed_report();
  report.stages[1].verification.verdict = Verdict::skipped;
  EXPECT_TRUE(passed(report));
  report.stages[1].probe.outcome = Probe::Outcome::refuted;
  EXPECT_FALSE(passed(report));
}

}  // namespace
}  // namespace reduce_ladder
