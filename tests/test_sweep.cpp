// Sweeps: what is asked for, what runs, and what is said about it.
#include "sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "exports.hpp"
#include "reduce_ladder/errors.hpp"
#include "reference.hpp"
#include "sample_report.hpp"

namespace reduce_ladder {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Stands for the parser of --n: digits, or 2^ and a digit or two.
std::optional<Index> count(std::string_view text) {
  const bool power = text.starts_with("2^");
  if (power) text.remove_prefix(2);
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return {};
  const Index value = std::stoull(std::string(text));
  return power ? Index{1} << value : value;
}

void say_nothing(std::string_view /*text*/) {}
bool never() {
  return false;
}

// --- What is asked for ---

TEST(Sweep, RefusesOrMisreadsARangeThatIsAllowed) {
  const Sweep n = parse_sweep("n=2^10..5000", count);
  EXPECT_EQ(n.over, Sweep::Over::n);
  EXPECT_EQ(n.first, 1024U);
  EXPECT_EQ(n.last, 5000U);
  const Sweep block = parse_sweep("block=32..1024", count);
  EXPECT_EQ(block.over, Sweep::Over::block);
  EXPECT_EQ(block.first, 32U);
  EXPECT_EQ(block.last, 1024U);
  EXPECT_EQ(parse_sweep("n=7..7", count).last, 7U);
}

TEST(Sweep, TakesARangeThatIsNotAllowed) {
  for (const char* text : {"",
                           "n",
                           "n=",
                           "n=4",
                           "n=4..",
                           "n=..4",
                           "n=4...8",
                           "n=8..4",
                           "n=0..8",
                           "n=x..8",
                           "n=4..8 ",
                           "N=4..8",
                           "n=-4..8",
                           "block=",
                           "block=16..64",
                           "block=32..2048",
                           "block=48..96",
                           "block=64..32",
                           "block=2^5..64",
                           "block=32..+64",
                           "blocks=32..64",
                           "m=1..2",
                           "4..8"}) {
    EXPECT_THROW(parse_sweep(text, count), UsageError) << text;
  }
}

TEST(Sweep, DoesNotSayWhatIsAllowed) {
  try {
    parse_sweep("m=1", count);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(
        error.what(),
        "must be n=FIRST..LAST with counts as --n takes them, such as n=2^10..2^30, or "
        "block=FIRST..LAST with powers of two from 32 to 1024, such as block=32..1024; FIRST is at "
        "least 1 and at most LAST, and each step doubles");
  }
}

TEST(Sweep, LeavesOutOrPassesTheEndOfTheRange) {
  using Over = Sweep::Over;
  EXPECT_THAT(points({Over::n, 4, 16}), ElementsAre(4, 8, 16));
  EXPECT_THAT(points({Over::n, 3, 13}), ElementsAre(3, 6, 12));
  EXPECT_THAT(points({Over::n, 5, 5}), ElementsAre(5));
  EXPECT_THAT(points({Over::block, 256, 1024}), ElementsAre(256, 512, 1024));
  constexpr Index most = ~Index{0};
  EXPECT_THAT(points({Over::n, most / 2, most}), ElementsAre(most / 2, most - 1));
}

// --- What is said about the time left ---

TEST(Sweep, EstimatesTheTimeLeftFromNothing) {
  const std::vector<double> one = {3};
  EXPECT_EQ(seconds_left(Sweep::Over::block, {}, 4), std::nullopt);
  EXPECT_EQ(seconds_left(Sweep::Over::n, one, 4), std::nullopt);
}

TEST(Sweep, EstimatesTheTimeLeftWrongly) {
  const std::vector<double> equal = {2, 4};
  EXPECT_EQ(seconds_left(Sweep::Over::block, equal, 4), 12);
  EXPECT_EQ(seconds_left(Sweep::Over::n, equal, 2), 8 + 16);
  // A jump is not taken for the rule, nor a fall.
  const std::vector<double> jump = {1, 100};
  EXPECT_EQ(seconds_left(Sweep::Over::n, jump, 1), 200);
  const std::vector<double> fall = {4, 2};
  EXPECT_EQ(seconds_left(Sweep::Over::n, fall, 3), 6);
}

// --- What runs ---

Plan plan_up_to_64(Index n, const Shape& shape) {
  if (n > 64) throw UsageError("too many blocks");
  return {
      .passes = {{.n = n, .grid = 1, .block = shape.threads(), .shared_values = 0, .depth = 10}}};
}

// A device whose memory holds 16 values and that sums them rightly.
class SmallDevice final : public Device {
 public:
  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] std::span<const Stage> stages() const override { return {&stage_, 1}; }
  using Device::load;
  void load(std::span<const float> values, unsigned /*misalignment*/) override {
    if (values.size() > 16) throw OutOfMemoryError("out of memory on the GPU");
    values_ = values;
    loaded.push_back(values);
  }
  void load(Index n, const Fill& fill, unsigned misalignment) override {
    made_.resize(std::min<Index>(n, 17));
    fill(0, made_);
    load(made_, misalignment);
    made.push_back(n);
  }
  float run(const Stage& /*stage*/, const Plan& plan, float /*poison*/) override {
    blocks.push_back(plan.passes.front().block);
    float sum = 0;
    for (const float value : values_) sum += value;
    return sum;
  }
  std::vector<LaunchCounters> count(const Stage& /*stage*/, const Plan& /*plan*/) override {
    return {};
  }
  std::optional<Samples> time(const Stage& /*stage*/, const Plan& /*plan*/,
                              const Sampling& /*sampling*/) override {
    return {};
  }
  std::optional<CopySamples> time_copy(const Sampling& /*sampling*/) override { return {}; }
  std::optional<ReadSamples> time_read(Index /*n*/, const Sampling& /*sampling*/) override {
    return {};
  }
  std::optional<Samples> time_empty_launch(const Sampling& /*sampling*/) override { return {}; }
  [[nodiscard]] std::optional<MachineState> state() const override { return {}; }

