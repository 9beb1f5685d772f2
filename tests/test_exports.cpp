#include "exports.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "lines.hpp"
#include "sample_report.hpp"

namespace reduce_ladder {
namespace {

using ::testing::ElementsAre;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// Rows of fields, read as RFC 4180 says.
std::vector<std::vector<std::string>> parse_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row(1);
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && quoted && i + 1 < text.size() && text[i + 1] == '"') {
      row.back() += text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      row.emplace_back();
    } else if (c == '\n' && !quoted) {
      rows.push_back(row);
      row.assign(1, "");
    } else {
      row.back() += c;
    }
  }
  return rows;
}

// The cell of the first stage under `name`.
std::string cell(const Report& report, const std::string& name) {
  const std::vector<std::vector<std::string>> rows = parse_csv(to_csv(report));
  const auto found = std::ranges::find(rows[0], name);
  return found == rows[0].end() ? "no such column"
                                : rows[1][static_cast<std::size_t>(found - rows[0].begin())];
}

constexpr const char* kHeader =
    "date,device,incomplete,driver,runtime,n,bytes,grid,block,cache,stage,name,median_s,min_s,"
    "iqr_s,samples,discarded,stable,bytes_per_s,share_of_copy,share_of_read,copy_bytes_per_s,"
    "read_bytes_per_s,theoretical_bytes_per_s,floor_s,result,reference,reference_as_float,error,"
    "bound,expected_error,accumulation,known_answers,known_answers_wrong,depth,verify,determinism,"
    "repeats,distinct,span_ulps,claim,launches,note";

TEST(Csv, OfAGpu) {
  const std::string run =
      "2025-01-31T12:00:00Z,NVIDIA H200,false,580.95.05,13.0,16777216,67108864,";
  const std::string ceilings = ",4194304000000,4095999999999.9995,4800000000000,2.5e-06,";
  const std::string checks = "8388245,8388245.125,,0.125,12.5,,fp32,25,0,24,passed,";
  EXPECT_THAT(
      lines_of(to_csv(timed_report())),
      ElementsAre(kHeader,
                  run +
                      "4224,256,cold,1,modulo,0.0002048,0.0002,2.048e-06,60,0,true,327680000000,"
                      "0.078125,0.08000000000000002" +
                      ceilings + checks + "run_to_run,8,1,0,held,3,",
                  run +
                      "4224,256,cold,8,warp-shuffle,3.2e-05,3.1e-05,1.6e-07,50,0,true,"
                      "2097152000000,0.5,0.512" +
                      ceilings + checks + "run_to_run,8,1,0,held,3,",
                  run +
                      "4224,256,cold,9,shuffle-atomic,2.048e-05,2e-05,2.048e-07,55,0,true,"
                      "3276800000000,0.78125,0.8" +
                      ceilings + checks + "not_guaranteed,8,2,1,unclaimed,3,"));
}

TEST(Csv, OfTheSimulatorLeavesWhatItCannotMeasureEmpty) {
  const std::string run =
      "2025-01-31T12:00:00Z,SIMT simulator,false,,,16777216,67108864,4224,256,,";
  const std::string checks = ",,,,,,,,,,,,,,8388245,8388245.125,,0.125,12.5,,fp32,25,0,24,passed,";
  EXPECT_THAT(lines_of(to_csv(simulated_report())),
              ElementsAre(kHeader, run + "1,modulo" + checks + "run_to_run,8,1,0,held,3,",
                          run + "8,warp-shuffle" + checks + "run_to_run,8,1,0,held,3,",
                          run + "9,shuffle-atomic" + checks + "not_guaranteed,8,2,1,unclaimed,3,"));
}

