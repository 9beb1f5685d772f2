#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "compare.hpp"
#include "reduce_ladder/errors.hpp"
#include "report.hpp"
#include "sample_report.hpp"

namespace reduce_ladder {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A stage of 100 samples whose median has the noise 0.157 iqr / median.
json stage(int number, const std::string& name, double median, double iqr) {
  return {{"number", number},
          {"name", name},
          {"time_s", {{"median", median}, {"min", median}, {"iqr", iqr}, {"samples", 100}}}};
}

// Two stages, 0.2 ms and 0.02 ms, without spread.
json document() {
  return {
      {"schema", "reduce-ladder/1"},
      {"date", "2025-01-31T12:00:00Z"},
      {"device", {{"kind", "cuda"}, {"name", "NVIDIA H200"}}},
      {"block", 256},
      {"cache", "cold"},
      {"input", {{"n", 16777216}, {"bytes", 67108864}, {"source", "uniform [0,1)"}, {"seed", 42}}},
      {"stages", {stage(1, "modulo", 200e-6, 0), stage(2, "strided", 20e-6, 0)}},
      {"verdict", "passed"}};
}

// The document with one field, named by a JSON pointer, replaced.
json with(const std::string& path, const json& value) {
  json changed = document();
  changed[json::json_pointer(path)] = value;
  return changed;
}

json without(const std::string& path) {
  const json::json_pointer pointer(path);
  json changed = document();
  changed[pointer.parent_pointer()].erase(pointer.back());
  return changed;
}

Record record(const json& report, const std::string& path = "x.json") {
  return parse_record(path, report.dump());
}

Comparison compare(const json& base, const json& next, const CompareOptions& options = {}) {
  return compare_records(record(base, "base.json"), record(next, "new.json"), options);
}

// What became of the stage "strided" from one time to the other.
StageComparison compare_times(double base, double base_iqr, double next, double next_iqr,
                              double fail_slower = 0.05) {
  CompareOptions options;
  options.fail_slower = fail_slower;
  return compare(with("/stages/1", stage(2, "strided", base, base_iqr)),
                 with("/stages/1", stage(2, "strided", next, next_iqr)), options)
      .stages.at(1);
}

Change change(double base, double base_iqr, double next, double next_iqr,
              double fail_slower = 0.05) {
  return compare_times(base, base_iqr, next, next_iqr, fail_slower).change;
}

// The message of the error that `call` throws; empty where it throws none.
template <typename Error, typename Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string refused_text(const std::string& text) {
  return refusal<InputError>([&] { parse_record("x.json", text); });
}

std::string refused_record(const json& report) {
  return refused_text(report.dump());
}

std::string refused_pair(const json& base, const json& next) {
  return refusal<UsageError>([&] { compare(base, next); });
}

ParsedCompareOptions parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "compare");
  return parse_compare_options(static_cast<int>(arguments.size()), arguments.data());
}

std::string refused_options(const std::vector<const char*>& arguments) {
  return refusal<UsageError>([&] { parse(arguments); });
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

void expect_well_formed(const std::string& text) {
  EXPECT_TRUE(text.ends_with("\n"));
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    EXPECT_LE(line.size(), 100U) << line;
    EXPECT_FALSE(line.ends_with(" ")) << line;
  }
}

// --- Options ---

TEST(CompareOptions, DefaultsToFivePercentAndLikeWithLike) {
  const auto [options, text] = parse({"a.json", "b.json"});
  EXPECT_FALSE(text.has_value());
  EXPECT_EQ(options.base, "a.json");
  EXPECT_EQ(options.next, "b.json");
  EXPECT_EQ(options.fail_slower, 0.05);
  EXPECT_FALSE(options.any);
}

TEST(CompareOptions, TakesOptionsBeforeBetweenAndAfterThePaths) {
  for (const std::vector<const char*>& arguments :
       {std::vector<const char*>{"--any", "--fail-slower", "2.5%", "a", "b"},
        {"a", "--fail-slower=2.5%", "b", "--any"},
        {"a", "b", "--any", "--fail-slower", "2.5%"}}) {
    const CompareOptions options = parse(arguments).options;
    EXPECT_EQ(options.base, "a");
    EXPECT_EQ(options.next, "b");
    EXPECT_EQ(options.fail_slower, 0.025);
    EXPECT_TRUE(options.any);
  }
}