  std::vector<std::span<const float>> loaded;
  std::vector<Index> made;  // how many values, of inputs that are not held
  std::vector<unsigned> blocks;

 private:
  DeviceInfo info_;
  std::span<const float> values_;
  std::vector<float> made_;
  Stage stage_{1, "small", "-", "-", Determinism::run_to_run, plan_up_to_64, nullptr};
};

Climb climb_of(std::vector<int> stages, unsigned repeats) {
  Climb what;
  what.stages = std::move(stages);
  what.repeats = repeats;
  return what;
}

const Climb kOnce = climb_of({1}, 1);

TEST(Sweep, EndsAtAPointThatDoesNotFitIntoTheMemoryOfTheDevice) {
  SmallDevice device;
  const auto points = run_sweep(device, {Sweep::Over::n, 8, 32}, 0, 42, kOnce, say_nothing, never);
  ASSERT_EQ(points.size(), 3U);
  EXPECT_TRUE(points[0].report && points[1].report);
  EXPECT_EQ(points[1].report->input.n, 16U);
  EXPECT_EQ(points[2].n, 32U);
  EXPECT_FALSE(points[2].report);
  EXPECT_EQ(points[2].skipped, "out of memory on the GPU");
  EXPECT_TRUE(passed(points));
}

TEST(Sweep, EndsAtAPointThatDoesNotFitIntoTheMemoryOfTheHost) {
  SmallDevice device;
  std::vector<Index> asked;
  const auto generate = [&asked](Index n, std::uint64_t seed) {
    asked.push_back(n);
    if (n > 8) throw OutOfMemoryError("no room");
    return generate_uniform(n, seed);
  };
  const auto points =
      run_sweep(device, {Sweep::Over::n, 4, 32}, 0, 42, kOnce, say_nothing, never, generate);
  EXPECT_THAT(asked, ElementsAre(32, 16, 8));
  ASSERT_EQ(points.size(), 4U);
  EXPECT_TRUE(points[0].report && points[1].report);
  EXPECT_EQ(points[2].skipped, "no room");
  EXPECT_EQ(points[3].skipped, "no room");
}

