#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "lines.hpp"
#include "report.hpp"
#include "sample_report.hpp"

namespace reduce_ladder {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

void expect_well_formed(const std::string& text, std::size_t width = 100) {
  EXPECT_TRUE(text.ends_with("\n"));
  for (const std::string& line : lines_of(text)) {
    EXPECT_LE(line.size(), width) << line;
    EXPECT_FALSE(line.ends_with(" ")) << line;
  }
}

// What the first stage's row says of its error: relative error, share of the bound, check.
std::vector<std::string> error_cells(double error, double bound,
                                     Verdict verdict = Verdict::passed) {
  Report report = simulated_report();
  report.stages[0].verification = {verdict, error, bound, ""};
  const std::vector<std::string> words = words_of(line_with(format_report(report), "1  modulo"));
  return {words.end() - 3, words.end()};
}

std::string share(double error, double bound) {
  return error_cells(error, bound)[1];
}

TEST(Report, OfAGpu) {
  EXPECT_EQ(format_report(timed_report()),
            R"(device     NVIDIA H200 (cuda:0), compute capability 9.0, 132 SMs
           140.0 GiB memory, 60.0 MiB L2, driver 580.95.05, CUDA runtime 13.0, CUB 3.0.1
state      SM 1980 MHz, memory 3201 MHz, 118 -> 310 W, 38 -> 45 C, not throttled (before -> after)
input      16,777,216 values (64.0 MiB), uniform [0,1), seed 42
           does not fit into the 60.0 MiB of L2: every run reads all of it from memory
block      256 threads
reference  8388245.125 (fp64), A = sum|x| = 8388245.125
           condition number A / |sum| = 1
copy       4194.3 GB/s read + written (64.0 MiB copied; 1 GB = 1e9 bytes)
           87.4% of the theoretical 4800.0 GB/s
read       4096.0 GB/s read (64.0 MiB; float4 x 4, 256 threads x 8 blocks per SM)
           85.3% of the theoretical 4800.0 GB/s
floor      2.50 us for an empty launch: 12.2% of the fastest stage's time
           Reading the values takes longer than that from about n = 2,600,000 on.

#  stage                ms  iqr %    GB/s  % copy  % read    vs 1   step  rel error  % bound  check
1  modulo          0.20480    1.0   327.7     7.8     8.0   1.00x      -   1.49e-08     1.00  PASSED
8  warp-shuffle    0.03200    0.5  2097.2    50.0    51.2   6.40x  6.40x   1.49e-08     1.00  PASSED
9  shuffle-atomic  0.02048    1.0  3276.8    78.1    80.0  10.00x  1.56x   1.49e-08     1.00  PASSED

ms: median of 50 or more runs from a cold cache; iqr %: their spread; step: vs the row above
% bound: the error as a share of gamma(h) A, the bound of the stage's own tree

Shape of the first launch, and determinism over repeated runs by bit patterns:
#  stage           grid x block  class           repeats  distinct        min  + ulps  claim
1  modulo            4224 x 256  run_to_run            8         1    8388245       0  held
8  warp-shuffle      4224 x 256  run_to_run            8         1    8388245       0  held
9  shuffle-atomic    4224 x 256  not_guaranteed        8         2  8388244.5       1  unclaimed

PASSED: 3 of 3 stages within their bounds, no determinism claim refuted
)");
}

TEST(Report, OfAGpuInANarrowTerminal) {
  EXPECT_EQ(format_report(timed_report(), {.width = 80}),
            R"(device     NVIDIA H200 (cuda:0), compute capability 9.0, 132 SMs
           140.0 GiB memory, 60.0 MiB L2, driver 580.95.05, CUDA runtime 13.0,
           CUB 3.0.1
state      SM 1980 MHz, memory 3201 MHz, 118 -> 310 W, 38 -> 45 C, not throttled
           (before -> after)
input      16,777,216 values (64.0 MiB), uniform [0,1), seed 42
           does not fit into the 60.0 MiB of L2: every run reads all of it from
           memory
block      256 threads
reference  8388245.125 (fp64), A = sum|x| = 8388245.125
           condition number A / |sum| = 1
copy       4194.3 GB/s read + written (64.0 MiB copied; 1 GB = 1e9 bytes)
           87.4% of the theoretical 4800.0 GB/s
read       4096.0 GB/s read (64.0 MiB; float4 x 4, 256 threads x 8 blocks per
           SM)
           85.3% of the theoretical 4800.0 GB/s
floor      2.50 us for an empty launch: 12.2% of the fastest stage's time
           Reading the values takes longer than that from about n = 2,600,000
           on.

#  stage                ms    GB/s % copy % read   vs 1 rel error % bound check
1  modulo          0.20480   327.7    7.8    8.0  1.00x  1.49e-08    1.00 PASSED
8  warp-shuffle    0.03200  2097.2   50.0   51.2  6.40x  1.49e-08    1.00 PASSED
9  shuffle-atomic  0.02048  3276.8   78.1   80.0 10.00x  1.49e-08    1.00 PASSED

ms: median of 50 or more runs from a cold cache
% bound: the error as a share of gamma(h) A, the bound of the stage's own tree

Shape of the first launch, and determinism over repeated runs by bit patterns:
# stage          grid x block class          distinct       min + ulps claim
1 modulo           4224 x 256 run_to_run            1   8388245      0 held
8 warp-shuffle     4224 x 256 run_to_run            1   8388245      0 held
9 shuffle-atomic   4224 x 256 not_guaranteed        2 8388244.5      1 unclaimed

PASSED: 3 of 3 stages within their bounds, no determinism claim refuted
)");
}

TEST(Report, OfTheSimulatorHasNothingThatLooksLikeATime) {
  EXPECT_EQ(format_report(simulated_report()), R"(device     SIMT simulator
           The kernels are executed for their values, not timed.
input      16,777,216 values (64.0 MiB), uniform [0,1), seed 42
block      256 threads
reference  8388245.125 (fp64), A = sum|x| = 8388245.125
           condition number A / |sum| = 1

#  stage           launches  depth h  rel error  % bound  check
1  modulo                 3       24   1.49e-08     1.00  PASSED
8  warp-shuffle           3       24   1.49e-08     1.00  PASSED
9  shuffle-atomic         3       24   1.49e-08     1.00  PASSED

% bound: the error as a share of gamma(h) A, the bound of the stage's own tree

Shape of the first launch, and determinism over repeated runs by bit patterns:
#  stage           grid x block  class           repeats  distinct        min  + ulps  claim
1  modulo            4224 x 256  run_to_run            8         1    8388245       0  held
8  warp-shuffle      4224 x 256  run_to_run            8         1    8388245       0  held
9  shuffle-atomic    4224 x 256  not_guaranteed        8         2  8388244.5       1  unclaimed

PASSED: 3 of 3 stages within their bounds, no determinism claim refuted
)");
}

TEST(Report, FailuresSayWhy) {
  Report report = simulated_report();
  report.stages[0].verification = {Verdict::failed, 12.7, 12.5,
                                   "off by 12.7 where 12.5 is allowed"};
  report.stages[2].verification = {Verdict::skipped, kInf, 12.5, "overflow: too large"};
  const std::string text = format_report(report);
  EXPECT_NE(text.find("\n\n"
                      "1 modulo: off by 12.7 where 12.5 is allowed\n"
                      "9 shuffle-atomic: overflow: too large\n\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(error_cells(12.7, 12.5, Verdict::failed),
            (std::vector<std::string>{"1.51e-06", "101.6", "FAILED"}));
}

TEST(Report, ASkippedStageHasNoShareOfItsBound) {
  EXPECT_EQ(error_cells(1, kInf, Verdict::skipped)[1], "-");
  EXPECT_EQ(error_cells(1, kInf, Verdict::skipped)[2], "SKIPPED");
}

TEST(Report, NoErrorIsZero) {
  EXPECT_EQ(error_cells(0, 12.5), (std::vector<std::string>{"0", "0", "PASSED"}));
  EXPECT_EQ(error_cells(0, 0), (std::vector<std::string>{"0", "0", "PASSED"}));
}

TEST(Report, ErrorsThatAreNoNumbers) {
  EXPECT_EQ(error_cells(kNan, 12.5, Verdict::failed),
            (std::vector<std::string>{"nan", "nan", "FAILED"}));
  EXPECT_EQ(error_cells(-kNan, 12.5, Verdict::failed)[0], "nan");
  EXPECT_EQ(error_cells(kInf, 12.5, Verdict::failed)[1], "inf");
  EXPECT_EQ(error_cells(1, 0, Verdict::failed)[1], "inf");
}

TEST(Report, SharesNearTheBoundAreNotRoundedOntoIt) {
  EXPECT_EQ(share(1, 1), "100.0");
  EXPECT_EQ(share(99.96, 100), "99.96");
  EXPECT_EQ(share(99.9996, 100), "99.9996");
  EXPECT_EQ(share(99.999999, 100), "<100");
  EXPECT_EQ(share(100.04, 100), "100.04");
  EXPECT_EQ(share(100.000001, 100), ">100");
  EXPECT_EQ(share(std::nextafter(1.9999, 2.0), 1.9999), ">100");
}

TEST(Report, SmallAndLargeSharesStayReadable) {
  EXPECT_EQ(share(3.0, 1e5), "0.00300");
  EXPECT_EQ(share(3.0, 1e9), "3.00e-07");
  EXPECT_EQ(share(45.678, 100), "45.7");
  EXPECT_EQ(share(12345678, 100), "1.23e+07");
}

TEST(Report, ASumOfZeroHasNoRelativeError) {
  Report report = simulated_report();
  report.reference->sum = 0;
  EXPECT_EQ(words_of(line_with(format_report(report), "1  modulo"))[4], "inf");
}

TEST(Report, WithoutRungOneNothingIsComparedWithIt) {
  Report report = timed_report();
  report.stages.erase(report.stages.begin());
  const std::string text = format_report(report);
  EXPECT_EQ(
      line_with(text, "8  warp"),
      "8  warp-shuffle    0.03200    0.5  2097.2    50.0    51.2     -      -   1.49e-08     1.00  "
      "PASSED");
  EXPECT_EQ(
      line_with(text, "9  shuffle"),
      "9  shuffle-atomic  0.02048    1.0  3276.8    78.1    80.0     -  1.56x   1.49e-08     1.00  "
      "PASSED");
}

TEST(Report, AStageWithoutATimeLeavesGapsOnly) {
  Report report = timed_report();
  report.stages[1].time.reset();
  const std::vector<std::string> untimed =
      words_of(line_with(format_report(report), "8  warp-shuffle"));
  EXPECT_EQ(untimed, (std::vector<std::string>{"8", "warp-shuffle", "-", "-", "-", "-", "-", "-",
                                               "-", "1.49e-08", "1.00", "PASSED"}));
  const std::vector<std::string> next = words_of(line_with(format_report(report), "9  shuffle"));
  EXPECT_EQ(next[7], "10.00x");
  EXPECT_EQ(next[8], "-");
}

using Words = std::vector<std::string>;

TEST(Report, AStageThatCannotRunLeavesGapsAndSaysWhy) {
  Report report = timed_report();
  report.stages.push_back(skipped_result());
  std::string text = format_report(report);
  EXPECT_EQ(words_of(line_with(text, "13  bulk-copy")),
            (Words{"13", "bulk-copy", "-", "-", "-", "-", "-", "-", "-", "-", "-", "SKIPPED"}));
  EXPECT_EQ(line_with(text, "13 bulk-copy: "), "13 bulk-copy: needs another GPU");
  const std::string probes = text.substr(text.find("Shape of the first launch"));
  EXPECT_EQ(words_of(line_with(probes, "13  bulk-copy")),
            (Words{"13", "bulk-copy", "-", "run_to_run", "0", "0", "-", "-", "untested"}));
  EXPECT_TRUE(text.ends_with(
      "\nPASSED: 3 of 4 stages within their bounds, 1 skipped, no determinism claim refuted\n"));

  report = simulated_report();
  report.stages.push_back(skipped_result());
  text = format_report(report);
  EXPECT_EQ(words_of(line_with(text, "13  bulk-copy")),
            (Words{"13", "bulk-copy", "-", "-", "-", "-", "SKIPPED"}));
}

TEST(Report, TheReferenceIsNoRungAndSaysNothingOfItsLaunches) {
  Report report = timed_report();
  report.stages.push_back(reference_result());
  const std::string text = format_report(report);
  EXPECT_EQ(words_of(line_with(text, "ref  cub")),
            (Words{"ref", "cub", "0.04096", "1.0", "1638.4", "39.1", "40.0", "5.00x", "0.50x",
                   "1.49e-08", "1.00", "PASSED"}));
  EXPECT_EQ(words_of(line_with(text.substr(text.find("Shape of")), "ref  cub")),
            (Words{"ref", "cub", "-", "run_to_run", "8", "1", "8388245", "0", "held"}));
}

TEST(Report, SetsTheFastestStageThatKeepsItsBitsAgainstTheReference) {
  const std::string start = "Fastest with the same bits";
  EXPECT_EQ(line_with(format_report(timed_report()), start), "");
  Report report = timed_report();
  report.stages.push_back(reference_result());
  EXPECT_NE(format_report(report).find("own tree\n\n"
                                       "Fastest with the same bits from run to run: stage 8 "
                                       "warp-shuffle, in 0.781 of cub's time.\n\n"
                                       "Shape of"),
            std::string::npos);
  report.stages.back() = skipped_result(kSampleReference);
  EXPECT_EQ(line_with(format_report(report), start), "");
}

TEST(Report, NamesTheShapeOnlyWhereItWasAskedFor) {
  Report report = simulated_report();
  report.block.reset();
  EXPECT_EQ(line_with(format_report(report), "block"), "");
  EXPECT_EQ(line_with(format_report(report), "grid"), "");
  report.grid = 7;
  EXPECT_EQ(line_with(format_report(report), "grid"),
            "grid       7 blocks, of the stages whose grid does not follow from n");
  report.grid = 1;
  EXPECT_EQ(line_with(format_report(report), "grid"),
            "grid       1 block, of the stages whose grid does not follow from n");
}

TEST(Report, TheShapeOfAStageIsItsOwnAndNotTheOneAskedFor) {
  Report report = simulated_report();
  report.grid = 7;
  report.stages[0].grid = 132;
  report.stages[0].block = 1024;
  const std::string text = format_report(report);
  EXPECT_TRUE(line_with(text.substr(text.find("Shape of")), "1  modulo")
                  .starts_with("1  modulo            132 x 1024  run_to_run"));
}

TEST(Report, TinyInputsStillShowARate) {
  Report report = timed_report();
  report.input.n = 1;
  for (StageResult& result : report.stages) result.time->median = 2.71e-6;
  EXPECT_EQ(words_of(line_with(format_report(report), "1  modulo")),
            (std::vector<std::string>{"1", "modulo", "0.00271", "75.6", "0.0015", "0.000", "0.000",
                                      "1.00x", "-", "1.49e-08", "1.00", "PASSED"}));
}

TEST(Report, FasterThanACopyIsExplained) {
  const std::string explanation = "% copy: a stage only reads";
  EXPECT_EQ(line_with(format_report(timed_report()), explanation), "");
  Report report = timed_report();
  report.stages[2].time->median = 15e-6;
  EXPECT_NE(line_with(format_report(report), explanation), "");
}

TEST(Report, TheoreticalBandwidthIsLeftOutWhereUnknown) {
  Report report = timed_report();
  report.device.cuda->theoretical_bandwidth = 0;
  EXPECT_EQ(format_report(report).find("theoretical"), std::string::npos);
}

TEST(Report, ManyStagesWithLongNamesFitTheLine) {
  Report report = timed_report();
  std::deque<Stage> stages;
  for (int number = 10; number < 17; ++number) {
    Stage& stage = stages.emplace_back(kSampleStages[1]);
    stage.number = number;
    stage.name = "a-stage-whose-name-goes-on-and-on-until-it-is-far-too-long-for-any-table";
    report.stages.push_back(report.stages[1]);
    report.stages.back().stage = &stage;
    report.stages.back().time = Summary{123.4, 120, 5, 50};
    report.stages.back().verification = {Verdict::failed, 3e30, 1e-9, std::string(300, 'x')};
    report.stages.back().probe.min = -1.23456789e-38F;
    report.stages.back().probe.max = 1.23456789e+38F;
  }
  for (const unsigned width : {100U, 80U, 64U}) {
    const std::string text = format_report(report, {.width = width});
    expect_well_formed(text, width);
    EXPECT_NE(text.find("a-s"), std::string::npos);
  }
}

// The columns that the table of stages lacks.
std::vector<std::string> missing_at(const Report& report, unsigned width) {
  const std::string header = line_with(format_report(report, {.width = width}), "#  stage");
  std::vector<std::string> missing;
  for (const char* name : {"step", "iqr %", "% copy", "vs 1", "rel error", "% bound", "ms", "GB/s",
                           "% read", "check"}) {
    if (header.find(name) == std::string::npos) missing.emplace_back(name);
  }
  return missing;
}

TEST(Report, NarrowTablesLoseTheLeastNeededColumnsFirst) {
  const Report report = timed_report();
  using Names = std::vector<std::string>;
  EXPECT_EQ(missing_at(report, 100), Names{});
  EXPECT_EQ(missing_at(report, 85), (Names{"step"}));
  EXPECT_EQ(missing_at(report, 80), (Names{"step", "iqr %"}));
  EXPECT_EQ(missing_at(report, 72), (Names{"step", "iqr %", "% copy"}));
  EXPECT_EQ(missing_at(report, 64), (Names{"step", "iqr %", "% copy", "vs 1"}));
}

TEST(Report, OfALadderOfSixteenRungsKeepsEveryColumnAt100) {
  Report report = timed_report();
  Stage stage = kSampleStages[1];
  stage.number = 16;
  stage.name = "interleaved-strided-x";
  report.stages[1].stage = &stage;
  const std::string text = format_report(report);
  expect_well_formed(text);
  EXPECT_NE(text.find("interleaved-strided-x"), std::string::npos);
  EXPECT_NE(line_with(text, " #").find("step"), std::string::npos);
}

TEST(Report, AColumnThatIsLeftOutIsNotExplained) {
  Report report = timed_report();
  report.stages[1].time->stable = false;
  const std::string text = format_report(report, {.width = 80});
  EXPECT_EQ(line_with(text, "ms: "), "ms: median of 50 or more runs from a cold cache");
  EXPECT_EQ(line_with(text, "stage 8: "),
            "stage 8: sampling ended at its time-out, before the median was stable");
  EXPECT_EQ(text.find('~'), std::string::npos);
}

TEST(Report, AMedianThatWasNotStableIsMarkedAndExplained) {
  EXPECT_EQ(format_report(timed_report()).find('~'), std::string::npos);
  Report report = timed_report();
  report.stages[1].time->stable = false;
  const std::string text = format_report(report);
  EXPECT_TRUE(
      line_with(text, "1  modulo").starts_with("1  modulo          0.20480   1.0    327.7"));
  EXPECT_TRUE(line_with(text, "8  warp").starts_with("8  warp-shuffle    0.03200   0.5~  2097.2"));
  EXPECT_EQ(line_with(text, "~"),
            "~: sampling ended at its time-out, before the median was stable");
}

TEST(Report, DiscardedSamplesAreCounted) {
  EXPECT_EQ(line_with(format_report(timed_report()), "discarded"), "");
  Report report = timed_report();
  report.stages[0].time->discarded = 1;
  EXPECT_EQ(line_with(format_report(report), "discarded"),
            "discarded: 1 more run, which had host time inside");
  report.stages[2].time->discarded = 4;
  EXPECT_EQ(line_with(format_report(report), "discarded"),
            "discarded: 5 more runs, which had host time inside");
}

// The line below the one that starts with `label`.
std::string line_below(const std::string& text, const std::string& label) {
  const std::vector<std::string> lines = lines_of(text);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    if (lines[i].starts_with(label)) return lines[i + 1];
  }
  return "";
}

TEST(Report, SaysWhatAWarmCacheMeans) {
  EXPECT_EQ(line_with(format_report(timed_report()), "cache"), "");
  Report report = timed_report();
  report.cache = CacheMode::warm;
  const std::string text = format_report(report);
  EXPECT_EQ(line_with(text, "cache"),
            "cache      warm: a run finds in L2 what the run before left there, and may be faster "
            "than memory");
  EXPECT_EQ(
      line_with(text, "ms: "),
      "ms: median of 50 or more runs from a warm cache; iqr %: their spread; step: vs the row "
      "above");
}

TEST(Report, SetsTheInputAgainstL2) {
  Report report = timed_report();
  auto against_l2 = [&](Index n, CacheMode cache) {
    report.input.n = n;
    report.cache = cache;
    return line_below(format_report(report), "input").substr(11);
  };
  constexpr Index kL2Values = Index{15} << 20;
  EXPECT_EQ(against_l2(kL2Values, CacheMode::cold),
            "fits into the 60.0 MiB of L2, but every run begins with other data there");
  EXPECT_EQ(against_l2(kL2Values + 1, CacheMode::cold),
            "does not fit into the 60.0 MiB of L2: every run reads all of it from memory");
  EXPECT_EQ(against_l2(kL2Values, CacheMode::warm),
            "fits into the 60.0 MiB of L2: a run may find all of it there");
  EXPECT_EQ(against_l2(kL2Values + 1, CacheMode::warm),
            "does not fit into the 60.0 MiB of L2: a run reads at least a part of it from memory");
  report.device.cuda->l2_bytes = 0;
  EXPECT_EQ(against_l2(kL2Values, CacheMode::cold), "256 threads");
}

TEST(Report, TheStateShowsWhatChanged) {
  Report report = timed_report();
  report.state_after = report.state_before;
  EXPECT_EQ(line_with(format_report(report), "state"),
            "state      SM 1980 MHz, memory 3201 MHz, 118 W, 38 C, not throttled");
  report.state_after->sm_clock = 1700e6;
  report.state_after->throttle_reasons = {{"software power cap", "thermal"}};
  const std::string text = format_report(report);
  EXPECT_NE(text.find("state      SM 1980 -> 1700 MHz, memory 3201 MHz, 118 W, 38 C, not throttled "
                      "-> throttled: software\n"
                      "           power cap + thermal (before -> after)\n"
                      "           A clock moved during the run: not all stages were timed at the "
                      "same speed.\n"),
            std::string::npos)
      << text;
}

TEST(Report, AStateThatIsNotKnownIsLeftOut) {
  Report report = timed_report();
  report.state_before = MachineState{};
  report.state_before->temperature = 38;
  report.state_after = MachineState{};
  report.state_after->memory_clock = 3201e6;
  EXPECT_EQ(line_with(format_report(report), "state"), "state      memory 3201 MHz, 38 C");
  report.state_before = MachineState{};
  report.state_after.reset();
  EXPECT_EQ(line_with(format_report(report), "state"), "");
}

TEST(Report, AClockThatMovedIsSaid) {
  const std::string sentence = "           A clock moved";
  EXPECT_EQ(line_with(format_report(timed_report()), sentence), "");
  Report report = timed_report();
  report.state_after->memory_clock = 2619e6;
  EXPECT_NE(line_with(format_report(report), sentence), "");
}

TEST(Report, ABeatenCeilingIsNotTight) {
  const std::string sentence = "           A stage was faster";
  EXPECT_EQ(line_with(format_report(timed_report()), sentence), "");
  Report report = timed_report();
  report.stages[2].time = Summary{15e-6, 15e-6, 0.1e-6, 50};
  EXPECT_EQ(line_with(format_report(report), sentence),
            "           A stage was faster by more than the noise: this ceiling is not tight.");
}

TEST(Report, WithoutCeilingsAndFloorThereAreGapsOnly) {
  Report report = timed_report();
  report.copy.reset();
  report.read.reset();
  report.floor.reset();
  const std::string text = format_report(report);
  for (const char* label : {"copy", "read", "floor"}) EXPECT_EQ(line_with(text, label), "");
  const std::vector<std::string> words = words_of(line_with(text, "9  shuffle"));
  EXPECT_EQ(words[5], "-");
  EXPECT_EQ(words[6], "-");
}

TEST(Report, TheFloorIsShownWithoutAStageToCompare) {
  Report report = timed_report();
  for (StageResult& result : report.stages) result.time.reset();
  report.read.reset();
  const std::string text = format_report(report);
  EXPECT_EQ(line_with(text, "floor"), "floor      2.50 us for an empty launch");
  EXPECT_EQ(line_below(text, "floor"), "");
  EXPECT_EQ(line_with(text, "ms: "), "");
}

TEST(Report, CallsTheBoundOfAStageThatOfAnother) {
  Stage wider[4] = {kSampleStages[0], kSampleStages[0], kSampleStages[0], kSampleStages[0]};
  wider[0].number = 14;
  wider[0].accumulation = Accumulation::fp64;
  wider[1].number = 15;
  wider[1].accumulation = Accumulation::compensated;
  wider[2].number = 16;
  wider[2].accumulation = Accumulation::exact;
  wider[3].number = 18;
  wider[3].accumulation = Accumulation::exact;
  Report report = simulated_report();
  for (const Stage& stage : wider) {
    report.stages.push_back(sample_result(stage, 8388245.0F, Probe::Outcome::held));
  }
  const std::string text = format_report(report);
  const std::size_t begin = text.find("% bound: ");
  const std::string legend = text.substr(begin, text.find("\n\n", begin) - begin);
  EXPECT_EQ(
      legend,
      R"(% bound: the error as a share of gamma(h) A, the bound of the stage's own tree; of stage 14, u |sum|
         + (1 + u) h v / (1 - h v) A with v = 2^-53; of stage 15, u |sum| + (1 + u) gamma(h)
         gamma(2h) A; of stages 16, 18, u |sum|)");
}

TEST(Report, InterruptedBeforeTheReferenceShowsOne) {
  Report report = simulated_report();
  report.incomplete = true;
  report.stages.clear();
  report.reference.reset();
  EXPECT_EQ(format_report(report).find("reference"), std::string::npos);
}

TEST(Report, InterruptedBeforeTheFirstStageHasNoTables) {
  Report report = timed_report();
  report.incomplete = true;
  report.stages.clear();
  const std::string text = format_report(report);
  EXPECT_EQ(text.find("stage  "), std::string::npos);
  EXPECT_TRUE(text.ends_with("on.\n\nINCOMPLETE: interrupted before any stage was done\n")) << text;
}

// `text` without the sequences that color it.
std::string without_color(std::string text) {
  for (const char* sequence : {"\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"}) {
    for (std::size_t at = 0; (at = text.find(sequence)) != std::string::npos;) {
      text.erase(at, std::string(sequence).size());
    }
  }
  return text;
}

TEST(Color, IsOfThreeWordsAlone) {
  Report report = timed_report();
  report.stages[1].verification = {Verdict::failed, 13, 12.5, "off by 13"};
  report.stages[2].verification.verdict = Verdict::skipped;
  const std::string text = format_report(report, {.color = true});
  EXPECT_TRUE(line_with(text, "1  modulo").ends_with(" \x1b[32mPASSED\x1b[0m"));
  EXPECT_TRUE(line_with(text, "8  warp-shuffle").ends_with(" \x1b[31mFAILED\x1b[0m"));
  EXPECT_TRUE(line_with(text, "9  shuffle-atomic").ends_with(" \x1b[33mSKIPPED\x1b[0m"));
  EXPECT_TRUE(text.ends_with("\n\x1b[31mFAILED\x1b[0m: 1 of 3 stages: warp-shuffle (check)\n"));
  EXPECT_EQ(std::ranges::count(text, '\x1b'), 8);
}

TEST(Color, MovesNothing) {
  for (const unsigned width : {100U, 80U}) {
    for (const Report& report : {timed_report(), simulated_report()}) {
      const std::string plain = format_report(report, {.width = width});
      EXPECT_EQ(plain.find('\x1b'), std::string::npos);
      EXPECT_EQ(without_color(format_report(report, {.width = width, .color = true})), plain);
    }
  }
}

TEST(Color, IsInTheVerdictToo) {
  EXPECT_TRUE(
      format_verdict(timed_report(), {.color = true}).starts_with("\x1b[32mPASSED\x1b[0m: 3"));
  Report report = timed_report();
  report.incomplete = true;
  EXPECT_EQ(format_verdict(report, {.color = true}), format_verdict(report));
  report.stages[0].verification.verdict = Verdict::failed;
  EXPECT_EQ(format_verdict(report, {.color = true}),
            "INCOMPLETE, \x1b[31mFAILED\x1b[0m: 1 of 3 stages: modulo (check)\n");
}

TEST(Verdict, AnIncompleteReportDoesNotPass) {
  Report report = simulated_report();
  report.incomplete = true;
  EXPECT_EQ(format_verdict(report),
            "INCOMPLETE: 3 of 3 stages so far within their bounds, no determinism claim refuted\n");
  report.stages[1].probe.outcome = Probe::Outcome::refuted;
  EXPECT_EQ(format_verdict(report),
            "INCOMPLETE, FAILED: 1 of 3 stages: warp-shuffle (determinism)\n");
}

TEST(Report, ALongPathLosesItsMiddle) {
  Report report = simulated_report();
  report.input = {.n = 1, .source = "/one/" + std::string(300, 'x') + "/weights.npy", .seed = {}};
  EXPECT_EQ(line_with(format_report(report), "input"),
            "input      1 value (4 bytes), /one/xxxxxxxxxx...xxxxxxxxxxxxxxxxxxxx/weights.npy");
}

TEST(Report, APathIsNeverCutInsideACharacter) {
  Report report = simulated_report();
  for (std::size_t lead = 0; lead < 4; ++lead) {
    report.input.source = std::string(lead, 'x');
    for (int i = 0; i < 60; ++i) report.input.source += "\u20ac";  // three bytes each
    const std::string line = line_with(format_report(report), "input");
    const std::size_t dots = line.find("...");
    ASSERT_NE(dots, std::string::npos);
    EXPECT_EQ(line.substr(dots + 3, 3), "\u20ac");
    EXPECT_EQ(line.substr(dots - 3, 3), "\u20ac");
  }
}

TEST(Report, NamesFromOutsideCannotBreakLinesOrDriveTheTerminal) {
  Report report = simulated_report();
  report.input.source = "a\nb\x1b[31m.npy";
  report.stages[0].verification = {Verdict::failed, kNan, 1, "first\nsecond"};
  const std::string text = format_report(report);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(line_with(text, "input"),
            R"(input      16,777,216 values (64.0 MiB), a\nb\x1b[31m.npy, seed 42)");
  EXPECT_EQ(line_with(text, "1 modulo:"), R"(1 modulo: first\nsecond)");
}

TEST(Report, SpecialSumsHaveNoSignOfNan) {
  Report report = simulated_report();
  report.reference->sum = -kNan;
  report.reference->abs_sum = kInf;
  report.stages[0].probe.min = std::numeric_limits<float>::quiet_NaN();
  report.stages[0].probe.max = -std::numeric_limits<float>::quiet_NaN();
  const std::string text = format_report(report);
  EXPECT_EQ(line_with(text, "reference"), "reference  nan (fp64), A = sum|x| = inf");
  EXPECT_EQ(text.find("-nan"), std::string::npos);
}

TEST(Report, TheReferenceShowsEveryDigit) {
  Report report = simulated_report();
  report.reference = {-245.02884468938817, 63151.2629394306, "fp64, TwoSum-compensated"};
  EXPECT_EQ(line_with(format_report(report), "reference"),
            "reference  -245.02884468938817 (fp64, TwoSum-compensated), A = sum|x| = "
            "63151.2629394306");
}

TEST(Report, AMisalignedBaseIsNamedAndAnAlignedOneIsNot) {
  Report report = simulated_report();
  EXPECT_EQ(format_report(report).find("border"), std::string::npos);
  report.input.misalignment = 1;
  EXPECT_EQ(line_with(format_report(report), "           begins"),
            "           begins 1 value past a 16-byte border");
  report.input.misalignment = 3;
  EXPECT_EQ(line_with(format_report(report), "           begins"),
            "           begins 3 values past a 16-byte border");
}

TEST(Report, TheConditionNumberIsLeftOutWhereItSaysNothing) {
  const std::string label = "           condition number A / |sum| = ";
  const auto shown = [&](double sum, double abs_sum) {
    Report report = simulated_report();
    report.reference = {sum, abs_sum, "exact"};
    const std::string line = line_with(format_report(report), label);
    return line.substr(std::min(label.size(), line.size()));
  };
  EXPECT_EQ(shown(-2, 5), "2.5");
  EXPECT_EQ(shown(-336.4787883758545, 2.5331275708927676e+16), "7.528e+13");
  EXPECT_EQ(shown(0, 5), "inf");
  EXPECT_EQ(shown(0, 0), "");
  EXPECT_EQ(shown(kNan, kInf), "");
  EXPECT_EQ(shown(-kInf, kInf), "");
}

TEST(Report, ResultsShowNineDigits) {
  Report report = simulated_report();
  report.stages[0].probe.min = 0.1F;
  const std::string text = format_report(report);
  EXPECT_NE(text.find("0.100000001"), std::string::npos);
}

TEST(Verdict, CountsWhatPassed) {
  EXPECT_EQ(format_verdict(simulated_report()),
            "PASSED: 3 of 3 stages within their bounds, no determinism claim refuted\n");
}

TEST(Verdict, DoesNotCountASkippedStageAsWithinItsBound) {
  Report report = simulated_report();
  report.stages[1].verification.verdict = Verdict::skipped;
  EXPECT_TRUE(passed(report));
  EXPECT_EQ(format_verdict(report),
            "PASSED: 2 of 3 stages within their bounds, 1 skipped, no determinism claim refuted\n");
}

TEST(Verdict, DoesNotSpeakOfDeterminismThatWasNotTested) {
  Report report = simulated_report();
  for (StageResult& result : report.stages) result.probe.outcome = Probe::Outcome::untested;
  EXPECT_EQ(format_verdict(report),
            "PASSED: 3 of 3 stages within their bounds, determinism not tested\n");
}

TEST(Verdict, NamesTheStagesThatFailedAndHow) {
  Report report = simulated_report();
  report.stages[0].verification.verdict = Verdict::failed;
  EXPECT_FALSE(passed(report));
  EXPECT_EQ(format_verdict(report), "FAILED: 1 of 3 stages: modulo (check)\n");
  report.stages[1].probe.outcome = Probe::Outcome::refuted;
  EXPECT_EQ(format_verdict(report),
            "FAILED: 2 of 3 stages: modulo (check), warp-shuffle (determinism)\n");
  report.stages[0].probe.outcome = Probe::Outcome::refuted;
  EXPECT_EQ(format_verdict(report),
            "FAILED: 2 of 3 stages: modulo (check, determinism), warp-shuffle (determinism)\n");
}

TEST(Verdict, ARefutedClaimAloneFailsTheRun) {
  Report report = simulated_report();
  report.stages[1].probe.outcome = Probe::Outcome::refuted;
  EXPECT_FALSE(passed(report));
}

TEST(Verdict, StaysOnOneLineWhateverFails) {
  Report report = simulated_report();
  for (int i = 0; i < 6; ++i) report.stages.push_back(report.stages[1]);
  for (StageResult& result : report.stages) result.verification.verdict = Verdict::failed;
  const std::string text = format_verdict(report);
  EXPECT_EQ(text,
            "FAILED: 9 of 9 stages: modulo (check), warp-shuffle (check), "
            "shuffle-atomic (check), and 6 more\n");
  expect_well_formed(text);
  const std::string narrow = format_verdict(report, {.width = 80});
  EXPECT_EQ(narrow, "FAILED: 9 of 9 stages: modulo (check), warp-shuffle (check), and 7 more\n");
  expect_well_formed(narrow, 80);
}

TEST(Stages, AreListedWithWhatTheyAreFor) {
  EXPECT_EQ(format_stages(kSampleStages), R"(  1  modulo          run_to_run
       idea:    a modulo chooses the threads
       removes: nothing: the baseline
  8  warp-shuffle    run_to_run
       idea:    registers instead of shared memory
       removes: shared-memory round trips
  9  shuffle-atomic  not_guaranteed
       idea:    one atomicAdd a block
       removes: the second launch
)");
}

TEST(Stages, SayWhichGpuTheyNeedAndTheReferenceHasNoNumber) {
  const Stage stages[] = {kSampleTooNew, kSampleReference};
  EXPECT_EQ(format_stages(stages), R"( 13  bulk-copy  run_to_run
       idea:    copies ahead
       removes: loads through registers
       needs:   a GPU of compute capability 9.0 or later
ref  cub        run_to_run
       idea:    of the toolkit
       removes: nothing
       needs:   a GPU of compute capability 5.0 or later
)");
}

TEST(Stages, LongTextsAreIndentedBelowTheirStart) {
  std::string idea;
  for (int i = 0; i < 40; ++i) idea += "word ";
  const Stage stage{.number = 10, .name = "long", .idea = idea, .removes = ""};
  const std::string text = format_stages({&stage, 1});
  expect_well_formed(text);
  const std::vector<std::string> lines = lines_of(text);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_TRUE(lines[1].starts_with("       idea:    word word"));
  EXPECT_TRUE(lines[2].starts_with("                word word"));
}

TEST(Report, LinesAreShortAndEndCleanly) {
  Report every_kind = timed_report();
  every_kind.grid = 1000000;
  every_kind.stages.push_back(skipped_result());
  every_kind.stages.push_back(reference_result());
  for (const unsigned width : {100U, 90U, 80U, 70U, 64U}) {
    const TextStyle style{.width = width};
    expect_well_formed(format_report(timed_report(), style), width);
    expect_well_formed(format_report(every_kind, style), width);
    expect_well_formed(format_report(simulated_report(), style), width);
    expect_well_formed(format_stages(kSampleStages, style), width);
  }
}

}  // namespace
}  // namespace reduce_ladder