TEST(Csv, APointThatDidNotRunSaysOnlyWhatWasAskedForAndWhy) {
  const auto rows = parse_csv(csv_header() + csv_row_without_stage(8, 64, false, "no room, sorry") +
                              csv_row_without_stage(8, std::nullopt, false, ""));
  ASSERT_EQ(rows.size(), 3U);
  for (std::size_t i = 0; i < rows[0].size(); ++i) {
    const std::string& name = rows[0][i];
    const bool asked = name == "n" || name == "bytes" || name == "incomplete";
    EXPECT_EQ(rows[1][i], name == "n"            ? "8"
                          : name == "bytes"      ? "32"
                          : name == "block"      ? "64"
                          : name == "note"       ? "no room, sorry"
                          : name == "incomplete" ? "false"
                                                 : "");
    EXPECT_EQ(rows[2][i], asked ? rows[1][i] : "");
  }
}

TEST(Csv, FieldsAreQuotedOnlyWhereTheyMustBe) {
  Report report = simulated_report();
  report.device.name = R"(a "b", c)";
  report.stages[0].verification = {Verdict::failed, 1, 1, "first\nsecond"};
  report.stages[1].verification = {Verdict::failed, 1, 1, "plain; words"};
  const std::string text = to_csv(report);
  EXPECT_NE(text.find(R"(,"a ""b"", c",)"), std::string::npos);
  EXPECT_NE(text.find(",\"first\nsecond\"\n"), std::string::npos);
  EXPECT_NE(text.find(",plain; words\n"), std::string::npos);
  EXPECT_EQ(cell(report, "device"), R"(a "b", c)");
  EXPECT_EQ(cell(report, "note"), "first\nsecond");
}