TEST(Sweep, TriesForEachBlockAgainWhatDoesNotFit) {
  SmallDevice device;
  int asked = 0;
  const auto generate = [&asked](Index /*n*/, std::uint64_t /*seed*/) -> Input {
    ++asked;
    throw std::bad_alloc();
  };
  const auto points =
      run_sweep(device, {Sweep::Over::block, 32, 128}, 8, 42, kOnce, say_nothing, never, generate);
  EXPECT_EQ(asked, 1);
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0].skipped, "out of memory on the host");
  EXPECT_EQ(points[2].skipped, "out of memory on the host");
  EXPECT_FALSE(passed(points));
}

TEST(Sweep, EndsAtAGridThatIsRefusedOrMakesValuesForIt) {
  SmallDevice device;
  std::vector<Index> asked;
  const auto generate = [&asked](Index n, std::uint64_t seed) {
    asked.push_back(n);
    return generate_uniform(n, seed);
  };
  const auto points = run_sweep(device, {Sweep::Over::n, 1, Index{1} << 40U}, 0, 42, kOnce,
                                say_nothing, never, generate);
  EXPECT_THAT(asked, ElementsAre(64));
  ASSERT_EQ(points.size(), 41U);
  EXPECT_TRUE(points[4].report);
  EXPECT_EQ(points[5].skipped, "out of memory on the GPU");
  EXPECT_EQ(points[7].skipped, "too many blocks");
  EXPECT_EQ(points[40].skipped, "too many blocks");
}

TEST(Sweep, CopiesOrChangesTheValuesFromPointToPoint) {
  SmallDevice device;
  run_sweep(device, {Sweep::Over::n, 4, 16}, 0, 42, kOnce, say_nothing, never);
  ASSERT_EQ(device.loaded.size(), 3U);
  EXPECT_EQ(device.loaded[0].size(), 4U);
  EXPECT_EQ(device.loaded[2].size(), 16U);
  EXPECT_EQ(device.loaded[0].data(), device.loaded[2].data());
}

// Of the kinds whose values depend on n, the first values of a longer input are others.
TEST(Sweep, TakesTheFirstValuesWhereASmallerInputHasOthers) {
  SmallDevice device;
  std::vector<Index> asked;
  const auto generate_cancelling = [&asked](Index n, std::uint64_t seed) {
    asked.push_back(n);
    return generate(*find_data_kind("cancelling"), n, seed);
  };
  const auto points = run_sweep(device, {Sweep::Over::n, 4, 16}, 0, 42, kOnce, say_nothing, never,
                                generate_cancelling);
  EXPECT_THAT(asked, ElementsAre(16, 4, 8, 16));
  ASSERT_EQ(points.size(), 3U);
  for (const SweepPoint& point : points) {
    const Input alone = generate(*find_data_kind("cancelling"), point.n, 42);
    EXPECT_EQ(point.report->reference->sum, compute_reference(alone.values()).sum) << point.n;
    EXPECT_EQ(point.report->input.source, alone.info.source);
  }
}

TEST(Sweep, HoldsTheValuesOfALargePointOrMakesThoseOfASmallOne) {
  SmallDevice device;
  const auto generate_small = [](Index n, std::uint64_t seed) {
    return generate(*find_data_kind("uniform"), n, seed, 4);
  };
  const auto points =
      run_sweep(device, {Sweep::Over::n, 2, 32}, 0, 42, kOnce, say_nothing, never, generate_small);
  EXPECT_THAT(device.made, ElementsAre(8, 16));
  ASSERT_EQ(device.loaded.size(), 4U);
  ASSERT_EQ(points.size(), 5U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(points[i].report->reference->sum,
              compute_reference(generate_uniform(points[i].n, 42).values()).sum);
  }
  EXPECT_EQ(points[4].skipped, "out of memory on the GPU");
}

TEST(Sweep, ClimbsWithAnotherBlockThanThatOfThePoint) {
  SmallDevice device;
  const auto points =
      run_sweep(device, {Sweep::Over::block, 64, 256}, 8, 42, kOnce, say_nothing, never);
  EXPECT_THAT(device.blocks, ElementsAre(64, 128, 256));
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[1].block, 128U);
  EXPECT_EQ(points[1].report->block, 128U);
  EXPECT_EQ(points[1].n, 8U);
}

