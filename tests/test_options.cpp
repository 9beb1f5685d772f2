#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "options.hpp"
#include "reduce_ladder/errors.hpp"

namespace reduce_ladder {
namespace {

using Numbers = std::vector<int>;

std::vector<Stage> fake_stages() {
  std::vector<Stage> stages;
  for (const std::string_view name : {"naive", "strided", "first-add", "shuffle", "float4"}) {
    Stage& stage = stages.emplace_back();
    stage.number = static_cast<int>(stages.size());
    stage.name = name;
  }
  return stages;
}

ParsedOptions parse_over(const std::vector<Stage>& stages, std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "reduce-ladder");
  return parse_options(static_cast<int>(arguments.size()), arguments.data(), stages);
}

ParsedOptions parse(const std::vector<const char*>& arguments) {
  static const std::vector<Stage> stages = fake_stages();
  return parse_over(stages, arguments);
}

Options options(const std::vector<const char*>& arguments) {
  return parse(arguments).options;
}

// The one line that refuses these arguments; empty where they are taken.
std::string refusal(const std::vector<const char*>& arguments) {
  try {
    parse(arguments);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

void expect_refused(const char* option, const std::string& value, const std::string& allowed) {
  const std::string text = refusal({option, value.c_str()});
  expect_contains(text, std::string(option) + " " + value + ": ");
  expect_contains(text, allowed);
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

TEST(Options, NoArgumentRunsEverythingWithTheDefaults) {
  const auto [defaults, text] = parse({});
  EXPECT_FALSE(text.has_value());
  EXPECT_EQ(defaults.stages, (Numbers{1, 2, 3, 4, 5}));
  EXPECT_EQ(defaults.n, Index{1} << 24);
  EXPECT_EQ(defaults.block, std::nullopt);
  EXPECT_EQ(defaults.grid, std::nullopt);
  EXPECT_EQ(defaults.device.kind, DeviceRequest::Kind::automatic);
  EXPECT_EQ(defaults.input, std::nullopt);
  EXPECT_EQ(defaults.seed, 42U);
  EXPECT_EQ(defaults.determinism, 8U);
  EXPECT_EQ(defaults.json, std::nullopt);
  EXPECT_FALSE(defaults.list || defaults.require_gpu || defaults.quiet);
}

TEST(Options, AcceptsNoArgumentsAtAllNotEvenAName) {
  EXPECT_EQ(parse_options(0, nullptr, fake_stages()).options.stages.size(), 5U);
}

TEST(Options, StagesMixNumbersRangesAndNames) {
  EXPECT_EQ(options({"--stages", "all"}).stages, (Numbers{1, 2, 3, 4, 5}));
  EXPECT_EQ(options({"--stages", "4"}).stages, (Numbers{4}));
  EXPECT_EQ(options({"--stages", "2-4"}).stages, (Numbers{2, 3, 4}));
  EXPECT_EQ(options({"--stages", "3-3"}).stages, (Numbers{3}));
  EXPECT_EQ(options({"--stages", "first-add"}).stages, (Numbers{3}));
  EXPECT_EQ(options({"--stages=1-2,shuffle"}).stages, (Numbers{1, 2, 4}));
}

TEST(Options, StagesComeAscendingAndOnce) {
  EXPECT_EQ(options({"--stages", "5,shuffle,1-2,2,4"}).stages, (Numbers{1, 2, 4, 5}));
}

TEST(Options, RefusesStagesThatAreNotInTheTable) {
  for (const char* value : {"0", "6", "1-6", "0-2", "Shuffle", "ALL", "float", "+1", "-1", " 1",
                            "99999999999999999999", "1-2-3", "1-", "-", "modern"}) {
    expect_refused("--stages", value, "list of all, classic, modern, numbers of stages (1-5)");
    expect_refused("--stages", value, "naive, strided, first-add, shuffle, float4");
  }
}

TEST(Options, RefusesBackwardRangesAndEmptyItems) {
  for (const char* value : {"3-1", "1,,2", "1,", ",1", ","}) {
    expect_refused("--stages", value, "ascending ranges such as 1-5");
  }
}

TEST(Options, NamesTheItemOfAListThatIsNoStage) {
  expect_refused("--stages", "1,frobnicate,3", "'frobnicate' is none of these");
}

// Stages with gaps between their numbers, on both sides of the classic ones, and a reference.
std::vector<Stage> all_parts() {
  std::vector<Stage> stages;
  for (const auto& [number, name] : {std::pair(0, "before"),
                                     {1, "naive"},
                                     {9, "atomic"},
                                     {10, "vector"},
                                     {13, "copy"},
                                     {kReferenceNumber, "cub"}}) {
    Stage& stage = stages.emplace_back();
    stage.number = number;
    stage.name = name;
  }
  return stages;
}

Numbers stages_of_parts(const char* list) {
  return parse_over(all_parts(), {"--stages", list}).options.stages;
}

TEST(Options, StagesAreOfAPartOrOfSeveral) {
  constexpr int kRef = kReferenceNumber;
  EXPECT_EQ(parse_over(all_parts(), {}).options.stages, (Numbers{0, 1, 9, 10, 13, kRef}));
  EXPECT_EQ(stages_of_parts("classic"), (Numbers{1, 9}));
  EXPECT_EQ(stages_of_parts("modern"), (Numbers{0, 10, 13, kRef}));
  EXPECT_EQ(stages_of_parts("modern,classic"), stages_of_parts("all"));
  EXPECT_EQ(stages_of_parts("all,1"), stages_of_parts("all"));
  EXPECT_EQ(stages_of_parts("cub,classic,10"), (Numbers{1, 9, 10, kRef}));
}

TEST(Options, RangesOfStagesSpanNumbersThatAreMissing) {
  EXPECT_EQ(stages_of_parts("2-12"), (Numbers{9, 10}));
  EXPECT_EQ(stages_of_parts("0-13"), (Numbers{0, 1, 9, 10, 13})) << "the reference has no number";
}

TEST(Options, RefusesNumbersAndRangesOfStagesWithoutAny) {
  for (const char* list : {"2", "2-8", "14", "13-14", "2147483647", "0-2147483647", "ref",
                           "Classic", "modern-13", "classic,", "modern,11", "all,2-8"}) {
    try {
      stages_of_parts(list);
      ADD_FAILURE() << list;
    } catch (const UsageError& error) {
      expect_contains(error.what(), std::string("--stages ") + list + ": must be ");
      expect_contains(error.what(),
                      "numbers of stages (0-1, 9-10, 13), ascending ranges such as 0-13");
    }
  }
}

TEST(Options, CountsAreWholeNumbersWithBinarySuffixesOrPowersOfTwo) {
  const std::vector<std::pair<const char*, Index>> cases = {{"0", 0},
                                                            {"1", 1},
                                                            {"1000000", 1000000},
                                                            {"3K", 3072},
                                                            {"3k", 3072},
                                                            {"16M", Index{1} << 24},
                                                            {"5m", 5 << 20},
                                                            {"2G", 2ULL << 30},
                                                            {"2g", 2ULL << 30},
                                                            {"2^0", 1},
                                                            {"2^24", 1 << 24},
                                                            {"2^40", Index{1} << 40},
                                                            {"1024G", 1ULL << 40},
                                                            {"1099511627776", Index{1} << 40},
                                                            {"0G", 0}};
  for (const auto& [text, n] : cases) EXPECT_EQ(options({"--n", text}).n, n) << text;
}

TEST(Options, RefusesCountsThatAreSignedBrokenTooLargeOrTrailed) {
  for (const char* value : {"-1",
                            "+1",
                            "1.5",
                            "1e6",
                            "16MB",
                            "16 M",
                            "M",
                            "KK",
                            "1T",
                            "0x10",
                            "2^",
                            "2^41",
                            "2^-1",
                            "3^2",
                            "2^2^2",
                            "2^4K",
                            "1025G",
                            "1099511627777",
                            "18446744073709551616",
                            "17179869184G",
                            "99999999999999999999999",
                            "nan",
                            "16M ",
                            " 1"}) {
    expect_refused("--n", value, "must be a whole number from 0 to 1099511627776");
  }
}

TEST(Options, BlocksAreThePowersOfTwoThatEveryStageSupports) {
  for (unsigned block = kMinBlock; block <= kMaxBlock; block *= 2) {
    EXPECT_EQ(options({"--block", std::to_string(block).c_str()}).block, block);
  }
}

TEST(Options, RefusesBlocksThatWouldDropAWarpOrNotLaunch) {
  for (const char* value : {"0", "1", "16", "48", "180", "2048", "4294967328", "-256", "256.0"}) {
    expect_refused("--block", value, "must be a power of two from 32 to 1024");
  }
  EXPECT_EQ(refusal({"--block", "180"}), "--block 180: must be a power of two from 32 to 1024");
}

TEST(Options, GridsAreFromOneToAMillion) {
  EXPECT_EQ(options({"--grid", "1"}).grid, 1U);
  EXPECT_EQ(options({"--grid=1000000"}).grid, 1000000U);
  for (const char* value : {"0", "1000001", "4294967297", "-1", "+1", "1K", "2^4", "x"}) {
    expect_refused("--grid", value, "must be a whole number from 1 to 1000000");
  }
}

TEST(Options, DevicesAreAutoCudaAnOrdinalOrSim) {
  using Kind = DeviceRequest::Kind;
  EXPECT_EQ(options({"--device", "auto"}).device.kind, Kind::automatic);
  EXPECT_EQ(options({"--device", "sim"}).device.kind, Kind::sim);
  EXPECT_EQ(options({"--device", "cuda"}).device.kind, Kind::cuda);
  EXPECT_EQ(options({"--device", "cuda"}).device.ordinal, 0);
  EXPECT_EQ(options({"--device", "cuda:3"}).device.kind, Kind::cuda);
  EXPECT_EQ(options({"--device", "cuda:3"}).device.ordinal, 3);
}

TEST(Options, RefusesDevicesThatDoNotExistAnywhere) {
  for (const char* value : {"gpu", "CUDA", "cuda:", "cuda:x", "cuda:-1", "cuda:1 ", "cuda3",
                            "cuda:2147483648", "sim:0", "auto:1"}) {
    expect_refused("--device", value, "must be auto, cuda, cuda:K");
  }
}

TEST(Options, SeedsUseAll64Bits) {
  EXPECT_EQ(options({"--seed", "0"}).seed, 0U);
  EXPECT_EQ(options({"--seed", "18446744073709551615"}).seed, ~std::uint64_t{0});
  for (const char* value : {"18446744073709551616", "-1", "0x1", "1K", "1.0"}) {
    expect_refused("--seed", value, "must be a whole number from 0 to 18446744073709551615");
  }
}

TEST(Options, DataIsOfOneOfAFewKinds) {
  EXPECT_EQ(options({}).data->name, "uniform");
  for (const DataKind& kind : data_kinds()) {
    EXPECT_EQ(options({"--data", std::string(kind.name).c_str()}).data, &kind);
  }
  for (const char* value : {"Uniform", "cancel", "uniform ", "1", "uniform,ones"}) {
    expect_refused("--data", value,
                   "must be one of uniform, normal, ones, integers, alternating, cancelling, wide, "
                   "subnormal, specials");
  }
  expect_contains(refusal({"--data", "ones", "--input", "x.npy"}),
                  "--data: not allowed with --input");
  EXPECT_EQ(refusal({"--data", "ones", "--sweep", "n=4..8"}), "");
}

TEST(Options, MisalignmentsAreFromZeroToThree) {
  EXPECT_EQ(options({}).misalignment, 0U);
  EXPECT_EQ(options({"--misalign", "0"}).misalignment, 0U);
  EXPECT_EQ(options({"--misalign", "3", "--input", "x.npy"}).misalignment, 3U);
  for (const char* value : {"4", "-1", "16", "1.5", "x", "18446744073709551617"}) {
    expect_refused("--misalign", value, "must be a whole number from 0 to 3");
  }
}

TEST(Options, RepeatsAreFromOneToTenThousand) {
  EXPECT_EQ(options({"--determinism", "1"}).determinism, 1U);
  EXPECT_EQ(options({"--determinism", "10000"}).determinism, 10000U);
  for (const char* value : {"0", "10001", "-8", "4294967297", "8x"}) {
    expect_refused("--determinism", value, "must be a whole number from 1 to 10000");
  }
}

TEST(Options, VerifiesQuicklyWhenAskedForAllOrTheOtherWayRound) {
  EXPECT_EQ(options({}).verify, Thoroughness::quick);
  EXPECT_EQ(options({"--verify", "quick"}).verify, Thoroughness::quick);
  EXPECT_EQ(options({"--verify=full"}).verify, Thoroughness::full);
  expect_refused("--verify", "slow", "must be one of quick, full");
}

TEST(Options, AProfileDropsWhatItCannotKeep) {
  EXPECT_EQ(refusal({"--profile", "--verify", "full"}),
            "--verify: not allowed with --profile, which runs each stage once");
  EXPECT_EQ(refusal({"--determinism", "8", "--profile"}),
            "--determinism: not allowed with --profile, which runs each stage once");
  EXPECT_TRUE(options({"--profile"}).profile);
}

TEST(Options, CountersAreWantedOrRequired) {
  EXPECT_EQ(options({}).counters, Options::Counters::none);
  EXPECT_EQ(options({"--counters"}).counters, Options::Counters::wanted);
  EXPECT_EQ(options({"--counters", "--quiet"}).counters, Options::Counters::wanted);
  EXPECT_EQ(options({"--counters=require"}).counters, Options::Counters::required);
  expect_contains(refusal({"--counters=all"}), "--counters all: may be require, or nothing");
  expect_contains(refusal({"--counters="}), "--counters=: the value behind = is missing");
  expect_contains(refusal({"--counters", ""}), "--counters '': the value is empty");
  EXPECT_EQ(refusal({"--counters=require", ""}).find("the value is empty"), std::string::npos);
  expect_contains(refusal({"--counters", "--sweep", "n=1..4"}), "not allowed with --sweep");
  expect_contains(refusal({"--counters", "--profile"}), "not allowed with --profile");
  expect_contains(refusal({"--counters", "--sim-warp", "64"}), "warps of 32 lanes");
}

TEST(Options, ExplainsAStageOrAllThatAreChosen) {
  EXPECT_FALSE(options({}).explain);
  EXPECT_TRUE(options({"--explain"}).explain);
  EXPECT_EQ(options({"--explain"}).stages, (Numbers{1, 2, 3, 4, 5}));
  EXPECT_EQ(options({"--explain", "--stages", "2-3"}).stages, (Numbers{2, 3}));
  EXPECT_EQ(options({"--explain", "3"}).stages, (Numbers{3}));
  EXPECT_EQ(options({"--explain=shuffle"}).stages, (Numbers{4}));
  EXPECT_EQ(options({"--explain"}).n, Index{1} << 20U);
  EXPECT_EQ(options({"--explain", "--n", "5"}).n, 5U);
  expect_refused("--explain", "9", "numbers of stages (1-5)");
  expect_contains(refusal({"--explain", "3", "--stages", "2"}), "not both");
  for (const std::vector<const char*>& others : {std::vector<const char*>{"--json", "x"},
                                                 {"--csv", "x"},
                                                 {"--markdown", "x"},
                                                 {"--quiet"},
                                                 {"--counters"},
                                                 {"--check"},
                                                 {"--profile"},
                                                 {"--sweep", "n=1..4"},
                                                 {"--sim-warp", "64"}}) {
    std::vector<const char*> arguments = others;
    arguments.insert(arguments.begin(), "--explain");
    expect_contains(refusal(arguments), "--explain: not allowed with --");
  }
}

TEST(Options, ChecksAndWideWarpsAreOfTheSimulator) {
  EXPECT_TRUE(options({"--check"}).check);
  EXPECT_EQ(options({"--check"}).n, Index{1} << 20U);
  EXPECT_EQ(options({"--check", "--n", "7"}).n, 7U);
  EXPECT_EQ(options({"--check", "--sweep", "block=32..64"}).n, Index{1} << 20U);
  EXPECT_EQ(options({"--check"}).device.kind, DeviceRequest::Kind::sim);
  EXPECT_EQ(options({"--sim-warp", "64"}).warp_size, 64U);
  EXPECT_EQ(options({"--sim-warp", "64"}).device.kind, DeviceRequest::Kind::sim);
  EXPECT_EQ(options({"--sim-warp", "64"}).n, Index{1} << 24U);
  expect_refused("--sim-warp", "16", "must be one of 32, 64");
  for (const char* option : {"--check", "--sim-warp=64"}) {
    expect_contains(refusal({option, "--device", "cuda:1"}), "not allowed with a GPU");
    expect_contains(refusal({option, "--require-gpu"}), "not allowed with a GPU");
  }
}

TEST(Options, PathsAreTakenAsTheyAre) {
  EXPECT_EQ(options({"--input", "a b=c.npy"}).input, "a b=c.npy");
  EXPECT_EQ(options({"--input=a=b.npy"}).input, "a=b.npy");
  EXPECT_EQ(options({"--input", "[1,2].npy"}).input, "[1,2].npy");
  EXPECT_EQ(options({"--json", "out.json"}).json, "out.json");
  EXPECT_EQ(options({"--json", "-"}).json, "-");
  EXPECT_EQ(options({"--json=-"}).json, "-");
  EXPECT_EQ(options({"--json", "./-x"}).json, "./-x");
}

TEST(Options, NeverTakesAnOptionForTheNameOfAFile) {
  expect_refused("--json", "--quiet", "must be a path");
  expect_refused("--input", "--quiet", "must be the path of a .npy, .f32 or .bin file");
  expect_refused("--input", "-", "must be the path of a .npy, .f32 or .bin file");
}

TEST(Options, RefusesAMissingValueAndSaysWhatItIs) {
  for (const char* option : {"--stages", "--n", "--block", "--grid", "--device", "--input",
                             "--seed", "--determinism", "--json"}) {
    const std::string assigned = std::string(option) + "=";
    const std::string expected = std::string(option) + ": the value is missing; it must be ";
    EXPECT_EQ(refusal({option}).substr(0, expected.size()), expected);
    EXPECT_EQ(refusal({option, ""}).substr(0, expected.size()), expected);
    EXPECT_EQ(refusal({assigned.c_str(), "32"}).substr(0, expected.size()), expected);
  }
}

TEST(Options, FlagsSetAndTakeNoValue) {
  const Options set = options({"--list", "--require-gpu", "--quiet"});
  EXPECT_TRUE(set.list && set.require_gpu && set.quiet);
  EXPECT_EQ(refusal({"--quiet=false"}), "--quiet=false: --quiet takes no value");
  EXPECT_EQ(refusal({"--list="}), "--list=: --list takes no value");
}

TEST(Options, RefusesAnOptionGivenTwice) {
  EXPECT_EQ(refusal({"--n", "1", "--n", "2"}), "--n: given 2 times, allowed once");
  EXPECT_EQ(refusal({"--n=1", "--n=1", "--n=1"}), "--n: given 3 times, allowed once");
  EXPECT_EQ(refusal({"--quiet", "--quiet"}), "--quiet: given 2 times, allowed once");
}

TEST(Options, RefusesWhatIsNoOptionAndListsThem) {
  for (const char* argument : {"--frobnicate", "--frobnicate=1", "--QUIET", "--quie", "-n", "-",
                               "--", "++", "stray", ""}) {
    const std::string text = refusal({argument});
    EXPECT_EQ(text.find("'" + std::string(argument) + "': not an option; allowed are --help,"), 0U)
        << text;
    expect_contains(text, "--determinism");
  }
}

TEST(Options, RefusesTwoSourcesOfTheCount) {
  expect_contains(refusal({"--n", "5", "--input", "x.npy"}), "--n: not allowed with --input");
  EXPECT_EQ(options({"--seed", "5", "--input", "x.npy"}).seed, 5U);
}

TEST(Options, RefusesToRequireAGpuOnTheSimulator) {
  expect_contains(refusal({"--require-gpu", "--device", "sim"}),
                  "--require-gpu: not allowed with --device sim");
  EXPECT_TRUE(options({"--require-gpu", "--device", "cuda:1"}).require_gpu);
}

TEST(Options, RefusalsStayOnOneLineWhateverTheValue) {
  EXPECT_EQ(refusal({"--block", "1\n\x1b[31m"}),
            R"(--block 1\n\x1b[31m: must be a power of two from 32 to 1024)");
  EXPECT_EQ(refusal({"--a\nb"}).find('\n'), std::string::npos);
}

TEST(Options, HelpNamesEveryStageStatusAndOption) {
  for (const char* option : {"--help"}) {
    const std::string help = parse({option}).text.value();
    for (const Stage& stage : fake_stages()) expect_contains(help, std::string(stage.name));
    for (const char* part :
         {"--verify",      "--stages", "--list",     "--n ",      "--block",       "--grid",
          "--device",      "--input",  "--data",     "--seed",    "--determinism", "--json",
          "--require-gpu", "--quiet",  "--misalign", "--version", "Examples:",     "numbers (1-5)",
          "Exit status:",  "  0  ",    "  1  ",      "  2  ",     "  3  ",         "  4  "}) {
      expect_contains(help, part);
    }
    EXPECT_EQ(help.find('{'), std::string::npos) << "an unfilled placeholder";
    EXPECT_EQ(help.back(), '\n');
  }
}

TEST(Options, ExamplesInTheHelpAreAccepted) {
  const std::string help = parse({"--help"}).text.value();
  EXPECT_NE(help.find("--stages 1-3,float4 --n 2^28"), std::string::npos);
  EXPECT_EQ(refusal({"--stages", "1-3,float4", "--n", "2^28"}), "");
}

TEST(Options, HelpAndVersionWinOverMistakes) {
  EXPECT_TRUE(parse({"--block", "180", "--help"}).text.has_value());
  EXPECT_TRUE(parse({"--frobnicate", "--version"}).text.has_value());
}

TEST(Options, VersionIsOneLine) {
  EXPECT_EQ(parse({"--version"}).text, "reduce-ladder " REDUCE_LADDER_VERSION "\n");
}

}  // namespace
}  // namespace reduce_ladder