TEST(CompareOptions, TakesBothEndsOfTheAllowedPercentages) {
  EXPECT_EQ(parse({"a", "b", "--fail-slower", "0%"}).options.fail_slower, 0);
  EXPECT_EQ(parse({"a", "b", "--fail-slower", "1000%"}).options.fail_slower, 10);
}

TEST(CompareOptions, RefusesWhatIsNoPercentage) {
  for (const char* value :
       {"5", "0.05", "%", "5%%", "5 %", "-1%", "1000.1%", "nan%", "inf%", "x"}) {
    EXPECT_EQ(refused_options({"a", "b", "--fail-slower", value}),
              "--fail-slower " + std::string(value) +
                  ": must be a percentage from 0% to 1000%, such as 5%");
  }
  expect_contains(refused_options({"a", "b", "--fail-slower"}), "PERCENT");
}

TEST(CompareOptions, RefusesTooFewOrTooManyPathsAndUnknownOptions) {
  expect_contains(refused_options({}), "BASE");
  expect_contains(refused_options({"a"}), "NEW");
  expect_contains(refused_options({"a", ""}), "empty path");
  expect_contains(refused_options({"a", "b", "c"}), "'c': compare takes two reports");
  expect_contains(refused_options({"a", "b", "--all"}), "'--all': compare takes");
  expect_contains(refused_options({"a", "b", "--any=no"}), "any");
  expect_contains(refused_options({"a", "b", "--fail-slower", "1%", "--fail-slower", "2%"}),
                  "--fail-slower");
}

TEST(CompareOptions, HelpNamesOptionsAndExitStatusesWhateverElseIsMissing) {
  const std::string help = parse({"--help"}).text.value_or("");
  for (const char* part : {"BASE", "NEW", "--fail-slower", "--any", "  5  "}) {
    expect_contains(help, part);
  }
  EXPECT_EQ(parse({"a", "-h"}).text, help);
}

// --- Reading ---

TEST(CompareReading, TakesWhatTheProgramWrites) {
  const Record timed = parse_record("x.json", to_json(timed_report()));
  EXPECT_EQ(timed.device_kind, "cuda");
  EXPECT_EQ(timed.device_name, "NVIDIA H200");
  EXPECT_EQ(timed.n, Index{1} << 24);
  EXPECT_EQ(timed.source, "uniform [0,1)");
  EXPECT_EQ(timed.block, 256U);
  EXPECT_EQ(timed.cache, "cold");
  EXPECT_FALSE(timed.failed || timed.incomplete);
  ASSERT_EQ(timed.stages.size(), 3U);
  EXPECT_EQ(timed.stages[2].number, 9U);
  EXPECT_EQ(timed.stages[2].name, "shuffle-atomic");
  ASSERT_TRUE(timed.stages[2].time.has_value());
  EXPECT_EQ(timed.stages[2].time->median, 20.48e-6);
  EXPECT_EQ(timed.stages[2].time->iqr, 0.2048e-6);
  EXPECT_EQ(timed.stages[2].time->samples, 55U);

  const Record simulated = parse_record("x.json", to_json(simulated_report()));
  EXPECT_EQ(simulated.device_kind, "sim");
  EXPECT_FALSE(simulated.stages.at(0).time.has_value());
}

TEST(CompareReading, TakesOlderReportsWithoutACacheForCold) {
  EXPECT_EQ(record(without("/cache")).cache, "cold");
  EXPECT_EQ(record(with("/cache", "warm")).cache, "warm");
}

TEST(CompareReading, TakesTheReferenceWhichHasNoNumber) {
  Report report = timed_report();
  report.stages.push_back(skipped_result());
  report.stages.push_back(reference_result());
  const Record record = parse_record("x.json", to_json(report));
  ASSERT_EQ(record.stages.size(), 5U);
  EXPECT_EQ(record.stages[3].number, 13U);
  EXPECT_FALSE(record.stages[3].time);
  EXPECT_EQ(record.stages[4].number, std::nullopt);
  EXPECT_EQ(record.stages[4].name, "cub");
  EXPECT_TRUE(record.stages[4].time);
}

