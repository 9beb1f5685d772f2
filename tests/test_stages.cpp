// Every stage of the table, on every device that is there, against sizes and data at which
// reductions have failed before.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "devices.hpp"
#include "input.hpp"
#include "reference.hpp"
#include "verify.hpp"

namespace reduce_ladder {

void PrintTo(const Stage& stage, std::ostream* out) {
  *out << stage.name;
}

namespace {

using Values = std::vector<float>;

Values uniform(Index n) {
  const Input input = generate_uniform(n, 2026);
  return {input.values().begin(), input.values().end()};
}

// Every partial sum in any order is an integer below 2^24, so exact in float32.
Values small_integers(Index n) {
  std::mt19937 random(17);
  Values values(n);
  // Few of a random sign, so that the sum of magnitudes stays below 2^24 whatever n is.
  const Index step = n / 3'000'000 + 1;
  for (Index i = 0; i < n; i += step)
    values[i] = static_cast<float>(static_cast<int>(random() % 7) - 3);
  return values;
}

Values alternating(Index n) {
  Values values(n);
  for (Index i = 0; i < n; ++i) values[i] = i % 2 == 0 ? 1.0F : -1.0F;
  return values;
}

// Where a single value could be dropped or added twice: ends, tails, borders of warps and blocks.
std::set<Index> places_of_interest(Index n, unsigned block) {
  std::set<Index> places;
  if (n == 0) return places;
  std::mt19937_64 random(n);
  for (const Index i :
       {Index{0}, Index{1}, Index{31}, Index{32}, Index{block} - 1, Index{block},
        Index{2} * block - 1, Index{2} * block, n / 2, n - 2, n - 1, random() % n}) {
    if (i < n) places.insert(i);
  }
  return places;
}

std::set<Index> sizes(Index block, const Machine& machine) {
  const Index capacity = Index{machine.multiprocessors} * machine.threads_per_multiprocessor;
  return {0,
          1,
          2,
          3,
          31,
          32,
          33,
          block - 1,
          block,
          block + 1,
          2 * block - 1,
          2 * block,
          2 * block + 1,
          1000,
          1023,
          1024,
          1025,
          65535,
          65536,
          65537,
          99991,
          block * block + 1,
          8 * capacity + 2 * block + 1};
}

std::string stage_name(const Stage& stage) {
  std::string name(stage.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// Declares `device` for the rest of the test, or skips it where the device is not there or cannot
// run the stage.
#define USE_STAGE_OR_SKIP(device, kind) \
  USE_DEVICE_OR_SKIP(device, kind);     \
  if (const auto obstacle = (device).obstacle(on(device))) GTEST_SKIP() << "skipped: " << *obstacle

class EveryStage : public ::testing::TestWithParam<std::tuple<DeviceKind, Stage>> {
 protected:
  static DeviceKind kind() { return std::get<DeviceKind>(GetParam()); }
  // The stage as this device runs it.
  static const Stage& on(const Device& device) {
    const int number = std::get<Stage>(GetParam()).number;
    return *std::find_if(device.stages().begin(), device.stages().end(),
                         [number](const Stage& s) { return s.number == number; });
  }
  static Plan plan(const Device& device, Index n, std::optional<unsigned> block) {
    return on(device).plan(n, {block, device.info().machine});
  }
  static bool adds_one_by_one(const Device& device) {
    constexpr Index kMany = 1000;
    return plan(device, kMany, std::nullopt).atomic_depth == kMany;
  }
  static float sum(Device& device, const Values& values, unsigned block) {
    device.load(values);
    return device.run(on(device), plan(device, values.size(), block));
  }
};

const std::vector<unsigned> kBlocks = {32, 64, 128, 256, 512, 1024};

TEST_P(EveryStage, DropsOrAddsNothingAtAnySizeBlockAndData) {
  USE_STAGE_OR_SKIP(device, kind());
  for (const unsigned block : kBlocks) {
    for (const Index n : sizes(block, device.info().machine)) {
      SCOPED_TRACE("block " + std::to_string(block) + ", n " + std::to_string(n));
      const Plan plan = EveryStage::plan(device, n, block);

      const Values random = uniform(n);
      const float result = sum(device, random, block);
      const Verification verification = verify(std::span(&result, 1), compute_reference(random),
                                               plan.depth(), 0, on(device).accumulation);
      EXPECT_EQ(verification.verdict, Verdict::passed)
          << verification.note << ": error " << verification.error << ", bound "
          << verification.bound;

      const Values integers = small_integers(n);
      double exact = 0;
      for (const float x : integers) exact += x;
      EXPECT_EQ(sum(device, integers, block), exact) << "small integers";
      EXPECT_EQ(sum(device, alternating(n), block), n % 2 == 0 ? 0.0F : 1.0F) << "alternating";

      Values one_hot(n);
      for (const Index place : places_of_interest(n, block)) {
        one_hot[place] = 1;
        EXPECT_EQ(sum(device, one_hot, block), 1.0F) << "one-hot at " << place;
        one_hot[place] = 0;
      }
    }
  }
}

TEST_P(EveryStage, Failure01_OneValueIsNotTheValue) {
  USE_STAGE_OR_SKIP(device, kind());
  for (const unsigned block : kBlocks) {
    for (const float x : {3.25F, -1e-30F, 3.4e38F}) EXPECT_EQ(sum(device, {x}, block), x);
  }
}

TEST_P(EveryStage, Failure02_NoValuesAreNotTheIdentity) {
  USE_STAGE_OR_SKIP(device, kind());
  for (const unsigned block : kBlocks) {
    EXPECT_EQ(std::bit_cast<unsigned>(sum(device, {}, block)), 0U) << "+0 at block " << block;
  }
}

TEST_P(EveryStage, Failure03_SmallerProblemAfterALargerOneHangsOrIsStale) {
  USE_STAGE_OR_SKIP(device, kind());
  const Index large = kind() == DeviceKind::cuda ? Index{1} << 25U : Index{1} << 20U;
  Values few_ones(large);
  for (Index i = 0; i < large; i += 8) few_ones[i] = 1;
  EXPECT_EQ(sum(device, few_ones, 256), static_cast<float>(large / 8));
  EXPECT_EQ(sum(device, Values(1024, 2.0F), 256), 2048.0F);
}

TEST_P(EveryStage, Failure04_ReadsPastTheEndOfASizeThatFillsNoBlock) {
  USE_STAGE_OR_SKIP(device, kind());
  // What lies behind the input is NaN here, which would come through.
  for (const unsigned block : kBlocks) {
    Values padded(Index{4} * block, Device::kNan);
    for (const Index n : {block - 1, block + 1, 2 * block - 1, 2 * block + 1, 3 * block / 2}) {
      std::fill_n(padded.begin(), n, 1.0F);
      std::fill(padded.begin() + static_cast<std::ptrdiff_t>(n), padded.end(), Device::kNan);
      device.load(padded);
      EXPECT_EQ(device.run(on(device), plan(device, n, block)), static_cast<float>(n))
          << "block " << block;
    }
  }
}

TEST_P(EveryStage, Failure05_LaterPassesAssumeAnotherBlockSize) {
  USE_STAGE_OR_SKIP(device, kind());
  for (const unsigned block : kBlocks) {
    const Plan plan = EveryStage::plan(device, 1'000'003, block);
    for (std::size_t i = 0; i < plan.passes.size(); ++i) {
      // The reference does not say what it launches.
      EXPECT_EQ(plan.passes[i].block, is_reference(on(device)) ? 0 : block);
      EXPECT_EQ(plan.passes[i].n, i == 0 ? 1'000'003 : plan.passes[i - 1].grid);
    }
    EXPECT_TRUE(plan.passes.back().grid == 1 || plan.atomic_depth > 0 || plan.control > 0 ||
                plan.scratch > 0)
        << "one value is left";
    EXPECT_EQ(sum(device, Values(1'000'003, 1.0F), block), 1'000'003.0F);
  }
}

TEST_P(EveryStage, Failure06_SharedMemoryBeyondTheInputIsAdded) {
  USE_STAGE_OR_SKIP(device, kind());
  // The simulator fills shared memory with NaN; on a GPU a first launch leaves large numbers there.
  for (const unsigned block : kBlocks) {
    sum(device, Values(Index{64} * block, 1e30F), block);
    EXPECT_EQ(sum(device, Values(5, 1.0F), block), 5.0F) << "block " << block;
  }
}

TEST_P(EveryStage, Failure08_ShuffleReadsLanesThatABlockOf32DoesNotHave) {
  USE_STAGE_OR_SKIP(device, kind());
  for (Index n = 1; n <= 70; ++n) {
    EXPECT_EQ(sum(device, Values(n, 1.0F), 32), static_cast<float>(n));
  }
}

TEST_P(EveryStage, Failure09_BlockOf1024RunsNothing) {
  USE_STAGE_OR_SKIP(device, kind());
  EXPECT_EQ(sum(device, Values(4099, 1.0F), 1024), 4099.0F);
}

TEST_P(EveryStage, Failure11And12_SumDependsOnTheOrderInWhichThreadsRun) {
  USE_STAGE_OR_SKIP(device, kind());
  // A missing barrier shows as a wrong sum under some schedule: exact data have one right answer.
  const Values values = small_integers(20'011);
  double exact = 0;
  for (const float x : values) exact += x;
  device.load(values);
  for (const unsigned block : kBlocks) {
    const Plan plan = EveryStage::plan(device, values.size(), block);
    for (int repeat = 0; repeat < 25; ++repeat) ASSERT_EQ(device.run(on(device), plan), exact);
  }
}

TEST_P(EveryStage, Failure14_EvenStrideHidesLostBlocksOfAlternatingData) {
  USE_STAGE_OR_SKIP(device, kind());
  // Runs of equal signs, as long as a block: a block that is lost cannot cancel.
  Values values(100'000);
  double exact = 0;
  for (Index i = 0; i < values.size(); ++i) {
    values[i] = i / 256 % 3 == 0 ? -1.0F : 2.0F;
    exact += values[i];
  }
  EXPECT_EQ(sum(device, values, 256), exact);
}

TEST_P(EveryStage, Failure15_SeventeenMillionOnesStopAtTwoToThe24) {
  USE_STAGE_OR_SKIP(device, kind());
  if (adds_one_by_one(device)) GTEST_SKIP() << "the stage is that sum, and its bound allows for it";
  const Values ones(17'000'000, 1.0F);
  const float result = sum(device, ones, 256);
  EXPECT_NE(result, 16'777'216.0F);
  EXPECT_NEAR(result, 17'000'000.0, gamma(plan(device, ones.size(), 256).depth()) * 17e6);
}

TEST_P(EveryStage, Failure16_RightResultIsCalledWrongByAFloat32Reference) {
  USE_STAGE_OR_SKIP(device, kind());
  if (adds_one_by_one(device)) GTEST_SKIP() << "the stage is that sum, and its bound allows for it";
  const Values ones(17'000'000, 1.0F);
  float sequential = 0;
  for (const float x : ones) sequential += x;
  const float result = sum(device, ones, 256);
  const Index depth = plan(device, ones.size(), 256).depth();
  const Reference right = compute_reference(ones);
  const Accumulation accumulation = on(device).accumulation;
  const Reference wrong{.sum = sequential, .abs_sum = right.abs_sum, .method = "float32 loop"};
  EXPECT_EQ(verify(std::span(&result, 1), wrong, depth, 0, accumulation).verdict, Verdict::failed);
  EXPECT_EQ(verify(std::span(&result, 1), right, depth, 0, accumulation).verdict, Verdict::passed);
}

TEST_P(EveryStage, Failure18_ResultGrowsFromRunToRun) {
  USE_STAGE_OR_SKIP(device, kind());
  device.load(std::span<const float>());
  const Values values(12'345, 1.0F);
  device.load(values);
  const Plan plan = EveryStage::plan(device, values.size(), 128);
  for (int repeat = 0; repeat < 5; ++repeat) EXPECT_EQ(device.run(on(device), plan), 12'345.0F);
}

TEST_P(EveryStage, LosesOrInventsNotANumber) {
  USE_STAGE_OR_SKIP(device, kind());
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const unsigned block : {32U, 256U}) {
    Values values(2000, 1.0F);
    for (const Index place : places_of_interest(values.size(), block)) {
      values[place] = kNan;
      EXPECT_TRUE(std::isnan(sum(device, values, block))) << "NaN at " << place << " got lost";
      values[place] = kInfinity;
      EXPECT_EQ(sum(device, values, block), kInfinity) << "infinity at " << place;
      values[place] = 1;
    }
    // What lies behind the input must not be read.
    Values padded(1000, 1.0F);
    padded.resize(4000, kNan);
    device.load(padded);
    EXPECT_EQ(device.run(on(device), plan(device, 1000, block)), 1000.0F);
  }
}

TEST_P(EveryStage, OverflowsOnTheWayToASumInRange) {
  USE_STAGE_OR_SKIP(device, kind());
  constexpr float kMax = std::numeric_limits<float>::max();
  for (const Values& values : {Values{-0x1.8p104F, kMax}, Values{kMax, -0x1.8p104F},
                               Values{0x1.8p104F, -kMax}, Values{-kMax, 0x1.8p104F}}) {
    const float result = sum(device, values, 256);
    EXPECT_EQ(result, compute_reference(values).sum_as_float) << values[0] << " + " << values[1];
  }
}

TEST_P(EveryStage, FlushesSubnormalsToZero) {
  USE_STAGE_OR_SKIP(device, kind());
  const float tiny = std::numeric_limits<float>::denorm_min();
  const Plan plan = EveryStage::plan(device, 1000, 64);
  const float result = sum(device, Values(1000, tiny), 64);
  if (plan.atomic_depth == 0 || kind() == DeviceKind::sim) {
    EXPECT_EQ(result, 1000 * tiny);
  } else {
    // A GPU's atomicAdd does flush, and the bound allows for just that.
    EXPECT_NEAR(result, 1000 * tiny, static_cast<double>(plan.atomic_depth) * 0x1p-125);
  }
}

TEST_P(EveryStage, BreaksItsDeterminismClaim) {
  USE_STAGE_OR_SKIP(device, kind());
  const Values values = uniform(300'007);
  device.load(values);
  const Plan plan = EveryStage::plan(device, values.size(), 256);
  std::vector<float> results;
  for (int repeat = 0; repeat < 20; ++repeat) results.push_back(device.run(on(device), plan));
  EXPECT_NE(probe(results, on(device).determinism).outcome, Probe::Outcome::refuted);
}

TEST_P(EveryStage, PlansMoreBlocksThanCudaLaunches) {
  USE_STAGE_OR_SKIP(device, kind());
  for (const unsigned block : kBlocks) {
    for (const Index n : {Index{1} << 31U, Index{1} << 33U, (Index{1} << 35U) + 1}) {
      const Plan plan = EveryStage::plan(device, n, block);
      EXPECT_EQ(plan.passes.front().n, n);
      EXPECT_LE(plan.passes.front().grid, kMaxGrid);
    }
    // 2^40 values are past the grid of the small tiles: refused before any launch, or planned in
    // full.
    try {
      const Plan plan = EveryStage::plan(device, Index{1} << 40U, block);
      EXPECT_LE(plan.passes.front().grid, kMaxGrid);
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("2147483647"), std::string::npos);
    }
  }
}

TEST_P(EveryStage, StatesADepthThatItsErrorExceeds) {
  USE_STAGE_OR_SKIP(device, kind());
  // The bound must hold for the real arrays, whose cancellation and range are not a generator's.
  for (const char* name :
       {"silero_vad_16k_weights.npy", "canada_coordinates.npy", "mesh_vertices.npy"}) {
    const Input input = read_input(std::string(REDUCE_LADDER_TEST_DATA "/") + name);
    const Reference reference = compute_reference(input.values());
    device.load(input.values());
    for (const unsigned block : kBlocks) {
      const Plan plan = EveryStage::plan(device, input.info.n, block);
      const float result = device.run(on(device), plan);
      const Verification verification =
          verify(std::span(&result, 1), reference, plan.depth(), 0, on(device).accumulation);
      EXPECT_EQ(verification.verdict, Verdict::passed)
          << name << " at block " << block << ": error " << verification.error << ", bound "
          << verification.bound;
    }
  }
}

TEST_P(EveryStage, ChoosesAShapeThatDropsOrAddsSomething) {
  USE_STAGE_OR_SKIP(device, kind());
  // Without --block: around the sizes at which the shape goes from one block to several, from small
  // blocks to large ones, and from one round of loads to more.
  const Machine& machine = device.info().machine;
  const Index capacity = Index{machine.multiprocessors} * 1024;
  for (const Index size : {Index{512}, Index{16384}, 32 * 256 * Index{machine.multiprocessors},
                           16 * capacity, 32 * capacity, 64 * capacity}) {
    for (const Index n : {size - 1, size, size + 1}) {
      SCOPED_TRACE("n " + std::to_string(n));
      const Values values = small_integers(n);
      double exact = 0;
      for (const float x : values) exact += x;
      device.load(values);
      EXPECT_EQ(device.run(on(device), plan(device, n, std::nullopt)), exact);
    }
  }
}

TEST_P(EveryStage, LosesBlocksOfAGridThatWasAskedFor) {
  USE_STAGE_OR_SKIP(device, kind());
  const Values values = small_integers(300'007);
  double exact = 0;
  for (const float x : values) exact += x;
  device.load(values);
  for (const unsigned grid : {1U, 2U, 3U, 16U, 33U, 1000U, 5000U}) {
    for (const std::optional<unsigned> block : {std::optional<unsigned>(), std::optional(32U)}) {
      Plan plan;
      try {
        plan = on(device).plan(values.size(), {block, device.info().machine, grid});
      } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("at most"), std::string::npos) << error.what();
        EXPECT_GT(grid, 16U) << "so few blocks are resident at once";
        continue;
      }
      EXPECT_EQ(device.run(on(device), plan), exact) << "grid " << grid;
    }
  }
}

TEST_P(EveryStage, Failure13_BaseIsNotAlignedForVectors) {
  USE_STAGE_OR_SKIP(device, kind());
  for (const unsigned misalignment : {1U, 2U, 3U}) {
    for (const std::optional<unsigned> block : {std::optional<unsigned>(), std::optional(64U)}) {
      for (const Index n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 1023, 1025, 16'385, 100'003}) {
        SCOPED_TRACE(std::to_string(4 * misalignment) + " bytes off, n " + std::to_string(n));
        // NaN before and behind, which would come through.
        Values padded(n + 8, Device::kNan);
        const Values values = small_integers(n);
        std::copy(values.begin(), values.end(), padded.begin());
        double exact = 0;
        for (const float x : values) exact += x;
        device.load(padded, misalignment);
        EXPECT_EQ(device.run(on(device), plan(device, n, block)), exact);
        Values one_hot(n);
        for (const Index place : places_of_interest(n, 64)) {
          if (place > 4 && place + 5 < n) continue;
          one_hot[place] = 1;
          device.load(one_hot, misalignment);
          EXPECT_EQ(device.run(on(device), plan(device, n, block)), 1.0F) << "at " << place;
          one_hot[place] = 0;
        }
      }
    }
  }
}

TEST_P(EveryStage, GivesOtherBitsToTheSameValuesElsewhere) {
  USE_STAGE_OR_SKIP(device, kind());
  if (on(device).determinism == Determinism::not_guaranteed) GTEST_SKIP() << "promises nothing";
  // From run to run, whatever ran in between: control words are where they were.
  const Values values = uniform(200'003);
  const Values others = uniform(50'021);
  device.load(values);
  const float first = device.run(on(device), plan(device, values.size(), std::nullopt));
  for (int repeat = 0; repeat < 5; ++repeat) {
    device.load(others);
    device.run(on(device), plan(device, others.size(), std::nullopt));
    device.load(values);
    EXPECT_EQ(
        std::bit_cast<unsigned>(device.run(on(device), plan(device, values.size(), std::nullopt))),
        std::bit_cast<unsigned>(first));
  }
}

std::vector<Stage> stages_that_are_simulated() {
  std::vector<Stage> stages;
  std::ranges::copy_if(stages_simulated(), std::back_inserter(stages),
                       [](const Stage& stage) { return stage.compute_capability == 0; });
  return stages;
}

std::string parameter_name(const ::testing::TestParamInfo<EveryStage::ParamType>& parameter) {
  return stage_name(std::get<Stage>(parameter.param));
}

INSTANTIATE_TEST_SUITE_P(Simulator, EveryStage,
                         ::testing::Combine(::testing::Values(DeviceKind::sim),
                                            ::testing::ValuesIn(stages_that_are_simulated())),
                         parameter_name);
INSTANTIATE_TEST_SUITE_P(Gpu, EveryStage,
                         ::testing::Combine(::testing::Values(DeviceKind::cuda),
                                            ::testing::ValuesIn(stages_simulated().begin(),
                                                                stages_simulated().end())),
                         parameter_name);

TEST(StageTable, IsOutOfOrderOrIncomplete) {
  int before = -1;
  int classic = 0;
  for (const Stage& stage : stages_simulated()) {
    EXPECT_GT(stage.number, before);
    before = stage.number;
    classic += is_classic(stage) ? 1 : 0;
    EXPECT_FALSE(stage.name.empty() || stage.idea.empty() || stage.removes.empty());
    EXPECT_TRUE((stage.plan != nullptr && stage.launch != nullptr) || stage.compute_capability > 0);
  }
  EXPECT_EQ(classic, 9) << "the classic ladder has nine rungs";
}

// Positions beyond 2^31 and 2^32, which 32 bits cannot count.
TEST(GpuStages, Failure07_LosesValuesBeyondTwoToThe32) {
  USE_DEVICE_OR_SKIP(device, DeviceKind::cuda);
  constexpr Index kMost = (Index{1} << 32U) + 5;
  Values values;
  try {
    values.assign(kMost, 0.0F);
    const std::set<Index> places = {0,
                                    1,
                                    (Index{1} << 30U) + 7,
                                    (Index{1} << 31U) - 1,
                                    Index{1} << 31U,
                                    (Index{1} << 31U) + 4,
                                    3 * (Index{1} << 30U) + 1,
                                    (Index{1} << 32U) - 1,
                                    Index{1} << 32U,
                                    kMost - 1};
    for (const Index place : places) values[place] = 1;
    device.load(values);
  } catch (const std::exception& error) {
    GTEST_SKIP() << "SKIPPED: no memory for " << kMost << " values: " << error.what();
  }
  for (const Stage& stage : device.stages()) {
    if (device.obstacle(stage)) continue;
    for (const Index n : {(Index{1} << 31U) + 5, kMost}) {
      const double exact = n == kMost ? 10 : 6;
      const Plan plan = stage.plan(n, {std::nullopt, device.info().machine});
      EXPECT_EQ(device.run(stage, plan), exact) << stage.name << " over " << n;
    }
  }
  device.load(std::span<const float>());
}

// The ticket and the flags, 10,000 times: one bit pattern.
TEST(GpuStages, ATicketOrAFlagIsSeenTooEarlyOnceInTenThousandRuns) {
  USE_DEVICE_OR_SKIP(device, DeviceKind::cuda);
  const Values values = uniform(3'000'017);
  device.load(values);
  for (const Stage& stage : device.stages()) {
    if (device.obstacle(stage) || stage.determinism == Determinism::not_guaranteed ||
        is_classic(stage)) {
      continue;
    }
    const Plan plan = stage.plan(values.size(), {std::nullopt, device.info().machine});
    const auto first = std::bit_cast<unsigned>(device.run(stage, plan));
    unsigned other = 0;
    for (int repeat = 1; repeat < 10'000; ++repeat) {
      other += std::bit_cast<unsigned>(device.run(stage, plan)) == first ? 0 : 1;
    }
    EXPECT_EQ(other, 0U) << stage.name;
  }
}

TEST(StageTable, SimulatedOrderOfAtomicsNeverVaries) {
  // Only a stage that promises nothing may show two sums, and on the simulator it has to show them:
  // otherwise the probe of the others would prove nothing.
  const auto device = make_simulated_device(3);
  const Values values = uniform(2'000'003);
  device->load(values);
  for (const Stage& stage : device->stages()) {
    if (device->obstacle(stage)) continue;
    const Plan plan = stage.plan(values.size(), {256, device->info().machine});
    std::vector<float> results;
    for (int repeat = 0; repeat < 8; ++repeat) results.push_back(device->run(stage, plan));
    const unsigned distinct = probe(results, stage.determinism).distinct;
    if (stage.determinism == Determinism::not_guaranteed) {
      EXPECT_GT(distinct, 1U) << stage.name;
    } else {
      EXPECT_EQ(distinct, 1U) << stage.name;
    }
  }
}

}  // namespace
}  // namespace reduce_ladder
