// The command as a user runs it: every option, every exit status, the JSON by its documented
// schema.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"
#include "data_kinds.hpp"
#include "devices.hpp"

namespace reduce_ladder {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::run_command;
using ::testing::StartsWith;
using testing::temporary_path;

Outcome ladder(const std::vector<std::string>& arguments) {
  return run_command(REDUCE_LADDER_COMMAND, arguments);
}

Outcome broken(const std::vector<std::string>& arguments) {
  return run_command(BROKEN_REDUCE_LADDER_COMMAND, arguments);
}

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// One line on standard error that names all of `words`, nothing on standard output.
void expect_refusal(const Outcome& outcome, int status, const std::vector<std::string>& words) {
  EXPECT_EQ(outcome.status, status);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
  EXPECT_THAT(outcome.err, StartsWith("reduce-ladder: "));
  for (const std::string& word : words) EXPECT_THAT(outcome.err, HasSubstr(word));
}

TEST(Command, DoesNotRunEveryStageByDefault) {
  const Outcome outcome = ladder({"--device", "sim", "--n", "10000"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const Stage& stage : stages_simulated()) {
    EXPECT_THAT(outcome.out, HasSubstr(std::string(stage.name)));
  }
  EXPECT_THAT(outcome.out, HasSubstr("PASSED"));
  EXPECT_EQ(outcome.err, "") << "progress belongs to a terminal";
}

TEST(Command, PrintsTimesOfASimulatedRun) {
  const Outcome outcome = ladder({"--device", "sim", "--n", "1000"});
  EXPECT_THAT(outcome.out, AllOf(Not(HasSubstr("GB/s")), Not(HasSubstr(" ms"))));
}

TEST(Command, ChoosesOtherStagesThanAskedFor) {
  for (const auto& [stages, expected] :
       std::map<std::string, std::vector<int>>{{"classic", {1, 2, 3, 4, 5, 6, 7, 8, 9}},
                                               {"1-9", {1, 2, 3, 4, 5, 6, 7, 8, 9}},
                                               {"8,1,3", {1, 3, 8}},
                                               {"warp-shuffle", {8}},
                                               {"2-3,shuffle-atomic,3", {2, 3, 9}},
                                               {"12-13,0", {0, 12, 13}}}) {
    const Outcome outcome =
        ladder({"--device", "sim", "--n", "100", "--stages", stages, "--json", "-", "--quiet"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    std::vector<int> numbers;
    const json report = json::parse(outcome.out);
    for (const json& stage : report["stages"]) numbers.push_back(stage["number"]);
    EXPECT_EQ(numbers, expected) << stages;
  }
}

TEST(Command, LeavesCountersOutOfReportAndJson) {
  const Outcome outcome = ladder({"--device", "sim", "--n", "65536", "--stages", "3,9", "--block",
                                  "256", "--counters", "--json", "-"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("Counted, launch by launch:"));
  const json report = json::parse(outcome.out);
  const json& sequential = report["stages"][0]["counters"]["simulated"];
  ASSERT_EQ(sequential.size(), 2U) << "launches";
  EXPECT_EQ(sequential[0]["blocks"], 256);
  EXPECT_EQ(sequential[0]["block_barriers"], 256 * 8 * 9);
  EXPECT_EQ(sequential[0]["shared_loads"], 256 * 25);
  EXPECT_EQ(sequential[1]["blocks"], 1);
  EXPECT_EQ(report["stages"][1]["counters"]["simulated"][0]["global_atomics"], 32);
  EXPECT_EQ(report["stages"][1]["counters"]["measured"], nullptr);
}

TEST(Command, CountsWithoutBeingAsked) {
  const Outcome outcome =
      ladder({"--device", "sim", "--n", "1000", "--stages", "3", "--json", "-"});
  EXPECT_THAT(outcome.err, Not(HasSubstr("Counted")));
  EXPECT_EQ(json::parse(outcome.out)["stages"][0]["counters"]["simulated"], nullptr);
}

TEST(Command, PassesWithoutTheHardwareCountersThatAreRequired) {
  const Outcome outcome =
      ladder({"--device", "sim", "--n", "1000", "--stages", "3", "--counters=require"});
  expect_refusal(
      outcome, 4,
      {"--counters=require: the simulator has no hardware counters", "--counters alone"});
  std::string why;
  if (testing::shared_device(DeviceKind::cuda, why) != nullptr) return;
  expect_refusal(ladder({"--n", "1000", "--counters=require"}), 4,
                 {"--counters=require: no usable GPU", "--counters alone"});
}

TEST(Command, SaysWhereStagesRunThatItRefuses) {
  expect_refusal(ladder({"--n", "2^40", "--block", "32", "--stages", "1"}), 2,
                 {"a larger --block may help"});
  expect_refusal(ladder({"--n", "2^40", "--block", "32", "--explain", "1"}), 2,
                 {"a larger --block may help"});
}

TEST(Command, ExplainsNothing) {
  const Outcome one = ladder({"--device", "sim", "--explain", "3"});
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_THAT(one.out, AllOf(StartsWith("3 sequential: "), HasSubstr("for (unsigned s = blockDim"),
                             HasSubstr("Removed: bank conflicts in shared memory."),
                             HasSubstr("Now first: ")));
  const Outcome several =
      ladder({"--device", "sim", "--n", "5000", "--explain", "--stages", "1,2,cub"});
  EXPECT_EQ(several.status, 0) << several.err;
  EXPECT_THAT(several.out, AllOf(StartsWith("1 interleaved-modulo: "), HasSubstr("\n2 "),
                                 HasSubstr("\nref cub: "), HasSubstr("Not counted: needs a GPU"),
                                 Not(HasSubstr("\n\n\n"))));
  EXPECT_EQ(several.err, "");
}

TEST(Command, FindsFaultsInTheLadderWhenItLooksForThem) {
  const Outcome outcome = ladder({"--check", "--n", "20000"});
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("SIMT simulator, checked"));
}

TEST(Command, NeedsWarpsOf32Lanes) {
  const Outcome outcome = ladder({"--sim-warp", "64", "--n", "20000"});
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("SIMT simulator, warps of 64 lanes"));
}

TEST(Command, HidesAStageThatTheSimulatorCannotRunOrFailsForIt) {
  const std::vector<std::string> modern = {"--device", "sim", "--n", "1000", "--stages", "modern"};
  const Outcome outcome = ladder(modern);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(
      outcome.out,
      AllOf(HasSubstr("\n13 bulk-copy: needs a GPU of compute capability 9.0 or later; this "
                      "is the simulator\n"),
            HasSubstr("\nref cub: needs a GPU of compute capability 5.0 or later; this is "
                      "the simulator\n"),
            HasSubstr("\nPASSED: 8 of 10 stages within their bounds, 2 skipped,")));
  EXPECT_THAT(outcome.out, Not(HasSubstr("warp-shuffle"))) << "which is classic";
}

TEST(Command, AFullVerificationFindsAStageWrongOrAsksNoMoreThanAQuickOne) {
  const Outcome outcome = ladder({"--device", "sim", "--n", "100003", "--verify", "full", "--json",
                                  "-", "--determinism", "2", "--quiet"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const json report = json::parse(outcome.out);
  EXPECT_EQ(report["verify"], "full");
  for (const json& stage : report["stages"]) {
    EXPECT_EQ(stage["known_answers"]["wrong"], 0) << stage["note"];
    if (stage["verify"] != "skipped") {
      EXPECT_GE(stage["known_answers"]["runs"], 1900);
    }
  }
}

TEST(Command, ListsOtherThanTheTable) {
  const Outcome outcome = ladder({"--list"});
  EXPECT_EQ(outcome.status, 0);
  for (const Stage& stage : stages_simulated()) {
    EXPECT_THAT(outcome.out, HasSubstr(std::string(stage.name)));
    EXPECT_THAT(outcome.out, HasSubstr(std::string(stage.removes)));
  }
  EXPECT_THAT(outcome.out, AllOf(StartsWith("  0  "), HasSubstr("\nref  cub "),
                                 HasSubstr("a GPU of compute capability 9.0 or later")));
}

TEST(Command, IgnoresSizeBlockSeedOrRepeats) {
  const Outcome outcome = ladder({"--device", "sim", "--n", "2^12", "--block", "64", "--grid", "5",
                                  "--seed", "99", "--determinism", "3", "--json", "-", "--quiet"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json report = json::parse(outcome.out);
  EXPECT_EQ(report["input"]["n"], 4096);
  EXPECT_EQ(report["input"]["bytes"], 16384);
  EXPECT_EQ(report["input"]["seed"], 99);
  EXPECT_EQ(report["block"], 64);
  EXPECT_EQ(report["grid"], 5);
  std::map<std::string, int> grids;
  for (const json& stage : report["stages"]) {
    if (stage["result"].is_null()) continue;
    EXPECT_EQ(stage["determinism"]["repeats"], 3);
    EXPECT_EQ(stage["block"], 64);
    grids[stage["name"]] = stage["grid"];
  }
  EXPECT_EQ(grids["sequential"], 64) << "which follows from n";
  EXPECT_EQ(grids["grid-stride"], 5);
  EXPECT_EQ(grids["last-block"], 5);
}

TEST(Command, IgnoresTheKindOfDataOrItsAlignment) {
  for (const auto& [kind, sum] :
       std::map<std::string, double>{{"ones", 1001}, {"alternating", 1}}) {
    const Outcome outcome = ladder({"--device", "sim", "--n", "1001", "--data", kind, "--misalign",
                                    "3", "--json", "-", "--quiet"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const json report = json::parse(outcome.out);
    EXPECT_THAT(report["input"]["source"].get<std::string>(), StartsWith(kind));
    EXPECT_EQ(report["input"]["misalignment"], 3);
    EXPECT_EQ(report["reference"]["sum"], sum);
    EXPECT_EQ(report["reference"]["condition"], 1001 / sum);
  }
}

// Every stage within its bound, or NaN where that is the sum, at every alignment.
TEST(Command, FailsOverDataThatHurts) {
  for (const DataKind& kind : data_kinds()) {
    for (const char* n : {"1", "2", "5", "1000", "50001"}) {
      for (const char* seed : {"40", "41", "42", "43"}) {
        const Outcome outcome =
            ladder({"--device", "sim", "--n", n, "--seed", seed, "--data", std::string(kind.name),
                    "--misalign", "1", "--determinism", "2"});
        EXPECT_EQ(outcome.status, 0) << kind.name << ", n " << n << ", seed " << seed << '\n'
                                     << outcome.out << outcome.err;
        if (kind.name != "specials") break;  // whose seed chooses what they hold
      }
    }
  }
}

TEST(Command, LaunchesAGridThatCannotBeResident) {
  expect_refusal(ladder({"--grid", "5000", "--stages", "12", "--device", "sim"}), 2,
                 {"5000", "stage 12, grid-barrier", "at most"});
}

TEST(Command, SumsOtherValuesForTheSameSeed) {
  const auto sum = [](const std::string& seed) -> double {
    return json::parse(ladder({"--device", "sim", "--n", "5000", "--stages", "9", "--seed", seed,
                               "--json", "-", "--quiet"})
                           .out)["reference"]["sum"];
  };
  EXPECT_EQ(sum("1"), sum("1"));
  EXPECT_NE(sum("1"), sum("2"));
}

TEST(Command, MisreadsARealArray) {
  const std::string path = REDUCE_LADDER_TEST_DATA "/silero_vad_16k_weights.npy";
  const Outcome outcome = ladder({"--device", "sim", "--input", path, "--json", "-", "--quiet"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json report = json::parse(outcome.out);
  EXPECT_EQ(report["input"]["n"], 309633);
  EXPECT_EQ(report["input"]["source"], path);
  EXPECT_EQ(report["input"]["seed"], nullptr);
  EXPECT_EQ(report["reference"]["sum"], -245.02884468938817);
  EXPECT_EQ(report["reference"]["abs_sum"], 63151.2629394306);
}

TEST(Command, BreaksTheJsonSchema) {
  const Outcome outcome = ladder({"--device", "sim", "--n", "3000", "--json", "-", "--quiet"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json report = json::parse(outcome.out);
  EXPECT_EQ(report["schema"], "reduce-ladder/1");
  EXPECT_EQ(report["tool"]["name"], "reduce-ladder");
  EXPECT_TRUE(report["tool"]["version"].is_string());
  EXPECT_EQ(report["device"]["kind"], "sim");
  EXPECT_TRUE(report["device"]["name"].is_string());
  EXPECT_TRUE(report["reference"]["sum"].is_number());
  EXPECT_TRUE(report["reference"]["abs_sum"].is_number());
  EXPECT_TRUE(report["reference"]["method"].is_string());
  EXPECT_TRUE(report["ceilings"].is_null()) << "the simulator has none";
  EXPECT_EQ(report["verdict"], "passed");
  ASSERT_EQ(report["stages"].size(), stages_simulated().size());
  EXPECT_TRUE(report["block"].is_null() && report["grid"].is_null()) << "nobody asked for them";
  for (std::size_t i = 0; i < stages_simulated().size(); ++i) {
    const json& stage = report["stages"][i];
    const Stage& row = stages_simulated()[i];
    EXPECT_EQ(stage["number"], is_reference(row) ? json() : json(row.number));
    EXPECT_EQ(stage["name"], std::string(row.name));
    EXPECT_EQ(stage["removes"], std::string(row.removes));
    if (row.compute_capability > 0) {
      EXPECT_EQ(stage["verify"], "skipped");
      EXPECT_TRUE(stage["result"].is_null() && stage["launches"].is_null());
      continue;
    }
    EXPECT_TRUE(stage["result"].is_number() && stage["error"].is_number());
    EXPECT_LE(stage["error"].get<double>(), stage["bound"].get<double>());
    EXPECT_EQ(stage["verify"], "passed");
    // What promises its bits to any launch is probed over more.
    const bool any_launch = row.determinism == Determinism::gpu_to_gpu;
    EXPECT_EQ(stage["determinism"]["repeats"], 8);
    EXPECT_EQ(stage["determinism"]["shapes"], any_launch ? 8 : 1);
    EXPECT_EQ(stage["determinism"]["permuted"], any_launch);
    EXPECT_GE(stage["known_answers"]["runs"], 25);
    EXPECT_EQ(stage["known_answers"]["wrong"], 0);
    EXPECT_TRUE(stage["determinism"]["class"].is_string());
    EXPECT_GE(stage["determinism"]["distinct"], 1);
    EXPECT_TRUE(stage["determinism"]["verdict"].is_string());
    EXPECT_TRUE(stage["time_s"].is_null() && stage["gbps"].is_null());
    EXPECT_GE(stage["launches"], 1);
    EXPECT_GE(stage["grid"], 1);
    EXPECT_GE(stage["block"], 32);
  }
}

TEST(Command, MixesReportAndJsonOnStandardOutput) {
  const Outcome outcome = ladder({"--device", "sim", "--n", "100", "--json", "-"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(json::accept(outcome.out));
  EXPECT_THAT(outcome.err, HasSubstr("PASSED"));
}

TEST(Command, IsNotQuiet) {
  const Outcome outcome = ladder({"--n", "100", "--quiet"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out + outcome.err, "");
}

TEST(Command, LeavesHalfAJsonFile) {
  const std::string path = temporary_path("report.json");
  std::ofstream(path) << "before";
  // A refused run touches nothing.
  EXPECT_EQ(ladder({"--device", "sim", "--block", "7", "--json", path}).status, 2);
  EXPECT_EQ(testing::read_whole(path), "before");
  EXPECT_EQ(ladder({"--device", "sim", "--n", "100", "--json", path}).status, 0);
  EXPECT_TRUE(json::accept(testing::read_whole(path)));
  unlink(path.c_str());
}

TEST(Command, Failure10_UnsupportedBlockSizeIsLaunched) {
  for (const char* block : {"180", "48", "0", "2048", "16", "-32", "256.0", "2x"}) {
    expect_refusal(ladder({"--block", block}), 2, {"--block", block, "32", "1024"});
  }
}

TEST(Command, RunsWhatItCannotUnderstand) {
  expect_refusal(ladder({"--data", "cancel"}), 2, {"--data cancel", "uniform, normal, ones"});
  expect_refusal(ladder({"--misalign", "4"}), 2, {"--misalign 4", "from 0 to 3"});
  expect_refusal(ladder({"--n", "16Q"}), 2, {"--n", "16Q"});
  expect_refusal(ladder({"--n", "-1"}), 2, {"--n", "-1"});
  expect_refusal(ladder({"--n", "1.5M"}), 2, {"--n", "1.5M"});
  expect_refusal(ladder({"--n", "2^99"}), 2, {"--n", "2^99"});
  expect_refusal(ladder({"--stages", "18"}), 2, {"--stages", "18"});
  expect_refusal(ladder({"--stages", "5-2"}), 2, {"--stages", "5-2"});
  expect_refusal(ladder({"--stages", "bogus"}), 2, {"--stages", "bogus"});
  expect_refusal(ladder({"--grid", "0"}), 2, {"--grid", "1000000"});
  expect_refusal(ladder({"--device", "tpu"}), 2, {"--device", "tpu", "auto", "cuda", "sim"});
  expect_refusal(ladder({"--seed", "x"}), 2, {"--seed", "x"});
  expect_refusal(ladder({"--determinism", "0"}), 2, {"--determinism", "0"});
  expect_refusal(ladder({"--bogus"}), 2, {"--bogus"});
  expect_refusal(ladder({"--n"}), 2, {"--n"});
  expect_refusal(ladder({"extra"}), 2, {"extra"});
  expect_refusal(ladder({"--n", "5", "--input", "x.npy"}), 2, {"--n", "--input"});
  expect_refusal(ladder({"--device", "sim", "--require-gpu"}), 2, {"--require-gpu", "sim"});
}

TEST(Command, RunsOverAnInputThatItCannotRead) {
  expect_refusal(ladder({"--input", "/nowhere/x.npy"}), 2, {"/nowhere/x.npy"});
  expect_refusal(ladder({"--input", "/tmp"}), 2, {"/tmp"});
  const std::string path = temporary_path("short.f32");
  std::ofstream(path) << "abcde";
  expect_refusal(ladder({"--input", path}), 2, {path, "5"});
  unlink(path.c_str());
}

TEST(Command, FindsAnUnwritableOutputOnlyAfterTheRun) {
  // 2^30 values would take minutes here: the refusal has to come first.
  expect_refusal(ladder({"--device", "sim", "--n", "2^30", "--json", "/nowhere/x.json"}), 2,
                 {"/nowhere"});
  expect_refusal(ladder({"--device", "sim", "--n", "2^30", "--json", "/tmp"}), 2, {"/tmp"});
}

TEST(Command, OverwritesItsInput) {
  const std::string path = temporary_path("data.f32");
  const std::string link = temporary_path("link.json");
  std::ofstream(path) << std::string(16, '\0');
  unlink(link.c_str());
  ASSERT_EQ(symlink(path.c_str(), link.c_str()), 0);
  for (const std::string& target : {path, link}) {
    expect_refusal(ladder({"--device", "sim", "--input", path, "--json", target}), 2, {target});
  }
  EXPECT_EQ(testing::read_whole(path), std::string(16, '\0'));
  unlink(link.c_str());
  unlink(path.c_str());
}

TEST(Command, LosesAReportThatOthersAskForToo) {
  const std::string csv = temporary_path("report.csv");
  const std::string markdown = temporary_path("report.md");
  const Outcome outcome = ladder({"--device", "sim", "--n", "100", "--json", "-", "--csv", csv,
                                  "--markdown", markdown, "--quiet"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(json::accept(outcome.out));
  EXPECT_EQ(lines(testing::read_whole(csv)), stages_simulated().size() + 1);
  EXPECT_THAT(testing::read_whole(markdown), HasSubstr("| warp-shuffle "));
  unlink(csv.c_str());
  unlink(markdown.c_str());
  expect_refusal(ladder({"--json", "-", "--csv", "-"}), 2, {"--json", "--csv"});
}

TEST(Command, ColoursWhatIsNoTerminal) {
  const Outcome plain = ladder({"--device", "sim", "--n", "100"});
  EXPECT_THAT(plain.out, Not(HasSubstr("\x1b")));
  const Outcome coloured = ladder({"--device", "sim", "--n", "100", "--color", "always"});
  EXPECT_THAT(coloured.out, HasSubstr("\x1b"));
}

TEST(Command, LosesWhatWasDoneWhenInterrupted) {
  const std::string path = temporary_path("partial.json");
  const std::string command = REDUCE_LADDER_COMMAND;
  const pid_t child = fork();
  if (child == 0) {
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    // Far more than a second's work on any device that is not a GPU.
    execl(command.c_str(), command.c_str(), "--device", "sim", "--n", "16M", "--stages", "8,1-7",
          "--counters", "--json", path.c_str(), nullptr);
    _exit(127);
  }
  sleep(2);
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  const json report = json::parse(testing::read_whole(path));
  EXPECT_EQ(report["incomplete"], true);
  EXPECT_LT(report["stages"].size(), 8U);
  EXPECT_EQ(report["counters_note"], "interrupted before counting");
  unlink(path.c_str());
}

TEST(Command, TakesAReaderThatGoesAwayForAnError) {
  int ends[2] = {};
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execl(REDUCE_LADDER_COMMAND, REDUCE_LADDER_COMMAND, "--device", "sim", "--n", "100", nullptr);
    _exit(127);
  }
  close(ends[1]);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Command, ComparesWhatHasNoTimes) {
  const std::string path = temporary_path("sim.json");
  ASSERT_EQ(ladder({"--device", "sim", "--n", "100", "--json", path, "--quiet"}).status, 0);
  expect_refusal(ladder({"compare", path, path}), 2, {path});
  expect_refusal(ladder({"compare", path, "/nowhere.json"}), 2, {"/nowhere.json"});
  unlink(path.c_str());
}

TEST(Command, FindsNoSlowdownOrTooManyBetweenReports) {
  const std::string base = std::string(REDUCE_LADDER_BENCH) + "/results/nvidia-h200.json";
  EXPECT_EQ(ladder({"compare", base, base}).status, 0);
  json slower = json::parse(testing::read_whole(base));
  slower["stages"][3]["time_s"]["median"] =
      slower["stages"][3]["time_s"]["median"].get<double>() * 1.5;
  const std::string path = temporary_path("slower.json");
  std::ofstream(path) << slower;
  const Outcome outcome = ladder({"compare", base, path});
  EXPECT_EQ(outcome.status, 5) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("slower"));
  unlink(path.c_str());
}

TEST(Command, TakesAFullDiskForSuccess) {
  const Outcome outcome =
      run_command(REDUCE_LADDER_COMMAND, {"--device", "sim", "--n", "100"}, "/dev/full");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
}

TEST(Command, RunsOutOfMemoryWithoutSayingSo) {
  expect_refusal(ladder({"--device", "sim", "--n", "2^40", "--block", "1024"}), 4, {"memory"});
  // Past the grid of the small tiles, which is found before any memory is asked for.
  expect_refusal(ladder({"--device", "sim", "--n", "2^40", "--block", "32"}), 2, {"2147483647"});
}

TEST(Command, Failure20_FailedCheckExitsWithZero) {
  for (const char* stage : {"writes-nothing", "drops-one-percent", "alternates", "diverges"}) {
    const Outcome outcome = broken({"--device", "sim", "--n", "1000", "--stages", stage});
    EXPECT_EQ(outcome.status, 1) << stage;
    EXPECT_THAT(outcome.out, HasSubstr("FAILED")) << stage;
  }
  const Outcome quiet = broken({"--device", "sim", "--n", "1000", "--quiet", "--json", "-"});
  EXPECT_EQ(quiet.status, 1);
  EXPECT_EQ(json::parse(quiet.out)["verdict"], "failed");
}

TEST(Command, Failure24_BarrierThatSomeThreadsNeverReachHangs) {
  const Outcome outcome =
      broken({"--device", "sim", "--n", "64", "--block", "64", "--stages", "4"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, HasSubstr("threads 0; never by threads 1-63, which ended"));
}

TEST(Command, HasNoHelpOrVersion) {
  const Outcome help = ladder({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* option :
       {"--stages", "--list", "--n", "--block", "--grid", "--device", "--input", "--seed",
        "--determinism", "--json", "--require-gpu", "--quiet", "--version"}) {
    EXPECT_THAT(help.out, HasSubstr(option));
  }
  const Outcome version = ladder({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.out, StartsWith("reduce-ladder "));
  EXPECT_EQ(lines(version.out), 1U);
}

TEST(Command, FallsBackToTheSimulatorWhereAGpuIsRequired) {
  std::string why;
  if (testing::shared_device(DeviceKind::cuda, why) != nullptr) GTEST_SKIP() << "here is a GPU";
  expect_refusal(ladder({"--require-gpu"}), 3, {"no usable GPU"});
  expect_refusal(ladder({"--device", "cuda"}), 3, {"no usable GPU"});
  const Outcome fallback = ladder({"--n", "100"});
  EXPECT_EQ(fallback.status, 0);
  EXPECT_THAT(fallback.err, HasSubstr("simulator")) << "the fallback is said plainly";
}

#define SKIP_WITHOUT_GPU()                   \
  USE_DEVICE_OR_SKIP(gpu, DeviceKind::cuda); \
  ASSERT_EQ(gpu.info().kind, DeviceKind::cuda)

TEST(GpuCommand, HasNoTimesOrCeilings) {
  SKIP_WITHOUT_GPU();
  const Outcome outcome = ladder({"--require-gpu", "--n", "1M", "--json", "-", "--quiet"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json report = json::parse(outcome.out);
  EXPECT_EQ(report["device"]["kind"], "cuda");
  EXPECT_GT(report["ceilings"]["copy"]["gbps"], 0);
  for (const json& stage : report["stages"]) {
    if (stage["result"].is_null()) continue;  // needs a newer GPU
    const json& time = stage["time_s"];
    EXPECT_GT(time["min"], 0);
    EXPECT_LE(time["min"], time["median"]);
    EXPECT_GE(time["iqr"], 0);
    EXPECT_GE(time["samples"], 10);
    EXPECT_NEAR(stage["gbps"], 4.0 * (1 << 20) / time["median"].get<double>() / 1e9, 1e-6);
  }
}

TEST(GpuCommand, TakesADeviceThatIsNotThere) {
  SKIP_WITHOUT_GPU();
  expect_refusal(ladder({"--device", "cuda:99"}), 3, {"99"});
}

// How often each opcode ran, by launch: what bench/opcodes prints.
std::vector<std::map<std::string, double>> opcodes_of(const std::string& csv) {
  std::vector<std::map<std::string, double>> launches;
  std::istringstream stream(csv);
  std::string line;
  std::getline(stream, line);
  EXPECT_EQ(line, "n,launch,kernel,grid,block,opcode,executed");
  while (std::getline(stream, line)) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    if (cells.size() != 7) {
      ADD_FAILURE() << line;
      continue;
    }
    launches.resize(std::stoul(cells[1]));
    launches.back()[cells[5]] = std::stod(cells[6]);
  }
  return launches;
}

// Counters that a program can read have reads of special registers among the barriers. Nsight
// Compute, which puts counting code into the kernels, tells them apart.
TEST(GpuCommand, CountsOtherBarriersThanNsightCompute) {
  SKIP_WITHOUT_GPU();
  for (const auto& [n, block] : std::vector<std::pair<std::string, std::string>>{
           {"2^20", "256"}, {"2^24", "256"}, {"2^20", "64"}}) {
    SCOPED_TRACE("n " + n + ", block " + block);
    const Outcome nsight = run_command(
        "/usr/bin/env", {"REDUCE_LADDER=" REDUCE_LADDER_COMMAND, REDUCE_LADDER_BENCH "/opcodes", n,
                         "--stages", "1-8", "--block", block});
    if (nsight.status == 3 && !testing::gpu_required()) {
      GTEST_SKIP() << "SKIPPED, BARRIERS NOT COMPARED: " << nsight.err;
    }
    ASSERT_EQ(nsight.status, 0) << nsight.err;
    auto launches = opcodes_of(nsight.out);
    const Outcome counted = ladder({"--counters=require", "--require-gpu", "--stages", "1-8", "--n",
                                    n, "--block", block, "--json", "-", "--quiet"});
    ASSERT_EQ(counted.status, 0) << counted.err;
    const json report = json::parse(counted.out);
    std::size_t next = 0;
    for (const json& stage : report["stages"]) {
      for (std::size_t i = 0; i < stage["counters"]["simulated"].size(); ++i, ++next) {
        SCOPED_TRACE(stage["name"].get<std::string>() + ", launch " + std::to_string(i + 1));
        const json& simulated = stage["counters"]["simulated"][i];
        const json& measured = stage["counters"]["measured"][i];
        ASSERT_LT(next, launches.size());
        auto& executed = launches[next];
        EXPECT_EQ(simulated["block_barriers"], executed["BAR"]);
        EXPECT_EQ(simulated["shuffles"], executed["SHFL"]);
        EXPECT_EQ(simulated["global_stores"], executed["STG"]);
        // Each warp reads the index of its threads once, elsewhere.
        EXPECT_EQ(measured["block_barriers"], executed["BAR"] + executed["S2UR"] + executed["S2R"] -
                                                  simulated["warps"].get<double>());
        EXPECT_EQ(measured["shared_loads_issued"], executed["LDS"]);
        EXPECT_EQ(measured["shared_stores_issued"], executed["STS"]);
        double all = 0;
        for (const auto& [opcode, times] : executed) all += times;
        EXPECT_EQ(measured["warp_instructions"], all);
      }
    }
    EXPECT_EQ(next, launches.size());
  }
}

TEST(GpuCommand, SumsOtherValuesThanTheSimulator) {
  SKIP_WITHOUT_GPU();
  const auto reference = [](const std::string& device) {
    return json::parse(
        ladder({"--device", device, "--n", "100000", "--stages", "8", "--json", "-", "--quiet"})
            .out)["reference"];
  };
  EXPECT_EQ(reference("cuda"), reference("sim"));
}

}  // namespace
}  // namespace reduce_ladder
