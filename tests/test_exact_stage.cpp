// Stage 16 where an exact sum could be lost: at ties, across bins, in long runs of one thread, and
// from one machine to another.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "devices.hpp"
#include "exact_sum.hpp"
#include "input.hpp"

namespace reduce_ladder {
namespace {

using Values = std::vector<float>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();
constexpr float kTiny = std::numeric_limits<float>::denorm_min();

std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

float exactly(const Values& values) {
  ExactSum sum;
  sum.add(values);
  return sum.as_float();
}

const Stage& exact_stage(const Device& device) {
  return *std::ranges::find(device.stages(), Accumulation::exact, &Stage::accumulation);
}

float sum(Device& device, const Values& values, std::optional<unsigned> block = {},
          std::optional<unsigned> grid = {}) {
  const Stage& stage = exact_stage(device);
  device.load(values);
  return device.run(stage, stage.plan(values.size(), {block, device.info().machine, grid}), 0);
}

class ExactStage : public ::testing::TestWithParam<DeviceKind> {};

TEST_P(ExactStage, RoundsATieOrWhatIsNextToOneTheWrongWay) {
  USE_DEVICE_OR_SKIP(device, GetParam());
  const Values all[] = {
      {0x1p24F, 1},                    // a tie, to even below
      {0x1p24F, 1, kTiny},             // just above it
      {0x1p24F, 1, -kTiny},            // just below it
      {0x1.000002p24F, 1},             // a tie, to even above
      {-0x1p24F, -1, -kTiny},          // and of negative sums
      {0x1p100F, 0x1p76F, 0x1p-100F},  // over many digits
      {0x1p100F, 0x1p76F, -0x1p-149F},
      {kTiny, kTiny, kTiny},
      {0x1p-126F, -kTiny},  // down to a subnormal
  };
  for (const Values& values : all) {
    EXPECT_EQ(bits(sum(device, values)), bits(exactly(values))) << values[0] << ", " << values[1];
  }
}

TEST_P(ExactStage, LosesWhatIsLeftWhenLargeValuesCancel) {
  USE_DEVICE_OR_SKIP(device, GetParam());
  EXPECT_EQ(sum(device, {1e30F, 1, -1e30F}), 1.0F);
  EXPECT_EQ(sum(device, {kMax, kTiny, -kMax}), kTiny);
  EXPECT_EQ(sum(device, {kMax, kMax, -kMax}), kMax) << "overflows on the way";
  EXPECT_EQ(bits(sum(device, {-1e30F, 1e30F})), 0U) << "no negative zero";
  EXPECT_EQ(bits(sum(device, {-0.0F, -0.0F})), 0U);
}

TEST_P(ExactStage, AnswersSpecialValuesUnlikeIeeeArithmetic) {
  USE_DEVICE_OR_SKIP(device, GetParam());
  Values values(5000, 1.0F);
  values[4321] = kInfinity;
  EXPECT_EQ(sum(device, values), kInfinity);
  values[1234] = -kMax;
  EXPECT_EQ(sum(device, values), kInfinity);
  values[77] = -kInfinity;
  EXPECT_EQ(bits(sum(device, values)), 0x7fc00000U) << "infinity - infinity";
  values[4321] = 1;
  EXPECT_EQ(sum(device, values), -kInfinity);
  values[77] = Device::kNan;
  EXPECT_EQ(bits(sum(device, values)), 0x7fc00000U);
  EXPECT_EQ(sum(device, {1, 2}), 3.0F) << "what was special is remembered";
  EXPECT_EQ(sum(device, {kMax, kMax}), kInfinity) << "beyond float32";
  EXPECT_EQ(sum(device, {-kMax, -kMax, 1}), -kInfinity);
}

TEST_P(ExactStage, BinsOverflowBeforeTheyAreEmptied) {
  USE_DEVICE_OR_SKIP(device, GetParam());
  // One block of 32 threads takes all, tens of thousands of values a thread, and each the largest
  // that its bin holds; the small ones would be lost first.
  Values values(3'000'001);
  for (Index i = 0; i < values.size(); ++i) {
    values[i] = i % 3 == 0 ? 0x1.fffffep-48F : 0x1.fffffep-33F;
  }
  EXPECT_EQ(bits(sum(device, values, 32, 1)), bits(exactly(values)));
  for (Index i = 0; i < values.size(); i += 2) values[i] = -0x1.fffffcp-33F;
  EXPECT_EQ(bits(sum(device, values, 32, 1)), bits(exactly(values)));
}

TEST_P(ExactStage, CountersOverflow) {
  USE_DEVICE_OR_SKIP(device, GetParam());
  // Many blocks add the largest finite values, whose sum leaves 64 bits of their bin's units.
  Values values(4'000'000, kMax);
  values.resize(8'000'000, -kMax);
  values.push_back(1);
  EXPECT_EQ(sum(device, values, 32), 1.0F);
}

TEST_P(ExactStage, DependsOnOrderOrShape) {
  USE_DEVICE_OR_SKIP(device, GetParam());
  std::mt19937 random(9);
  Values values(20'011);
  for (float& x : values) {
    // Of either sign, over 170 binades.
    x = std::bit_cast<float>(
        static_cast<std::uint32_t>((random() & 0x807fffffU) | (40 + random() % 170) << 23U));
  }
  const std::uint32_t right = bits(exactly(values));
  for (int order = 0; order < 3; ++order) {
    std::shuffle(values.begin(), values.end(), random);
    for (const std::optional<unsigned> grid :
         {std::optional<unsigned>(), std::optional(1U), std::optional(5U), std::optional(77U)}) {
      for (const unsigned block : {32U, 64U, 128U, 256U, 512U, 1024U}) {
        EXPECT_EQ(bits(sum(device, values, block, grid)), right) << block;
      }
    }
  }
}

TEST(GpuExactStage, AnswersUnlikeTheSimulator) {
  USE_DEVICE_OR_SKIP(gpu, DeviceKind::cuda);
  const std::unique_ptr<Device> simulator = make_simulated_device(4);
  for (const DataKind& kind : data_kinds()) {
    for (const Index n : {Index{1}, Index{1000}, Index{300'001}}) {
      const Input input = generate(kind, n, n);
      const Values values(input.values().begin(), input.values().end());
      EXPECT_EQ(bits(sum(gpu, values)), bits(sum(*simulator, values))) << kind.name << ", " << n;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Simulator, ExactStage, ::testing::Values(DeviceKind::sim),
                         testing::kind_name);
INSTANTIATE_TEST_SUITE_P(Gpu, ExactStage, ::testing::Values(DeviceKind::cuda), testing::kind_name);

}  // namespace
}  // namespace reduce_ladder
