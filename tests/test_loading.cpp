// Values that are made where they are needed are those that are held, for the device as for the
// reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <string>

#include "devices.hpp"
#include "input.hpp"
#include "ladder.hpp"
#include "reference.hpp"

namespace reduce_ladder {
namespace {

const DataKind& kind(const char* name) {
  return *find_data_kind(name);
}

// More than the pieces that a device takes at once; the simulator takes all.
Index many(const Device& device) {
  return device.info().kind == DeviceKind::cuda ? 3 * (Index{1} << 24U) + 12'345 : 70'001;
}

float sum_on(Device& device, Index n) {
  const Stage& stage = *std::ranges::find(device.stages(), 8, &Stage::number);
  return device.run(stage, stage.plan(n, {std::nullopt, device.info().machine}));
}

class Loading : public ::testing::TestWithParam<DeviceKind> {};

TEST_P(Loading, GivesTheDeviceOtherValuesThanThoseThatAreHeld) {
  USE_DEVICE_OR_SKIP(device, GetParam());
  const Index n = many(device);
  const Input held = generate(kind("normal"), n, 42, n);
  const Input made = generate(kind("normal"), n, 42, 0);
  load(device, held, 0);
  const float expected = sum_on(device, n);
  for (const unsigned misalignment : {0U, 1U, 2U, 3U}) {
    load(device, made, misalignment);
    EXPECT_EQ(std::bit_cast<unsigned>(sum_on(device, n)), std::bit_cast<unsigned>(expected))
        << misalignment;
  }
}

// A value at a time: what stands at the wrong place is not missed by a sum.
TEST_P(Loading, PutsAValueAtTheWrongPlace) {
  USE_DEVICE_OR_SKIP(device, GetParam());
  const Index n = many(device);
  constexpr Index kPiece = Index{1} << 24U;
  for (const Index place : {Index{0}, Index{1}, Index{65'535}, Index{65'536}, kPiece - 1, kPiece,
                            2 * kPiece, 3 * kPiece + 1, n - 1}) {
    if (place >= n) continue;
    const Fill one_hot = [place](Index begin, std::span<float> out) {
      for (float& x : out) x = begin++ == place ? 1.0F : 0.0F;
    };
    device.load(n, one_hot, 1);
    EXPECT_EQ(sum_on(device, n), 1) << place;
    EXPECT_EQ(sum_on(device, place + 1), 1) << place;
    if (place == 0) continue;
    EXPECT_EQ(sum_on(device, place), 0) << place;
  }
}

TEST_P(Loading, MakesValuesThatHaveNoRoom) {
  USE_DEVICE_OR_SKIP(device, GetParam());
  std::atomic<bool> made = false;
  const Fill fill = [&made](Index /*begin*/, std::span<float> /*out*/) { made = true; };
  EXPECT_THROW(device.load(Index{1} << 44U, fill, 0), OutOfMemoryError);
  EXPECT_FALSE(made);
  load(device, generate(kind("ones"), 1000, 42, 0), 0);
  EXPECT_EQ(sum_on(device, 1000), 1000) << "after the refusal";
}

std::string parameter_name(const ::testing::TestParamInfo<DeviceKind>& parameter) {
  return parameter.param == DeviceKind::cuda ? "cuda" : "sim";
}
INSTANTIATE_TEST_SUITE_P(Simulator, Loading, ::testing::Values(DeviceKind::sim), parameter_name);
INSTANTIATE_TEST_SUITE_P(Gpu, Loading, ::testing::Values(DeviceKind::cuda), parameter_name);

TEST(MadeInput, IsHeldAfterAllOrNotWhereItCouldBe) {
  const Input held = generate(kind("uniform"), 1000, 42, 1000);
  EXPECT_TRUE(held.storage && !held.fill);
  const Input made = generate(kind("uniform"), 1001, 42, 1000);
  EXPECT_TRUE(!made.storage && made.fill);
  EXPECT_EQ(made.info.n, 1001U);
  EXPECT_EQ(made.info.source, held.info.source);
  EXPECT_EQ(made.info.seed, held.info.seed);
  // More than any memory has.
  const Input largest = generate(kind("uniform"), Index{1} << 40U, 42);
  float last = -1;
  largest.fill((Index{1} << 40U) - 1, {&last, 1});
  EXPECT_TRUE(last >= 0 && last < 1);
}

void expect_same(const Reference& made, const Reference& held) {
  const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  EXPECT_EQ(bits(made.sum), bits(held.sum));
  EXPECT_EQ(bits(made.abs_sum), bits(held.abs_sum));
  EXPECT_EQ(made.sum_as_float, held.sum_as_float);
  EXPECT_EQ(bits(made.fp64_loop.value()), bits(held.fp64_loop.value()));
  EXPECT_EQ(bits(made.finite_above), bits(held.finite_above));
  EXPECT_EQ(bits(made.finite_below), bits(held.finite_below));
  EXPECT_EQ(made.method, held.method);
  EXPECT_EQ(made.n, held.n);
}

// Cancelling values, since the loop's result then tells in which order it added.
TEST(MadeInput, HasAnotherReferenceThanAHeldOne) {
  constexpr Index kPiece = Index{1} << 24U;
  for (const Index n : {Index{0}, Index{1}, Index{1000}, kPiece, kPiece + 1, 2 * kPiece + 5}) {
    SCOPED_TRACE(n);
    const Input made = generate(kind("cancelling"), n, 42, 0);
    const Input held = generate(kind("cancelling"), n, 42, n);
    expect_same(compute_reference(made), compute_reference(held.values()));
  }
}

TEST(MadeInput, HasTheReferenceOfOtherValues) {
  for (const DataKind& each : data_kinds()) {
    if (each.name == "specials") continue;  // no numbers
    SCOPED_TRACE(each.name);
    expect_same(compute_reference(generate(each, 5000, 42, 0)),
                compute_reference(generate(each, 5000, 42).values()));
  }
}

TEST(MadeInput, ClimbsToOtherResultsThanAHeldOne) {
  const auto device = make_simulated_device(7);
  Climb what;
  what.stages = {3, 8, 11};
  what.repeats = 1;
  what.misalignment = 1;
  const auto climb_over = [&](const Input& input) {
    return climb(*device, input, what, [](std::string_view /*step*/) {});
  };
  const Report made = climb_over(generate(kind("wide"), 50'001, 42, 0));
  const Report held = climb_over(generate(kind("wide"), 50'001, 42));
  expect_same(made.reference.value(), held.reference.value());
  EXPECT_EQ(made.input.source, held.input.source);
  ASSERT_EQ(made.stages.size(), 3U);
  for (std::size_t i = 0; i < made.stages.size(); ++i) {
    EXPECT_EQ(made.stages[i].result, held.stages[i].result);
    EXPECT_EQ(made.stages[i].verification.verdict, Verdict::passed);
  }
}

}  // namespace
}  // namespace reduce_ladder