TEST(Csv, EveryRowHasAFieldForEveryColumn) {
  for (const Report& report : {timed_report(), simulated_report()}) {
    const std::vector<std::vector<std::string>> rows = parse_csv(to_csv(report));
    ASSERT_EQ(rows.size(), 4U);
    for (const std::vector<std::string>& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  }
}

TEST(Csv, NumbersThatAreNoneAreWords) {
  Report report = timed_report();
  report.reference->sum = -kNan;
  report.stages[0].result = -std::numeric_limits<float>::infinity();
  report.stages[0].verification.error = kInf;
  EXPECT_EQ(cell(report, "reference"), "nan");
  EXPECT_EQ(cell(report, "result"), "-inf");
  EXPECT_EQ(cell(report, "error"), "inf");
}

TEST(Csv, SaysWhatIsNotAsItShouldBe) {
  Report report = timed_report();
  report.cache = CacheMode::warm;
  report.incomplete = true;
  report.stages[0].time->stable = false;
  report.stages[0].time->discarded = 7;
  report.stages[0].verification = {Verdict::failed, 13, 12.5, "off by 13"};
  report.stages[0].probe.outcome = Probe::Outcome::refuted;
  EXPECT_EQ(cell(report, "cache"), "warm");
  EXPECT_EQ(cell(report, "incomplete"), "true");
  EXPECT_EQ(cell(report, "stable"), "false");
  EXPECT_EQ(cell(report, "discarded"), "7");
  EXPECT_EQ(cell(report, "verify"), "failed");
  EXPECT_EQ(cell(report, "claim"), "refuted");
}

TEST(Csv, AStageThatCannotRunLeavesItsNumbersEmpty) {
  Report report = simulated_report();
  report.stages = {skipped_result()};
  EXPECT_EQ(
      lines_of(to_csv(report)).back(),
      "2025-01-31T12:00:00Z,SIMT simulator,false,,,16777216,67108864,,256,,13,bulk-copy,,,,,,,,,"
      ",,,,,,8388245.125,,,,,fp32,,,,skipped,run_to_run,,,,untested,,needs another GPU");
}

TEST(Csv, TheReferenceHasNoNumberAndItsLaunchesAreNotKnown) {
  Report report = timed_report();
  report.stages = {reference_result()};
  EXPECT_EQ(cell(report, "stage"), "ref");
  EXPECT_EQ(cell(report, "name"), "cub");
  EXPECT_EQ(cell(report, "median_s"), "4.096e-05");
  EXPECT_EQ(cell(report, "result"), "8388245");
  for (const char* name : {"launches", "grid"}) EXPECT_EQ(cell(report, name), "") << name;
  EXPECT_EQ(cell(report, "block"), "256") << "what was asked for";
  report.block.reset();
  EXPECT_EQ(cell(report, "block"), "");
}

TEST(Csv, TheShapeIsTheStagesOwnAndNotTheOneAskedFor) {
  Report report = timed_report();
  report.grid = 7;
  report.stages[0].grid = 132;
  report.stages[0].block = 1024;
  EXPECT_EQ(cell(report, "grid"), "132");
  EXPECT_EQ(cell(report, "block"), "1024");
}

TEST(Csv, WithoutCeilingsThereAreNoShares) {
  Report report = timed_report();
  report.copy.reset();
  report.read.reset();
  report.floor.reset();
  EXPECT_EQ(cell(report, "share_of_copy"), "");
  EXPECT_EQ(cell(report, "share_of_read"), "");
  EXPECT_EQ(cell(report, "floor_s"), "");
  EXPECT_EQ(cell(report, "copy_bytes_per_s"), "");
  EXPECT_EQ(cell(report, "read_bytes_per_s"), "");
  EXPECT_EQ(cell(report, "median_s"), "0.0002048");
}

TEST(Csv, WithoutStagesThereIsAHeaderAlone) {
  Report report = simulated_report();
  report.stages.clear();
  EXPECT_EQ(parse_csv(to_csv(report)).size(), 1U);
}

TEST(Markdown, OfAGpu) {
  EXPECT_EQ(to_markdown(timed_report()),
            "### NVIDIA H200, driver 580.95.05, CUDA runtime 13.0,"
            " 2025-01-31T12:00:00Z: n = 16777216, block 256, cold cache\n"
            "\n"
            "Input: uniform \\[0,1), seed 42; sum 8388245.125, condition number 1.\n"
            "\n"
            "Measured in the same run: copy 4194.3 GB/s read + written, read 4096.0 GB/s,"
            " empty launch 2.50 us.\n"
            "\n"
            "| \\# | stage | ms | iqr % | GB/s | % copy | % read | vs 1 | step | rel error |"
            " % bound | check |\n"
            "| --: | :-- | --: | --: | --: | --: | --: | --: | --: | --: | --: | :-- |\n"
            "| 1 | modulo | 0.20480 | 1.0 | 327.7 | 7.8 | 8.0 | 1.00x | - | 1.49e-08 | 1.00 |"
            " PASSED |\n"
            "| 8 | warp-shuffle | 0.03200 | 0.5 | 2097.2 | 50.0 | 51.2 | 6.40x | 6.40x |"
            " 1.49e-08 | 1.00 | PASSED |\n"
            "| 9 | shuffle-atomic | 0.02048 | 1.0 | 3276.8 | 78.1 | 80.0 | 10.00x | 1.56x |"
            " 1.49e-08 | 1.00 | PASSED |\n"
            "\n"
            "PASSED: 3 of 3 stages within their bounds, no determinism claim refuted\n");
}

TEST(Markdown, OfTheSimulator) {
  EXPECT_EQ(to_markdown(simulated_report()),
            "### SIMT simulator, 2025-01-31T12:00:00Z: n = 16777216, block 256\n"
            "\n"
            "Input: uniform \\[0,1), seed 42; sum 8388245.125, condition number 1.\n"
            "\n"
            "| \\# | stage | launches | depth h | rel error | % bound | check |\n"
            "| --: | :-- | --: | --: | --: | --: | :-- |\n"
            "| 1 | modulo | 3 | 24 | 1.49e-08 | 1.00 | PASSED |\n"
            "| 8 | warp-shuffle | 3 | 24 | 1.49e-08 | 1.00 | PASSED |\n"
            "| 9 | shuffle-atomic | 3 | 24 | 1.49e-08 | 1.00 | PASSED |\n"
            "\n"
            "PASSED: 3 of 3 stages within their bounds, no determinism claim refuted\n");
}

TEST(Markdown, AStageThatCannotRunAndTheReferenceAreRowsOfTheirOwn) {
  Report report = timed_report();
  report.stages.push_back(skipped_result());
  report.stages.push_back(reference_result());
  const std::string text = to_markdown(report);
  EXPECT_EQ(line_with(text, "| 13 "),
            "| 13 | bulk-copy | - | - | - | - | - | - | - | - | - | SKIPPED |");
  EXPECT_EQ(line_with(text, "| ref "),
            "| ref | cub | 0.04096 | 1.0 | 1638.4 | 39.1 | 40.0 | 5.00x | - | 1.49e-08 | 1.00 |"
            " PASSED |");
  EXPECT_EQ(lines_of(text).back(),
            "PASSED: 4 of 5 stages within their bounds, 1 skipped, no determinism claim refuted");
}

TEST(Markdown, NamesTheShapeOnlyWhereItWasAskedFor) {
  Report report = simulated_report();
  report.block.reset();
  EXPECT_TRUE(line_with(to_markdown(report), "### ").ends_with(": n = 16777216"));
  report.grid = 7;
  EXPECT_TRUE(line_with(to_markdown(report), "### ").ends_with(": n = 16777216, grid 7"));
}

TEST(Markdown, TheInputIsNamedWithItsAlignmentAndCondition) {
  Report report = simulated_report();
  report.input.misalignment = 2;
  report.reference->sum = 0;
  EXPECT_EQ(line_with(to_markdown(report), "Input: "),
            "Input: uniform \\[0,1), seed 42, 2 values past a 16-byte border; sum 0, condition "
            "number inf.");
  report.input = {.n = 5, .source = "a_b.npy", .seed = {}};
  report.reference->sum = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(line_with(to_markdown(report), "Input: "), "Input: a\\_b.npy; sum nan.");
}

TEST(Markdown, AReferenceThatWasNotComputedIsLeftOut) {
  Report report = simulated_report();
  report.stages.clear();
  report.reference.reset();
  EXPECT_EQ(line_with(to_markdown(report), "Input: "), "Input: uniform \\[0,1), seed 42.");
}

TEST(Markdown, TextFromOutsideIsNoMarkup) {
  Report report = simulated_report();
  report.device.name = "a|b *c* <d>\n# e";
  EXPECT_EQ(line_with(to_markdown(report), "### "),
            R"(### a\|b \*c\* \<d\>\\n\# e, 2025-01-31T12:00:00Z: n = 16777216, block 256)");
}

TEST(Markdown, AMedianThatWasNotStableIsMarkedAndExplained) {
  const std::string explanation = "\\~ sampling ended";
  EXPECT_EQ(line_with(to_markdown(timed_report()), explanation), "");
  Report report = timed_report();
  report.stages[1].time->stable = false;
  const std::string text = to_markdown(report);
  EXPECT_NE(text.find(R"(| warp-shuffle | 0.03200 | 0.5\~ |)"), std::string::npos) << text;
  EXPECT_NE(text.find("| modulo | 0.20480 | 1.0 |"), std::string::npos) << text;
  EXPECT_EQ(line_with(text, explanation),
            "\\~ sampling ended at its time-out, before the median was stable");
}

TEST(Markdown, AWarmCacheAndAnInterruptionAreNamed) {
  Report report = timed_report();
  report.cache = CacheMode::warm;
  report.incomplete = true;
  const std::string text = to_markdown(report);
  EXPECT_TRUE(line_with(text, "### ").ends_with("block 256, warm cache"));
  EXPECT_EQ(line_with(text, "INCOMPLETE"),
            "INCOMPLETE: 3 of 3 stages so far within their bounds, no determinism claim refuted");
}

}  // namespace
}  // namespace reduce_ladder