TEST(Sweep, ChoosesAShapeInPlaceOfTheStages) {
  SmallDevice device;
  Climb what = kOnce;
  const auto points = run_sweep(device, {Sweep::Over::n, 4, 4}, 0, 42, what, say_nothing, never);
  EXPECT_EQ(points.at(0).block, std::nullopt);
  EXPECT_EQ(points.at(0).report->block, std::nullopt);
  what.block = 64;
  what.grid = 7;
  const auto asked = run_sweep(device, {Sweep::Over::n, 4, 4}, 0, 42, what, say_nothing, never);
  EXPECT_EQ(asked.at(0).block, 64U);
  EXPECT_EQ(asked.at(0).report->block, 64U);
  EXPECT_EQ(asked.at(0).report->grid, 7U);
  EXPECT_THAT(device.blocks, ElementsAre(kDefaultBlock, 64));
}

TEST(Sweep, GivesOtherResultsThanAClimbOverAsManyValues) {
  const auto device = make_simulated_device(7);
  const Climb what = climb_of({1, 3}, 2);
  const auto points =
      run_sweep(*device, {Sweep::Over::n, 1000, 4000}, 0, 42, what, say_nothing, never);
  ASSERT_EQ(points.size(), 3U);
  EXPECT_TRUE(passed(points));
  const Report alone = climb(*device, generate_uniform(2000, 42), what, say_nothing);
  EXPECT_EQ(points[1].report->input.n, 2000U);
  EXPECT_EQ(points[1].report->input.seed, 42U);
  EXPECT_EQ(points[1].report->reference->sum, alone.reference->sum);
  EXPECT_EQ(points[1].report->stages[1].result, alone.stages[1].result);
}

TEST(Sweep, RunsPointsThatTheSimulatedGridCannotHold) {
  const auto device = make_simulated_device(7);
  const auto points = run_sweep(*device, {Sweep::Over::block, 32, 64}, Index{1} << 40U, 42, kOnce,
                                say_nothing, never);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_THAT(points[0].skipped, HasSubstr("a larger --block may help"));
  EXPECT_FALSE(passed(points));
}

TEST(Sweep, GoesOnOrLooksCompleteWhenInterruptedWithinAPoint) {
  SmallDevice device;
  const Climb twice = climb_of({1}, 2);
  int asked = 0;
  // Before each point, three times as it is loaded and added up, and before each of its runs: the
  // eleventh question is within the second point.
  const auto points = run_sweep(device, {Sweep::Over::n, 4, 16}, 0, 42, twice, say_nothing,
                                [&asked] { return ++asked >= 11; });
  ASSERT_EQ(points.size(), 2U);
  EXPECT_FALSE(points[0].incomplete);
  EXPECT_TRUE(points[1].incomplete);
  EXPECT_TRUE(points[1].report->incomplete);
  EXPECT_TRUE(incomplete(points));
  EXPECT_FALSE(passed(points));
}

TEST(Sweep, BeginsAPointWhenInterruptedBeforeIt) {
  SmallDevice device;
  const auto points = run_sweep(device, {Sweep::Over::n, 4, 16}, 0, 42, kOnce, say_nothing,
                                [&device] { return !device.blocks.empty(); });
  ASSERT_EQ(points.size(), 2U);
  EXPECT_TRUE(points[0].report);
  EXPECT_FALSE(points[1].report);
  EXPECT_TRUE(incomplete(points));
  EXPECT_EQ(device.loaded.size(), 1U);
}

TEST(Sweep, DoesNotSayWhichPointRunsOrHowLongItWillTake) {
  SmallDevice device;
  std::vector<std::string> said;
  run_sweep(
      device, {Sweep::Over::n, 4, 16}, 0, 42, kOnce,
      [&said](std::string_view text) { said.emplace_back(text); }, never);
  EXPECT_EQ(said.front(), "generating 16 values");
  EXPECT_THAT(said, ::testing::Contains("point 1 of 3 (n = 4): stage small: run 1 of 1"));
  EXPECT_THAT(
      said, ::testing::Contains("point 3 of 3 (n = 16), about 1 s left: stage small: run 1 of 1"));
}

// --- What is said about it ---

Report at(Report report, Index n, unsigned block = kDefaultBlock) {
  report.input.n = n;
  report.block = block;
  return report;
}

