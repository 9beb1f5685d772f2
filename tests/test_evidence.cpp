// What is made of counters: which cost is gone, which one is first, and how that is said.
#include "evidence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "input.hpp"
#include "ladder.hpp"
#include "lines.hpp"
#include "sample_report.hpp"

namespace reduce_ladder {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Index kN = Index{1} << 18U;

Stage stage_for(Cost cost) {
  return {.number = 2, .name = "after", .idea = "less of it", .removes = "the cost", .cost = cost};
}

// One launch of two blocks of 64 threads; only what is given differs.
LaunchCounters launch(Counter counter, double value) {
  LaunchCounters counted;
  for (const Counter every : kSimulatedCounters) counted[every] = 4;
  counted[Counter::blocks] = 2;
  counted[counter] = value;
  return counted;
}

TEST(Evidence, PraisesARungThatFailsToRemoveItsCost) {
  const Stage stage = stage_for(Cost::block_barriers);
  const Evidence before{nullptr, {launch(Counter::block_barriers, 36)}, {}};
  const Evidence same{&stage, {launch(Counter::block_barriers, 36)}, {}};
  const Evidence worse{&stage, {launch(Counter::block_barriers, 40)}, {}};
  const Evidence better{&stage, {launch(Counter::block_barriers, 12)}, {}};
  const Evidence a_little{&stage, {launch(Counter::block_barriers, 32)}, {}};
  EXPECT_EQ(removal(before, same, kN), Removal::not_removed);
  EXPECT_EQ(removal(before, worse, kN), Removal::not_removed);
  EXPECT_EQ(removal(before, better, kN), Removal::removed);
  EXPECT_EQ(removal(before, a_little, kN), Removal::reduced);
}

TEST(Evidence, BlamesARungWhereThereWasNothingToRemove) {
  const Stage blocks = stage_for(Cost::blocks);
  const Stage conflicts = stage_for(Cost::bank_conflicts);
  const Launches one_block = {launch(Counter::blocks, 1)};
  const Launches two_blocks = {launch(Counter::blocks, 2)};
  EXPECT_EQ(removal({nullptr, one_block, {}}, {&blocks, one_block, {}}, kN), Removal::not_there);
  EXPECT_EQ(removal({nullptr, one_block, {}}, {&blocks, two_blocks, {}}, kN), Removal::added);
  EXPECT_EQ(removal({nullptr, two_blocks, {}}, {&blocks, one_block, {}}, kN), Removal::removed);
  EXPECT_EQ(removal({nullptr, one_block, {}}, {&conflicts, one_block, {}}, kN), Removal::not_there);
  const Evidence some{nullptr, {launch(Counter::shared_load_wavefronts, 8)}, {}};
  const Evidence fewer{&conflicts, {launch(Counter::shared_load_wavefronts, 6)}, {}};
  EXPECT_EQ(removal(some, fewer, kN), Removal::reduced) << "half of the conflicts are there still";
  const Stage loads = stage_for(Cost::load_instructions);
  const Launches one_load = {launch(Counter::global_loads, 1)};
  EXPECT_EQ(removal({nullptr, one_load, {}}, {&loads, one_load, {}}, 5), Removal::not_there)
      << "fewer than one load there cannot be";
  const Launches two_loads = {launch(Counter::global_loads, 2)};
  EXPECT_EQ(removal({nullptr, two_loads, {}}, {&loads, two_loads, {}}, 5), Removal::not_removed);
  EXPECT_EQ(removal({nullptr, two_loads, {}}, {&loads, one_load, {}}, 5), Removal::removed);
}

TEST(Evidence, BelievesTheSimulatorWhereAGpuSaysOtherwise) {
  const Stage stage = stage_for(Cost::shared_instructions);
  const Launches many = {launch(Counter::shared_loads, 36)};
  const Launches few = {launch(Counter::shared_loads, 12)};
  const Evidence before{nullptr, many, many};
  const Evidence after{&stage, few, many};
  EXPECT_EQ(removal(before, after, kN), Removal::not_removed);
}

// The GPU's figure has other instructions in it.
TEST(Evidence, TakesReadsOfRegistersForBarriers) {
  const Stage first = {.number = 1, .name = "before", .idea = "more of it", .removes = "nothing"};
  const Stage stage = stage_for(Cost::block_barriers);
  const Evidence before{
      &first, {launch(Counter::block_barriers, 36)}, {launch(Counter::block_barriers, 44)}};
  const Evidence after{
      &stage, {launch(Counter::block_barriers, 12)}, {launch(Counter::block_barriers, 20)}};
  EXPECT_THAT(format_explanation(&before, after, kN, 16, {}),
              AllOf(HasSubstr("block barriers a block 9 -> 3."),
                    HasSubstr("block barriers a block: gpu with reads of special registers")));
  const Evidence unsimulated{&stage, {}, {launch(Counter::block_barriers, 20)}};
  EXPECT_THAT(format_explanation(&before, unsimulated, kN, 16, {}),
              HasSubstr("block barriers a block 11 -> 5."));
  const Evidence unmeasured{&stage, after.simulated, {}};
  EXPECT_THAT(format_explanation(&before, unmeasured, kN, 16, {}), Not(HasSubstr("gpu with")));
}

TEST(Evidence, JudgesWhatNobodyCounted) {
  const Stage instructions = stage_for(Cost::instructions);
  const Stage nothing = stage_for(Cost::none);
  const Launches counted = {launch(Counter::blocks, 2)};
  const Evidence before{nullptr, counted, {}};
  EXPECT_EQ(removal(before, {&instructions, counted, {}}, kN), Removal::not_counted);
  EXPECT_EQ(removal(before, {&nothing, counted, {}}, kN), Removal::none_claimed);
}

TEST(Evidence, SaysInWordsWhatTheCountersDoNot) {
  const Stage first = {.number = 1, .name = "before", .idea = "more of it", .removes = "nothing"};
  const Stage stage = stage_for(Cost::block_barriers);
  const Evidence before{&first, {launch(Counter::block_barriers, 36)}, {}};
  const auto text = [&](double barriers) {
    return format_explanation(&before, {&stage, {launch(Counter::block_barriers, barriers)}, {}},
                              kN, 16, {});
  };
  EXPECT_THAT(text(12), AllOf(HasSubstr("Removed: the cost. The counters say: block barriers a "
                                        "block 9 -> 3."),
                              Not(HasSubstr("NOT"))));
  EXPECT_THAT(text(36),
              HasSubstr("NOT removed: the cost. The counters say: block barriers a block 9 "
                        "-> 9."));
}

TEST(Evidence, HidesWhyAStageWasNotCounted) {
  const Stage stage = stage_for(Cost::blocks);
  EXPECT_THAT(format_explanation(nullptr, {&stage, {}, {}, "thread 3 went astray"}, kN, 16, {}),
              HasSubstr("Not counted: thread 3 went astray"));
}

TEST(Evidence, RanksCostsByAnythingButTheirSize) {
  LaunchCounters counted;
  for (const Counter every : kSimulatedCounters) counted[every] = 0;
  counted[Counter::global_load_sectors] = 100;
  EXPECT_EQ(shares({counted}, 16).front().work, "reading memory");
  EXPECT_EQ(shares({counted}, 16).front().share, 1);
  counted[Counter::block_barriers] = 1000;
  EXPECT_EQ(shares({counted}, 16).front().work, "block barriers");
  counted[Counter::shared_loads] = 100;
  counted[Counter::shared_load_conflicts] = 10'000;
  EXPECT_EQ(shares({counted}, 16).front().work, "bank conflicts");
  counted[Counter::global_atomic_lanes_at_one] = 10'000;
  EXPECT_EQ(shares({counted}, 16).front().work, "atomic operations at one address");
  double sum = 0;
  for (const Share& share : shares({counted, counted}, 16)) sum += share.share;
  EXPECT_NEAR(sum, 1, 1e-12);
  counted[Counter::shared_loads] = std::nullopt;
  EXPECT_TRUE(shares({counted}, 16).empty()) << "what was not counted is not nothing";
}

TEST(Evidence, DoesNotKnowTheFileOfARung) {
  for (const Stage& stage : stages_simulated()) {
    if (is_reference(stage)) continue;
    EXPECT_THAT(std::string(rung_source(stage.number)), HasSubstr("REDUCE_LADDER_BACKEND"))
        << stage.name;
  }
  EXPECT_EQ(rung_source(99), "");
}

// --explain over the whole ladder, as a user without a GPU sees it.
TEST(Explainer, LeavesAClassicRungUnprovedThatTheSimulatorCanProve) {
  const auto device = make_simulated_device(1);
  const Input input = generate_uniform(Index{1} << 20U, 42);
  Climb what;
  for (const Stage& stage : device->stages()) what.stages.push_back(stage.number);
  Explainer explainer(*device, input, plan_explanation(*device, input.info.n, what), 0,
                      [](std::string_view) {});
  for (const Stage& stage : device->stages()) {
    const std::string text = explainer.explain(stage.number, {});
    EXPECT_THAT(text, HasSubstr(stage.name));
    if (device->obstacle(stage)) {
      EXPECT_THAT(text, HasSubstr("Not counted: needs a GPU"));
      continue;
    }
    EXPECT_THAT(text, AllOf(HasSubstr("Now first: "), HasSubstr("  | ")));
    if (stage.cost == Cost::instructions) {
      EXPECT_THAT(text, HasSubstr("Not shown: "));
    } else if (stage.name == "grid-barrier") {
      EXPECT_THAT(text, HasSubstr("NOT removed: ")) << "the barrier is made of atomic operations";
    } else if (stage.cost != Cost::none) {
      EXPECT_THAT(text, HasSubstr("Removed: "));
    }
  }
  EXPECT_THAT(explainer.explain(1, {}), HasSubstr("__global__ void interleaved_modulo"));
  EXPECT_THAT(explainer.explain(15, {}), HasSubstr("struct CompensatedSum"));
  EXPECT_EQ(explainer.note(), "");
}

TEST(Explainer, ComparesARungWithAnotherThanTheOneThatItChanges) {
  const std::span<const Stage> stages = stages_simulated();
  const auto changed = [&](int number) {
    return changed_by(*std::ranges::find(stages, number, &Stage::number), stages);
  };
  EXPECT_EQ(changed(0), std::nullopt);
  EXPECT_EQ(changed(1), std::nullopt);
  EXPECT_EQ(changed(3), 2);
  EXPECT_EQ(changed(17), 11);
  EXPECT_EQ(changed(kReferenceNumber), std::nullopt);
}

TEST(CountersTable, LeavesOutWhatAGpuAloneCounts) {
  const Stage stage = stage_for(Cost::none);
  LaunchCounters simulated;
  simulated[Counter::blocks] = 4096;
  LaunchCounters measured = simulated;
  measured[Counter::warp_instructions] = 1'234'567;
  measured[Counter::lanes_per_instruction] = 20.5;
  measured[Counter::barrier_stall] = 0.25;
  measured[Counter::dram_bytes] = 6.5e6;
  measured[Counter::dram_share] = 0.125;
  for (const Counter counter : {Counter::shared_load_conflicts, Counter::shared_store_conflicts}) {
    simulated[counter] = 2000;
    measured[counter] = 2160.5;
  }
  Report report;
  report.input.n = kN;
  StageResult& result = report.stages.emplace_back();
  result.stage = &stage;
  result.simulated = {simulated};
  result.measured = {measured};
  const std::string text = format_counters(report, {});
  for (const char* shown : {"What a GPU alone counts:", "1,234,567", "20.50", " 25 ", "6.50",
                            "12.50", "  gpu  ", "confl: bank conflicts, in all (gpu with noise)"}) {
    EXPECT_THAT(text, HasSubstr(shown));
  }
  EXPECT_THAT(text, ::testing::ContainsRegex("sim .*4,000")) << "beside the simulated ones";
  EXPECT_THAT(text, ::testing::ContainsRegex("gpu .*4,321"));
  EXPECT_TRUE(reduce_ladder::measured(report));
}

TEST(CountersTable, LeavesOutWhatBothCount) {
  const Stage stage = stage_for(Cost::none);
  LaunchCounters counted;
  for (const auto& [counter, value] : {std::pair{Counter::blocks, 12.0},
                                       std::pair{Counter::warps, 24.0},
                                       std::pair{Counter::block_barriers, 24.0 * 21},
                                       std::pair{Counter::warp_barriers, 12.0 * 22},
                                       std::pair{Counter::shuffles, 12.0 * 23},
                                       std::pair{Counter::shared_loads, 12.0 * 20},
                                       std::pair{Counter::shared_stores, 12.0 * 4},
                                       std::pair{Counter::shared_load_lanes, 12.0 * 580},
                                       std::pair{Counter::shared_store_lanes, 12.0 * 20},
                                       std::pair{Counter::shared_load_wavefronts, 12.0 * 62},
                                       std::pair{Counter::shared_store_wavefronts, 12.0 * 2},
                                       std::pair{Counter::shared_load_conflicts, 19.0},
                                       std::pair{Counter::shared_store_conflicts, 8.0},
                                       std::pair{Counter::global_store_lanes, 25.0},
                                       std::pair{Counter::global_loads, 1001.0},
                                       std::pair{Counter::global_load_lanes, 26'026.0},
                                       std::pair{Counter::global_load_sectors, 3003.0},
                                       std::pair{Counter::global_load_bytes, 104'104.0},
                                       std::pair{Counter::global_stores, 31.0},
                                       std::pair{Counter::global_store_sectors, 124.0},
                                       std::pair{Counter::global_store_bytes, 100.0},
                                       std::pair{Counter::global_atomics, 37.0}}) {
    counted[counter] = value;
  }
  Report report;
  report.input.n = kN;
  StageResult& result = report.stages.emplace_back();
  result.stage = &stage;
  result.simulated = {counted};
  const std::string text = format_counters(report, {});
  const auto row = [&](const std::string& title) {
    const std::vector<std::string> lines = lines_of(text.substr(text.find(title)));
    std::istringstream cells(lines.at(2));
    return std::vector<std::string>(std::istream_iterator<std::string>(cells), {});
  };
  EXPECT_THAT(row("Counted, launch by launch:"),
              ElementsAre("2", "after", "1/1", "sim", "12", "24", "21", "22", "23", "24", "25",
                          "2.67", "27"));
  EXPECT_THAT(row("Counted of global memory:"),
              ElementsAre("2", "after", "1/1", "sim", "1,001", "26", "3", "31", "0.81", "4",
                          "104,204", "37"));
}

TEST(CountersTable, LeavesOutALaunchOrIsTooWide) {
  const auto device = make_simulated_device(1);
  Climb what;
  what.stages = {1, 9, 16};
  what.counted = true;
  const Report report = climb(*device, generate_uniform(100'000, 1), what, [](std::string_view) {});
  for (const unsigned width : {64U, 80U, 100U}) {
    const std::string text = format_counters(report, {.width = width});
    EXPECT_THAT(text, AllOf(HasSubstr("interleaved-modulo"), HasSubstr("exact"), HasSubstr("391")));
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find('\n', begin);
      EXPECT_LE(end - begin, width) << text;
      begin = end + 1;
    }
  }
  EXPECT_THAT(format_counters(report, {}), AllOf(HasSubstr("1/3"), HasSubstr("3/3")));
  EXPECT_THAT(format_counters(report, {}), Not(HasSubstr("What a GPU alone counts")));
  EXPECT_FALSE(measured(report));
  EXPECT_EQ(format_counters(Report{}, {}), "");
}

}  // namespace
}  // namespace reduce_ladder
