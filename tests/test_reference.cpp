#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <random>
#include <vector>

#include "input.hpp"
#include "reference.hpp"

namespace reduce_ladder {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Reference reference_of(const std::vector<float>& values) {
  return compute_reference(values);
}

void expect_exact(const char* file, double sum, double abs_sum) {
  const Input input = read_input(std::filesystem::path(REDUCE_LADDER_TEST_DATA) / file);
  const Reference reference = compute_reference(input.values());
  EXPECT_EQ(reference.sum, sum);
  EXPECT_EQ(reference.abs_sum, abs_sum);
}

// The exact sums are Python's math.fsum over the same values.
TEST(Reference, WeightsThatCancel) {
  expect_exact("silero_vad_16k_weights.npy", -245.02884468938817, 63151.2629394306);
}

TEST(Reference, Coordinates) {
  expect_exact("canada_coordinates.npy", -1265531.1087608337, 8649751.128810883);
}

// Plain fp64 loses here: the values span 1 to 4.3e9.
TEST(Reference, ValuesOfVeryDifferentSize) {
  expect_exact("mesh_vertices.npy", 15401544847793.938, 15401544847793.938);
}

TEST(Reference, EmptyInputIsPositiveZero) {
  const Reference reference = reference_of({});
  EXPECT_EQ(reference.sum, 0);
  EXPECT_FALSE(std::signbit(reference.sum));
  EXPECT_EQ(reference.abs_sum, 0);
}

TEST(Reference, NamesItsMethod) {
  EXPECT_EQ(reference_of({1}).method, "exact, rounded to double");
}

TEST(Reference, NoTailIsLostAtAnyLength) {
  for (std::size_t n : {1U, 2U, 3U, 4U, 5U, 7U, 8U, 9U, 65535U, 65536U, 65537U, 131073U}) {
    std::vector<float> values(n, 1.0F);
    values.back() = -3.0F;
    const Reference reference = compute_reference(values);
    EXPECT_EQ(reference.sum, static_cast<double>(n) - 4) << n;
    EXPECT_EQ(reference.abs_sum, static_cast<double>(n) + 2) << n;
  }
}

TEST(Reference, SeventeenMillionOnesDoNotStickAtTwoToThe24) {
  const std::vector<float> ones(17'000'000, 1.0F);
  EXPECT_EQ(compute_reference(ones).sum, 17'000'000);
}

TEST(Reference, CancellationInsideAndAcrossChunksLeavesTheSmallValue) {
  EXPECT_EQ(reference_of({1e30F, 1.0F, -1e30F}).sum, 1);

  std::vector<float> values(200'000, 0.0F);
  values.front() = 1e30F;
  values[100'000] = 0x1p-30F;
  values.back() = -1e30F;
  EXPECT_EQ(compute_reference(values).sum, 0x1p-30);
}

// Random values that come with their negatives, shuffled, beside one that does not.
TEST(Reference, PermutedOppositesSumToTheOddOneOut) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> exponent(-20, 20);
  std::vector<float> values = {0x1p-40F};
  for (int i = 0; i < 100'000; ++i) {
    const float value = std::ldexp(static_cast<float>(random() >> 8U), exponent(random) - 24);
    values.push_back(value);
    values.push_back(-value);
  }
  std::shuffle(values.begin(), values.end(), random);
  EXPECT_EQ(compute_reference(values).sum, 0x1p-40);
}

TEST(Reference, SubnormalsCount) {
  const float smallest = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(reference_of({smallest, smallest, smallest}).sum, 3 * static_cast<double>(smallest));
}

TEST(Reference, SumsBeyondFloatRangeStayFinite) {
  const float largest = std::numeric_limits<float>::max();
  EXPECT_EQ(reference_of({largest, largest}).sum, 2 * static_cast<double>(largest));
}

TEST(Reference, CompensationDoesNotTurnAnInfinityIntoNan) {
  EXPECT_EQ(reference_of({1.0F, kInf, 2.0F}).sum, kInf);
  EXPECT_EQ(reference_of({1.0F, -kInf, -kInf}).sum, -kInf);
  EXPECT_EQ(reference_of({1.0F, -kInf, 2.0F}).abs_sum, kInf);

  std::vector<float> values(200'000, 1.0F);
  values[150'000] = kInf;
  EXPECT_EQ(compute_reference(values).sum, kInf);
}

TEST(Reference, OppositeInfinitiesAreNan) {
  EXPECT_TRUE(std::isnan(reference_of({kInf, 1.0F, -kInf}).sum));

  std::vector<float> values(200'000, 1.0F);
  values.front() = kInf;
  values.back() = -kInf;
  EXPECT_TRUE(std::isnan(compute_reference(values).sum));
}

TEST(Reference, ANanAnywhereComesThrough) {
  for (std::size_t at : {0U, 5U, 65535U, 65536U, 199'999U}) {
    std::vector<float> values(200'000, 1.0F);
    values[at] = kNan;
    const Reference reference = compute_reference(values);
    EXPECT_TRUE(std::isnan(reference.sum)) << at;
    EXPECT_TRUE(std::isnan(reference.abs_sum)) << at;
  }
}

}  // namespace
}  // namespace reduce_ladder
