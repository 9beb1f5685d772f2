#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "report.hpp"
#include "sample_report.hpp"

namespace reduce_ladder {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The first line that starts with `start`, or nothing.
std::string line_with(const std::string& text, const std::string& start) {
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with(start)) return line;
  }
  return "";
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

void expect_well_formed(const std::string& text) {
  EXPECT_TRUE(text.ends_with("\n"));
  for (const std::string& line : lines_of(text)) {
    EXPECT_LE(line.size(), 100U) << line;
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
           140.0 GiB memory, 60.0 MiB L2, driver 580.95.05, CUDA runtime 13.0
input      16,777,216 values (64.0 MiB), uniform [0,1), seed 42
block      256 threads
reference  8388245.125 (fp64), A = sum|x| = 8388245.125
copy       4194.3 GB/s read + written (64.0 MiB copied; 1 GB = 1e9 bytes)
           87.4% of the theoretical 4800.0 GB/s

#  stage                ms  iqr %    GB/s  % copy    vs 1   step  rel error  % bound  check
1  modulo          0.20480    1.0   327.7     7.8   1.00x      -   1.49e-08     1.00  PASSED
8  warp-shuffle    0.03200    0.5  2097.2    50.0   6.40x  6.40x   1.49e-08     1.00  PASSED
9  shuffle-atomic  0.02048    1.0  3276.8    78.1  10.00x  1.56x   1.49e-08     1.00  PASSED

ms: median of 50 or more runs from a cold cache; iqr %: their spread; step: vs the row above
% bound: the error as a share of gamma(h) A, the bound of the stage's own tree

Determinism over repeated runs, by bit patterns:
#  stage           class           repeats  distinct        min      max  claim
1  modulo          run_to_run            8         1    8388245  8388245  held
8  warp-shuffle    run_to_run            8         1    8388245  8388245  held
9  shuffle-atomic  not_guaranteed        8         2  8388244.5  8388245  unclaimed

PASSED: 3 of 3 stages within their bounds, no determinism claim refuted
)");
}

TEST(Report, OfTheSimulatorHasNothingThatLooksLikeATime) {
  EXPECT_EQ(format_report(simulated_report()), R"(device     SIMT simulator
           The kernels are executed for their values, not timed.
input      16,777,216 values (64.0 MiB), uniform [0,1), seed 42
block      256 threads
reference  8388245.125 (fp64), A = sum|x| = 8388245.125

#  stage           launches  depth h  rel error  % bound  check
1  modulo                 3       24   1.49e-08     1.00  PASSED
8  warp-shuffle           3       24   1.49e-08     1.00  PASSED
9  shuffle-atomic         3       24   1.49e-08     1.00  PASSED

% bound: the error as a share of gamma(h) A, the bound of the stage's own tree

Determinism over repeated runs, by bit patterns:
#  stage           class           repeats  distinct        min      max  claim
1  modulo          run_to_run            8         1    8388245  8388245  held
8  warp-shuffle    run_to_run            8         1    8388245  8388245  held
9  shuffle-atomic  not_guaranteed        8         2  8388244.5  8388245  unclaimed

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
  report.reference.sum = 0;
  EXPECT_EQ(words_of(line_with(format_report(report), "1  modulo"))[4], "inf");
}

TEST(Report, WithoutRungOneNothingIsComparedWithIt) {
  Report report = timed_report();
  report.stages.erase(report.stages.begin());
  const std::string text = format_report(report);
  EXPECT_EQ(line_with(text, "8  warp"),
            "8  warp-shuffle    0.03200    0.5  2097.2    50.0     -      -   1.49e-08     1.00  "
            "PASSED");
  EXPECT_EQ(line_with(text, "9  shuffle"),
            "9  shuffle-atomic  0.02048    1.0  3276.8    78.1     -  1.56x   1.49e-08     1.00  "
            "PASSED");
}

TEST(Report, AStageWithoutATimeLeavesGapsOnly) {
  Report report = timed_report();
  report.stages[1].time.reset();
  const std::vector<std::string> untimed =
      words_of(line_with(format_report(report), "8  warp-shuffle"));
  EXPECT_EQ(untimed, (std::vector<std::string>{"8", "warp-shuffle", "-", "-", "-", "-", "-", "-",
                                               "1.49e-08", "1.00", "PASSED"}));
  const std::vector<std::string> next = words_of(line_with(format_report(report), "9  shuffle"));
  EXPECT_EQ(next[6], "10.00x");
  EXPECT_EQ(next[7], "-");
}

TEST(Report, TinyInputsStillShowARate) {
  Report report = timed_report();
  report.input.n = 1;
  for (StageResult& result : report.stages) result.time->median = 2.71e-6;
  EXPECT_EQ(words_of(line_with(format_report(report), "1  modulo")),
            (std::vector<std::string>{"1", "modulo", "0.00271", "75.6", "0.0015", "0.000", "1.00x",
                                      "-", "1.49e-08", "1.00", "PASSED"}));
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
  const std::string text = format_report(report);
  expect_well_formed(text);
  EXPECT_NE(text.find("a-s"), std::string::npos);
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
  report.reference.sum = -kNan;
  report.reference.abs_sum = kInf;
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
}

TEST(Stages, AreListedWithWhatTheyAreFor) {
  EXPECT_EQ(format_stages(kSampleStages), R"( 1  modulo          run_to_run
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

TEST(Stages, LongTextsAreIndentedBelowTheirStart) {
  std::string idea;
  for (int i = 0; i < 40; ++i) idea += "word ";
  const Stage stage{.number = 10, .name = "long", .idea = idea, .removes = ""};
  const std::string text = format_stages({&stage, 1});
  expect_well_formed(text);
  const std::vector<std::string> lines = lines_of(text);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_TRUE(lines[1].starts_with("      idea:    word word"));
  EXPECT_TRUE(lines[2].starts_with("               word word"));
}

TEST(Report, LinesAreShortAndEndCleanly) {
  expect_well_formed(format_report(timed_report()));
  expect_well_formed(format_report(simulated_report()));
  expect_well_formed(format_stages(kSampleStages));
}

}  // namespace
}  // namespace reduce_ladder