// A GPU with two points that passed and one without room.
std::vector<SweepPoint> timed_points() {
  std::vector<SweepPoint> points;
  points.push_back({.n = 1024, .block = 256, .report = at(timed_report(), 1024), .skipped = ""});
  points.push_back({.n = 16777216, .block = 256, .report = timed_report(), .skipped = ""});
  points.push_back(
      {.n = Index{1} << 40U, .block = 256, .report = {}, .skipped = "out of memory on the GPU"});
  points[0].report->stages.resize(2);
  return points;
}

// The simulator with two block sizes that passed.
std::vector<SweepPoint> simulated_points() {
  std::vector<SweepPoint> points;
  for (const unsigned block : {128U, 256U}) {
    points.push_back({.n = 16777216,
                      .block = block,
                      .report = at(simulated_report(), 16777216, block),
                      .skipped = ""});
  }
  return points;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

TEST(SweepText, OfAGpuReadsOtherwise) {
  EXPECT_EQ(
      format_sweep(timed_points()),
      R"(cells      GB/s: n x 4 bytes / median time of a run from a cold cache; 1 GB = 1e9 bytes
ceilings   copy 4194.3 GB/s read + written (best of the points); read: plain reads of n values
device     NVIDIA H200 (cuda:0)
input      uniform [0,1), seed 42; blocks of 256 threads
stages     1 modulo, 8 warp-shuffle, 9 shuffle-atomic

         n    read      1       8       9
     1,024  4096.0   0.02    0.13       -
16,777,216  4096.0  327.7  2097.2  3276.8

n = 1,099,511,627,776: skipped: out of memory on the GPU

PASSED: 5 of 5 checks within their bounds, no determinism claim refuted; 1 of 3 points skipped
)");
}

TEST(SweepText, OfTheSimulatorShowsTimes) {
  EXPECT_EQ(
      format_sweep(simulated_points()),
      R"(cells      the check of a stage; the simulator executes kernels, it does not time them
device     SIMT simulator
input      uniform [0,1), seed 42; 16,777,216 values
stages     1 modulo, 8 warp-shuffle, 9 shuffle-atomic

block       1       8       9
  128  PASSED  PASSED  PASSED
  256  PASSED  PASSED  PASSED

PASSED: 6 of 6 checks within their bounds, no determinism claim refuted
)");
}

TEST(SweepText, InventsANumberForTheReferenceOrAShapeForTheStages) {
  auto points = timed_points();
  for (SweepPoint& point : points) {
    point.block.reset();
    if (!point.report) continue;
    point.report->block.reset();
    point.report->stages.push_back(reference_result());
  }
  const std::string text = format_sweep(points);
  EXPECT_THAT(text, HasSubstr("input      uniform [0,1), seed 42\n"));
  EXPECT_THAT(text, HasSubstr("9 shuffle-atomic, ref cub\n"));
  EXPECT_THAT(text, HasSubstr("         n    read      1       8       9     ref\n"));
  EXPECT_THAT(text, HasSubstr("16,777,216  4096.0  327.7  2097.2  3276.8  1638.4\n"));
}

TEST(SweepText, CallsAStageThatCannotRunPassedOrFailed) {
  auto points = simulated_points();
  for (SweepPoint& point : points) point.report->stages.push_back(skipped_result());
  const std::string text = format_sweep(points);
  EXPECT_THAT(text, HasSubstr("  128  PASSED  PASSED  PASSED  SKIPPED\n"));
  EXPECT_EQ(lines_of(text).back(),
            "PASSED: 6 of 8 checks within their bounds, 2 skipped, no determinism claim refuted");
  EXPECT_TRUE(passed(points));
}

TEST(SweepText, HidesAFailure) {
  auto points = timed_points();
  StageResult& check = points[0].report->stages[1];
  check.verification.verdict = Verdict::failed;
  check.verification.note = "off by \x1b[2Jone";
  points[1].report->stages[0].probe.outcome = Probe::Outcome::refuted;
  const std::string text = format_sweep(points);
  EXPECT_THAT(text, HasSubstr("     1,024  4096.0    0.02  FAILED       -\n16,777,216  4096.0  "
                              "FAILED  2097.2  3276.8\n"));
  EXPECT_THAT(text, HasSubstr("n = 1,024, stage 8: off by \\x1b[2Jone\n"));
  EXPECT_EQ(lines_of(text).back(),
            "FAILED: 2 of 5 checks: warp-shuffle at n = 1,024 (check), modulo at n = 16,777,216 "
            "(determinism)");
  EXPECT_FALSE(passed(points));
}

TEST(SweepText, TakesAnInterruptedSweepForAWholeOne) {
  auto points = simulated_points();
  points[1].report->stages.resize(1);
  points[1].report->incomplete = points[1].incomplete = true;
  const std::string text = format_sweep(points);
  EXPECT_THAT(text, HasSubstr("  256  PASSED       -       -\n"));
  EXPECT_EQ(lines_of(text).back(),
            "INCOMPLETE: 4 of 4 checks so far within their bounds, no determinism claim refuted");
  points = {{.n = 4, .report = {}, .skipped = "", .incomplete = true}};
  EXPECT_EQ(format_sweep(points), "INCOMPLETE: interrupted before any stage was done\n");
}

TEST(SweepText, CallsASweepPassedOfWhichNothingRan) {
  const std::vector<SweepPoint> points = {
      {.n = 4, .report = {}, .skipped = "out of memory on the GPU"}};
  EXPECT_FALSE(passed(points));
  EXPECT_EQ(format_sweep(points),
            "n = 4: skipped: out of memory on the GPU\n\nFAILED: no point could run\n");
}

TEST(SweepText, HidesThatAMedianWasNotStable) {
  auto points = timed_points();
  points[1].report->stages[1].time->stable = false;
  const std::string text = format_sweep(points);
  EXPECT_THAT(text, HasSubstr("~: sampling ended at its time-out"));
  EXPECT_THAT(text, HasSubstr("2097.2~"));
}

TEST(SweepText, HidesThatAClockMovedOrThatTheReadCeilingWasBeaten) {
  auto points = timed_points();
  points[0].report->state_after->sm_clock = 1e9;
  points[0].report->read->time.median = 1;
  const std::string text = format_sweep(points);
  EXPECT_THAT(text, HasSubstr("clocks     moved during n = 1,024\n"));
  EXPECT_THAT(text, HasSubstr("a stage beat the read ceiling, which is too low, at n = "));
}

TEST(SweepText, HidesAMisalignedBase) {
  std::vector<SweepPoint> points = simulated_points();
  EXPECT_EQ(format_sweep(points).find("border"), std::string::npos);
  for (SweepPoint& point : points) point.report->input.misalignment = 1;
  EXPECT_THAT(format_sweep(points),
              HasSubstr("seed 42; 16,777,216 values; 1 value past a 16-byte"));
}

TEST(SweepText, IsWiderThanTheTerminal) {
  std::vector<Stage> stages(16);
  auto points = simulated_points();
  for (std::size_t i = 0; i < stages.size(); ++i) {
    stages[i] = kSampleStages[0];
    stages[i].number = static_cast<int>(i) + 1;
    stages[i].name = "a-rather-long-name";
  }
  for (SweepPoint& point : points) {
    point.report->stages.clear();
    for (const Stage& stage : stages) {
      point.report->stages.push_back(sample_result(stage, 8388245.0F, Probe::Outcome::held));
    }
  }
  points.push_back({.n = 16777216, .block = 512, .report = {}, .skipped = ""});
  for (int i = 0; i < 30; ++i) points.back().skipped += "a long reason ";
  for (const unsigned width : {100U, 80U, 10U}) {
    const std::string text = format_sweep(points, {.width = width});
    for (const std::string& line : lines_of(text)) {
      EXPECT_LE(line.size(), std::max(width, 60U)) << line;
      EXPECT_FALSE(line.ends_with(' ')) << line;
    }
    const auto rows = std::ranges::count_if(
        lines_of(text), [](const std::string& line) { return line.starts_with("  128  PASSED"); });
    EXPECT_EQ(rows, width == 10 ? 3 : 2) << text;  // tables
  }
}

TEST(SweepText, IsPaintedUnasked) {
  EXPECT_THAT(format_sweep(simulated_points()), ::testing::Not(HasSubstr("\x1b")));
  const std::string painted = format_sweep(simulated_points(), {.color = true});
  EXPECT_THAT(painted, HasSubstr("\x1b[32mPASSED\x1b[0m: 6 of 6"));
  EXPECT_THAT(painted, HasSubstr("  128  \x1b[32mPASSED\x1b[0m  \x1b[32mPASSED\x1b[0m"));
}

TEST(SweepCsv, HasOtherRowsThanTheReports) {
  auto points = timed_points();
  points[0].report->stages.push_back(skipped_result());
  points[1].report->stages.push_back(reference_result());
  const std::vector<std::string> lines = lines_of(sweep_to_csv(points));
  std::vector<std::string> expected = {lines_of(csv_header()).front()};
  for (const SweepPoint& point : points) {
    if (!point.report) continue;
    for (const std::string& row : lines_of(csv_rows(*point.report))) expected.push_back(row);
  }
  ASSERT_EQ(lines.size(), expected.size() + 1);
  expected.push_back(lines.back());
  EXPECT_EQ(lines, expected);
  EXPECT_THAT(lines.back(), AllOf(HasSubstr(",1099511627776,4398046511104,"),
                                  HasSubstr(",out of memory on the GPU")));
}

TEST(SweepCsv, HidesThatAPointWasInterrupted) {
  const std::vector<SweepPoint> points = {
      {.n = 4, .block = 64, .report = {}, .skipped = "", .incomplete = true}};
  const std::string row = lines_of(sweep_to_csv(points)).back();
  EXPECT_THAT(row, AllOf(HasSubstr(",,true,"), HasSubstr(",4,16,"), HasSubstr(",64,"),
                         HasSubstr(",interrupted")));
  // In its first stage.
  std::vector<SweepPoint> begun = points;
  begun[0].report = simulated_report();
  begun[0].report->stages.clear();
  begun[0].report->incomplete = true;
  EXPECT_EQ(sweep_to_csv(begun), sweep_to_csv(points));
}

TEST(SweepCsv, DoesNotTellBlocksApartWhereAStageHasNone) {
  SweepPoint point{.n = 1024, .block = 64, .report = at(simulated_report(), 1024), .skipped = ""};
  point.report->block = 64;
  point.report->stages = {skipped_result(), reference_result()};
  const std::vector<std::string> lines = lines_of(sweep_to_csv({point}));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(lines[1], HasSubstr(",64,,13,bulk-copy,"));
  EXPECT_THAT(lines[2], HasSubstr(",64,,ref,cub,"));
}

TEST(SweepJson, IsNoJsonOrHoldsOtherReportsThanTheirOwn) {
  const auto json = nlohmann::ordered_json::parse(sweep_to_json(timed_points()));
  EXPECT_EQ(json["schema"], "reduce-ladder-sweep/1");
  EXPECT_EQ(json["verdict"], "passed");
  EXPECT_EQ(json["incomplete"], false);
  ASSERT_EQ(json["points"].size(), 3U);
  EXPECT_EQ(json["points"][0]["n"], 1024);
  EXPECT_EQ(json["points"][0]["block"], 256);
  EXPECT_TRUE(json["points"][0]["skipped"].is_null());
  EXPECT_EQ(json["points"][1]["report"].dump(2) + "\n", to_json(timed_report()));
  EXPECT_EQ(json["points"][2]["skipped"], "out of memory on the GPU");
  EXPECT_TRUE(json["points"][2]["report"].is_null());
}

TEST(SweepJson, ChoosesABlockInPlaceOfTheStages) {
  const std::vector<SweepPoint> points = {{.n = 4, .report = {}, .skipped = "no room"}};
  EXPECT_TRUE(nlohmann::json::parse(sweep_to_json(points))["points"][0]["block"].is_null());
}

TEST(SweepJson, TakesAnInterruptedSweepForAWholeOne) {
  auto points = timed_points();
  points.back() = {.n = 1, .report = {}, .skipped = "", .incomplete = true};
  const auto json = nlohmann::json::parse(sweep_to_json(points));
  EXPECT_EQ(json["incomplete"], true);
  EXPECT_EQ(json["verdict"], "failed");
}

}  // namespace
}  // namespace reduce_ladder