TEST(CompareReading, TakesAShapeThatWasNotAskedForAndOlderReportsWithoutAGrid) {
  EXPECT_EQ(record(with("/block", nullptr)).block, std::nullopt);
  EXPECT_EQ(record(document()).grid, std::nullopt);
  EXPECT_EQ(record(with("/grid", nullptr)).grid, std::nullopt);
  EXPECT_EQ(record(with("/grid", 7)).grid, 7U);
  EXPECT_EQ(refused_record(with("/grid", "7")),
            "x.json: its field /grid must be a whole number from 0 to 2^64 - 1");
}

TEST(CompareReading, TakesReportsThatSayThatTheyAreIncompleteOrFailed) {
  EXPECT_TRUE(record(with("/incomplete", true)).incomplete);
  EXPECT_FALSE(record(with("/incomplete", false)).incomplete);
  EXPECT_TRUE(record(with("/verdict", "failed")).failed);
}

TEST(CompareReading, TakesAnyFileOfValuesForTheSameKindOfInput) {
  json here = with("/input/seed", nullptr);
  json there = here;
  here["/input/source"_json_pointer] = "here/weights.npy";
  there["/input/source"_json_pointer] = "there/weights.npy";
  EXPECT_EQ(record(here).source, record(there).source);
}

TEST(CompareReading, RefusesAReportCutOffAnywhere) {
  const std::string whole = document().dump();
  EXPECT_EQ(refused_text(""), "x.json: is empty");
  for (std::size_t bytes = 1; bytes < whole.size(); ++bytes) {
    EXPECT_EQ(refused_text(whole.substr(0, bytes)),
              "x.json: is no JSON: it is cut off after " + std::to_string(bytes) + " bytes");
  }
}

TEST(CompareReading, RefusesWhatIsNoJson) {
  EXPECT_EQ(refused_text("# title"), "x.json: is no JSON: byte 1 is not as it should be");
  EXPECT_EQ(refused_text("{\"a\": 1} {}"), "x.json: is no JSON: byte 10 is not as it should be");
  EXPECT_EQ(refused_text("[1e999]"), "x.json: holds a number beyond the range of a double");
  expect_contains(refused_text("[\"\xff\"]"), "is no JSON");
  expect_contains(refused_text(std::string(100000, '[')), "cut off");
}

TEST(CompareReading, RefusesJsonThatIsNoReport) {
  for (const char* text : {"{}", "[]", "1", "null", "\"schema\""}) {
    EXPECT_EQ(refused_text(text), "x.json: is no report of reduce-ladder: it has no schema");
  }
  EXPECT_EQ(refused_record(with("/schema", "reduce-ladder/2")),
            "x.json: its schema is 'reduce-ladder/2'; only 'reduce-ladder/1' is allowed");
  EXPECT_EQ(refused_record(with("/schema", 1)), "x.json: its field /schema must be a text");
}

TEST(CompareReading, RefusesEveryMissingField) {
  for (const char* path :
       {"/date", "/device", "/device/kind", "/device/name", "/block", "/input/n", "/input/bytes",
        "/input/source", "/input/seed", "/stages", "/stages/1/number", "/stages/0/name",
        "/stages/1/time_s", "/stages/1/time_s/median", "/stages/1/time_s/iqr",
        "/stages/1/time_s/samples", "/verdict"}) {
    const std::string text = refused_record(without(path));
    expect_contains(text, "x.json: has no field " + std::string(path));
  }
}

TEST(CompareReading, RefusesFieldsOfAnotherTypeOrRange) {
  EXPECT_EQ(refused_record(with("/input/n", -1)),
            "x.json: its field /input/n must be a whole number from 0 to 2^64 - 1");
  EXPECT_EQ(refused_record(with("/cache", "tepid")),
            R"(x.json: its field /cache must be "cold" or "warm")");
  EXPECT_EQ(refused_record(with("/device/kind", "tpu")),
            R"(x.json: its field /device/kind must be "cuda" or "sim")");
  EXPECT_EQ(refused_record(with("/incomplete", 1)),
            "x.json: its field /incomplete must be true or false");
  EXPECT_EQ(refused_record(with("/stages", 1)), "x.json: its field /stages must be an array");
  EXPECT_EQ(refused_record(with("/stages/0/number", 10000)),
            "x.json: its field /stages/0/number must be at most 9999");
  EXPECT_EQ(refused_record(with("/stages/1/name", "modulo")), "x.json: has two stages 'modulo'");
}

TEST(CompareReading, RefusesTimesThatAreNoTimes) {
  for (const json& value : {json("nan"), json("inf"), json(-1e-6), json(nullptr)}) {
    EXPECT_EQ(
        refused_record(with("/stages/0/time_s/median", value)),
        "x.json: its field /stages/0/time_s/median must be a number of seconds, not negative");
    EXPECT_EQ(refused_record(with("/stages/0/time_s/iqr", value)),
              "x.json: its field /stages/0/time_s/iqr must be a number of seconds, not negative");
  }
  EXPECT_EQ(refused_record(with("/stages/0/time_s/median", 0)),
            "x.json: its field /stages/0/time_s/median must be more than 0 seconds");
  EXPECT_EQ(refused_record(with("/stages/0/time_s/samples", 0)),
            "x.json: its field /stages/0/time_s/samples must be at least 1");
}

TEST(CompareReading, KeepsMessagesOnOneLineWhateverTheFileSays) {
  const std::string text =
      refusal<InputError>([] { parse_record("a\nb", R"({"schema": "c\nd\u001b[31m"})"); });
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  expect_contains(text, R"(a\nb: its schema is 'c\nd)");
}

TEST(CompareReading, RefusesFilesThatAreMissingOrNotRegularOrTooLong) {
  const fs::path directory =
      fs::path(testing::TempDir()) / ("reduce-ladder-compare-" + std::to_string(getpid()));
  fs::create_directories(directory);
  const auto refused = [&](const fs::path& path) {
    const std::string text = refusal<InputError>([&] { read_record(path.string()); });
    EXPECT_TRUE(text.starts_with(path.string() + ": ")) << text;
    return text.substr(std::min(text.size(), path.string().size() + 2));
  };
  EXPECT_EQ(refused(directory / "none.json"), "there is no such file");
  EXPECT_EQ(refused(directory), "is a directory, not a file");
  EXPECT_EQ(refused("/dev/null"), "is not a regular file");
  ASSERT_EQ(mkfifo((directory / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(refused(directory / "pipe"), "is not a regular file") << "it would wait for a writer";

  std::ofstream(directory / "empty.json").close();
  EXPECT_EQ(refused(directory / "empty.json"), "is empty");
  std::ofstream(directory / "long.json").close();
  fs::resize_file(directory / "long.json", std::uintmax_t{1} << 40U);
  expect_contains(refused(directory / "long.json"), "a report has 1048576 at most");

  std::ofstream(directory / "good.json") << document().dump();
  const Record good = read_record((directory / "good.json").string());
  EXPECT_EQ(good.path, (directory / "good.json").string());
  EXPECT_EQ(good.stages.size(), 2U);
  fs::remove_all(directory);
}

// --- Judging ---

TEST(Compare, FindsNothingBetweenAReportAndItself) {
  const Comparison comparison = compare(document(), document());
  ASSERT_EQ(comparison.stages.size(), 2U);
  for (const StageComparison& same : comparison.stages) {
    EXPECT_EQ(same.change, Change::same);
    EXPECT_EQ(same.time_ratio, 1);
    EXPECT_EQ(same.bandwidth_ratio, 1);
    EXPECT_EQ(same.noise, 0);
  }
  EXPECT_FALSE(slower(comparison));
}

TEST(Compare, FindsASlowdownAndASpeedup) {
  const StageComparison slowdown = compare_times(20e-6, 0, 25e-6, 0);
  EXPECT_EQ(slowdown.change, Change::slower);
  EXPECT_DOUBLE_EQ(slowdown.time_ratio, 1.25);
  EXPECT_DOUBLE_EQ(slowdown.bandwidth_ratio, 0.8);
  EXPECT_EQ(change(25e-6, 0, 20e-6, 0), Change::faster);
}

TEST(Compare, FailsForASlowdownAlone) {
  const json changed = with("/stages/1", stage(2, "strided", 25e-6, 0));
  EXPECT_TRUE(slower(compare(document(), changed)));
  EXPECT_FALSE(slower(compare(changed, document())));
}

TEST(Compare, TakesTheThresholdItselfForTheSame) {
  EXPECT_EQ(change(20e-6, 0, 20.99e-6, 0), Change::same);
  EXPECT_EQ(change(20e-6, 0, 21.01e-6, 0), Change::slower);
  EXPECT_EQ(change(20.99e-6, 0, 20e-6, 0), Change::same);
  EXPECT_EQ(change(21.01e-6, 0, 20e-6, 0), Change::faster);
  EXPECT_EQ(change(1, 0, 1.25, 0, 0.25), Change::same);
  EXPECT_EQ(change(1.25, 0, 1, 0, 0.25), Change::same);
}

TEST(Compare, HoldsTheThresholdThatWasAskedFor) {
  EXPECT_EQ(change(20e-6, 0, 20.5e-6, 0, 0.02), Change::slower);
  EXPECT_EQ(change(20e-6, 0, 25e-6, 0, 0.3), Change::same);
  EXPECT_EQ(change(20e-6, 0, 20e-6, 0, 0), Change::same);
  EXPECT_EQ(change(20e-6, 0, 20.001e-6, 0, 0), Change::slower);
}

TEST(Compare, CombinesTheNoiseOfBothMediansInQuadrature) {
  // 0.157 iqr / median: 3% and 4%.
  const double noise = compare_times(1, 0.03 / 0.157, 2, 2 * 0.04 / 0.157).noise;
  EXPECT_NEAR(noise, 0.05, 1e-12);
}

TEST(Compare, BlamesNoStageForItsNoiseInEitherReport) {
  const double wide = 10e-6;  // 7.85% of 20 us
  EXPECT_EQ(change(20e-6, wide, 21.5e-6, 0), Change::same) << "7.5% slower";
  EXPECT_EQ(change(20e-6, 0, 21.5e-6, 1.1 * wide), Change::same);
  EXPECT_EQ(change(21.5e-6, 1.1 * wide, 20e-6, 0), Change::same);
  EXPECT_EQ(change(20e-6, wide, 21.6e-6, 0), Change::slower) << "8% slower";
}

TEST(Compare, LetsNoNoiseExcuseWhatExceedsIt) {
  EXPECT_EQ(change(20e-6, 10e-6, 40e-6, 10e-6), Change::slower);
  EXPECT_EQ(change(40e-6, 10e-6, 20e-6, 10e-6), Change::faster);
}

TEST(Compare, MatchesStagesByNameNotByPlace) {
  json swapped = document();
  std::swap(swapped["stages"][0], swapped["stages"][1]);
  swapped["stages"][0]["number"] = 7;
  const Comparison comparison = compare(document(), swapped);
  ASSERT_EQ(comparison.stages.size(), 2U);
  EXPECT_EQ(comparison.stages[0].change, Change::same);
  EXPECT_EQ(comparison.stages[1].change, Change::same);
}

TEST(Compare, ListsStagesOfOneReportAloneAndFailsForNone) {
  json next = with("/stages/0", stage(3, "sequential", 1, 0));
  const Comparison comparison = compare(document(), next);
  ASSERT_EQ(comparison.stages.size(), 3U);
  EXPECT_EQ(comparison.stages[0].change, Change::base_only);
  EXPECT_EQ(comparison.stages[0].base, 200e-6);
  EXPECT_EQ(comparison.stages[0].next, std::nullopt);
  EXPECT_EQ(comparison.stages[1].change, Change::same);
  EXPECT_EQ(comparison.stages[2].name, "sequential");
  EXPECT_EQ(comparison.stages[2].change, Change::new_only);
  EXPECT_EQ(comparison.stages[2].base, std::nullopt);
  EXPECT_EQ(comparison.stages[2].next, 1);
  EXPECT_FALSE(slower(comparison));
}

TEST(Compare, JudgesNoStageThatOneReportDidNotTime) {
  const Comparison comparison = compare(document(), with("/stages/0/time_s", nullptr));
  EXPECT_EQ(comparison.stages.at(0).change, Change::untimed);
  EXPECT_EQ(comparison.stages.at(1).change, Change::same);
}

TEST(Compare, RefusesReportsThatShareNoTime) {
  const std::string simulated = to_json(simulated_report());
  const std::string timed = to_json(timed_report());
  for (const auto& [base, next] :
       {std::pair(simulated, simulated), {simulated, timed}, {timed, simulated}}) {
    for (const bool any : {false, true}) {
      CompareOptions options;
      options.any = any;
      const std::string text = refusal<InputError>([&, &b = base, &n = next] {
        compare_records(parse_record("a", b), parse_record("b", n), options);
      });
      expect_contains(text, "a and b: no stage has a time in both");
    }
  }
  expect_contains(refusal<InputError>([] { compare(document(), with("/stages", json::array())); }),
                  "no stage has a time in both");
}

TEST(Compare, RefusesReportsOfDifferentDevicesOrProblems) {
  const auto differs = [](const std::string& what) {
    return "base.json and new.json differ in " + what + "; --any compares them all the same";
  };
  EXPECT_EQ(refused_pair(document(), with("/device/name", "NVIDIA A100")),
            differs("device (cuda NVIDIA H200, cuda NVIDIA A100)"));
  EXPECT_EQ(refused_pair(document(), with("/device/kind", "sim")),
            differs("device (cuda NVIDIA H200, sim NVIDIA H200)"));
  EXPECT_EQ(refused_pair(document(), with("/input/n", 5)), differs("n (16777216, 5)"));
  EXPECT_EQ(refused_pair(document(), with("/input/seed", nullptr)),
            differs("input (uniform [0,1), a file)"));
  EXPECT_EQ(refused_pair(document(), with("/input/source", "ones")),
            differs("input (uniform [0,1), ones)"));
  EXPECT_EQ(refused_pair(with("/block", 512), document()), differs("block (512, 256)"));
  EXPECT_EQ(refused_pair(document(), with("/block", nullptr)),
            differs("block (256, each stage's own)"));
  EXPECT_EQ(refused_pair(document(), with("/grid", 7)), differs("grid (each stage's own, 7)"));
  EXPECT_EQ(refused_pair(document(), with("/grid", nullptr)), "");
  EXPECT_EQ(refused_pair(document(), with("/cache", "warm")), differs("cache (cold, warm)"));
  EXPECT_EQ(refused_pair(document(), with("/input/misalignment", 3)),
            differs("misalignment (0, 3)"));
}

TEST(Compare, NamesEveryDifferenceOnOneLine) {
  json next = with("/cache", "warm");
  next["block"] = 128;
  next["device"]["name"] = "a\nb";
  const std::string text = refused_pair(document(), next);
  expect_contains(text, R"(device (cuda NVIDIA H200, cuda a\nb), block (256, 128), cache )");
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

TEST(Compare, AcceptsAnotherSeedDateOrVerdict) {
  json next = with("/input/seed", 43);
  next["date"] = "2026-01-31T12:00:00Z";
  next["verdict"] = "failed";
  EXPECT_EQ(refused_pair(document(), next), "");
}

TEST(Compare, AnyComparesWhatDiffersAndScalesTheBandwidth) {
  json next = with("/input/n", 33554432);
  next["input"]["bytes"] = 134217728;
  CompareOptions options;
  options.any = true;
  const Comparison comparison = compare(document(), next, options);
  EXPECT_EQ(comparison.differences, std::vector<std::string>{"n"});
  EXPECT_EQ(comparison.stages.at(0).time_ratio, 1);
  EXPECT_EQ(comparison.stages.at(0).bandwidth_ratio, 2);
}

TEST(Compare, ShowsARatioOfBandwidthsThatAreNone) {
  json empty = with("/input/n", 0);
  empty["input"]["bytes"] = 0;
  EXPECT_EQ(compare(empty, empty).stages.at(0).bandwidth_ratio, 1);
  CompareOptions options;
  options.any = true;
  const std::string text = format_comparison(compare(empty, document(), options));
  expect_contains(text, "1.000x     -     0.00  same");
}

// --- Text ---

TEST(CompareText, OfASlowdown) {
  json next = document();
  next["date"] = "2025-02-01T08:30:00Z";
  next["stages"] = {stage(1, "modulo", 100e-6, 10e-6), stage(2, "strided", 25e-6, 1e-6),
                    stage(3, "sequential", 15e-6, 0)};
  EXPECT_EQ(format_comparison(compare(document(), next)),
            R"(base       base.json
           NVIDIA H200, 2025-01-31T12:00:00Z, n = 16,777,216, uniform [0,1), cold cache, block 256
new        new.json
           NVIDIA H200, 2025-02-01T08:30:00Z, n = 16,777,216, uniform [0,1), cold cache, block 256

#  stage       base ms   new ms    time    GB/s  noise %  result
1  modulo      0.20000  0.10000  0.500x  2.000x     1.57  faster
2  strided     0.02000  0.02500  1.250x  0.800x     0.63  slower
3  sequential        -  0.01500       -       -        -  new only

time, GB/s: new / base; noise %: of time, 95%, from the spread of the samples alone

SLOWER: 1 of 2 stages by more than 5% and its noise: strided
)");
}

TEST(CompareText, NamesTheReferenceAndTheShapeThatWasAskedFor) {
  json reference = stage(1, "cub", 20e-6, 0);
  reference["number"] = nullptr;
  json report = with("/stages/1", reference);
  report["block"] = nullptr;
  report["grid"] = 7;
  const std::string text = format_comparison(compare(report, report));
  expect_contains(text, "uniform [0,1), cold cache, grid 7\n");
  expect_contains(text, "\nref  cub     0.02000  0.02000  1.000x  1.000x     0.00  same\n");
  report["block"] = 128;
  expect_contains(format_comparison(compare(report, report)),
                  "cold cache, block 128,\n           grid 7\n");
}

TEST(CompareText, OfDifferentReportsWithoutASlowdown) {
  json base = with("/stages/0/time_s", nullptr);
  json next = document();
  next["stages"].erase(1);
  next["stages"].push_back(stage(2, "strided", 10e-6, 0));
  next["device"]["name"] = "NVIDIA A100";
  next["cache"] = "warm";
  next["verdict"] = "failed";
  next["incomplete"] = true;
  CompareOptions options;
  options.any = true;
  options.fail_slower = 0.025;
  EXPECT_EQ(format_comparison(compare(base, next, options)),
            R"(base       base.json
           NVIDIA H200, 2025-01-31T12:00:00Z, n = 16,777,216, uniform [0,1), cold cache, block 256
new        new.json
           NVIDIA A100, 2025-01-31T12:00:00Z, n = 16,777,216, uniform [0,1), warm cache, block 256,
           checks FAILED, incomplete
different  device, cache

#  stage    base ms   new ms    time    GB/s  noise %  result
1  modulo         -  0.20000       -       -        -  untimed
2  strided  0.02000  0.01000  0.500x  2.000x     0.00  faster

time, GB/s: new / base; noise %: of time, 95%, from the spread of the samples alone

NOT SLOWER: none of 1 stage by more than 2.5% and its noise, 1 faster; 1 not compared
)");
}

TEST(CompareText, StaysWithinItsWidthWhateverTheReportsSay) {
  const std::string endless(300, 'x');
  json base = document();
  base["device"]["name"] = base["date"] = base["input"]["source"] = endless;
  base["block"] = base["input"]["n"] = base["input"]["bytes"] = ~std::uint64_t{0};
  base["incomplete"] = true;
  base["verdict"] = "failed";
  base["stages"] = json::array();
  for (int i = 0; i < 40; ++i) {
    const std::string name = std::to_string(i) + endless;
    base["stages"].push_back(stage(9999 - i, name, i % 2 == 0 ? 1e-300 : 1e-9, 1e9));
  }
  json next = base;
  for (json& slow : next["stages"])
    slow["time_s"] = {{"median", 1e300}, {"iqr", 0}, {"samples", 1}};
  for (const std::string& path : {std::string("x"), endless, std::string(300, '\n')}) {
    const Record before = record(base, path);
    const Record after = record(next, path);
    expect_well_formed(format_comparison(compare_records(before, after, {})));
    expect_well_formed(format_comparison(compare_records(after, before, {})));
    expect_well_formed(format_comparison(compare_records(after, after, {})));
  }
}

TEST(CompareText, CutsNoCharacterInTwo) {
  std::string name;
  for (int i = 0; i < 60; ++i) name += "µ";
  for (const std::string prefix : {"", "x"}) {
    const json report = with("/device/name", prefix + name);
    const std::string text = format_comparison(compare(report, report));
    EXPECT_NO_THROW(static_cast<void>(json(text).dump())) << "invalid UTF-8 is refused: " << text;
    expect_contains(text, "µ...µ");
  }
}

}  // namespace
}  // namespace reduce_ladder
