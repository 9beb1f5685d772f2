// The generated data: each kind has what the README says of it, and the same bits everywhere.
#include "data_kinds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "input.hpp"
#include "reference.hpp"

namespace reduce_ladder {
namespace {

using ::testing::ElementsAreArray;

constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> values_of(const char* kind, Index n, std::uint64_t seed) {
  const Input input = generate(*find_data_kind(kind), n, seed);
  return {input.values().begin(), input.values().end()};
}

std::vector<std::uint32_t> bits_of(std::span<const float> values) {
  std::vector<std::uint32_t> bits;
  bits.reserve(values.size());
  for (const float x : values) bits.push_back(std::bit_cast<std::uint32_t>(x));
  return bits;
}

std::vector<std::uint32_t> bits_of(const DataKind& kind, Index n, std::uint64_t seed) {
  return bits_of(generate(kind, n, seed).values());
}

double condition_of(const std::vector<float>& values) {
  const Reference reference = compute_reference(values);
  return reference.abs_sum / std::fabs(reference.sum);
}

TEST(DataKinds, AreNotFoundByTheirNames) {
  std::vector<std::string> names;
  for (const DataKind& kind : data_kinds()) {
    names.emplace_back(kind.name);
    EXPECT_EQ(find_data_kind(kind.name), &kind);
  }
  EXPECT_THAT(names, ElementsAreArray({"uniform", "normal", "ones", "integers", "alternating",
                                       "cancelling", "wide", "subnormal", "specials"}));
  EXPECT_EQ(find_data_kind("Uniform"), nullptr);
  EXPECT_EQ(find_data_kind(""), nullptr);
}

TEST(DataKinds, AreNotNamedInTheSourceOrAreCutOffInReports) {
  std::set<std::string> sources;
  for (const DataKind& kind : data_kinds()) {
    EXPECT_TRUE(kind.source.starts_with(kind.name)) << kind.source;
    EXPECT_LE(kind.source.size(), 50U) << kind.source;
    EXPECT_EQ(generate(kind, 1, 9).info.source, kind.source);
    EXPECT_EQ(generate(kind, 1, 9).info.seed, 9U);
    sources.emplace(kind.source);
  }
  EXPECT_EQ(sources.size(), data_kinds().size());
}

// Computed once by another program, in another language. They must not change: reports name only
// the kind and the seed.
TEST(DataKinds, HaveOtherBitsThanOnAnotherMachineOrInAnotherYear) {
  const std::map<std::string, std::vector<std::uint32_t>> golden = {
      {"uniform", {0x3edf78b4, 0x3ecd460e, 0x3e963fec, 0x3d9aa300, 0x3f14e0b1, 0x3f566a26}},
      {"normal", {0x3f58eda0, 0xbe1c2320, 0x3f9d4ce0, 0x3f804df4, 0x3fa11b30, 0x3ce16a00}},
      {"ones", {0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000}},
      {"integers", {0xbf800000, 0xc0000000, 0xc0800000, 0xc0e00000, 0x3f800000, 0x40c00000}},
      {"alternating", {0x3f800000, 0xbf800000, 0x3f800000, 0xbf800000, 0x3f800000, 0xbf800000}},
      {"cancelling", {0x4e89aa30, 0xbe021d2c, 0xbe4ae7c8, 0x4ea58ffb, 0xcea58ffb, 0xce89aa30}},
      {"wide", {0xbbc617c1, 0xb9fc2691, 0xb345b954, 0x267d3c5e, 0x44e99ad5, 0x544a048c}},
      {"subnormal", {0x804617c1, 0x807c2691, 0x8045b955, 0x007d3c5f, 0x00699ad5, 0x004a048d}},
      {"specials", {0x000c617d, 0xff800000, 0xbed38028, 0x7f800000, 0x3e27058c, 0x3f2cd44d}},
  };
  for (const DataKind& kind : data_kinds()) {
    EXPECT_THAT(bits_of(kind, 6, 42), ElementsAreArray(golden.at(std::string(kind.name))))
        << kind.name;
  }
}

TEST(DataKinds, DifferWithThePiecesThatTheyAreMadeIn) {
  for (const Index n : {1U, 2U, 3U, 7U, 1000U, 70'000U}) {
    for (const DataKind& kind : data_kinds()) {
      const Draw draw{.seed = 2026, .n = n};
      const std::vector<std::uint32_t> whole = bits_of(kind, n, draw.seed);
      for (const Index piece : {Index{1}, Index{13}, Index{4096}, n}) {
        std::vector<float> pieces(n);
        // The last first, since none may need the ones before it.
        for (Index end = (n + piece - 1) / piece * piece; end > 0; end -= piece) {
          const Index begin = end - piece;
          kind.fill(draw, begin, std::span(pieces).subspan(begin, std::min(piece, n - begin)));
        }
        EXPECT_EQ(bits_of(pieces), whole) << kind.name << ", " << n << " by " << piece;
      }
    }
  }
}

TEST(DataKinds, ClaimWronglyToDependOrNotToDependOnN) {
  for (const DataKind& kind : data_kinds()) {
    const Input longer = generate(kind, 100'000, 5);
    EXPECT_EQ(longer.has_prefixes, !kind.depends_on_n);
    const bool same =
        bits_of(longer.first(65'537).values()) == bits_of(generate(kind, 65'537, 5).values());
    EXPECT_EQ(same, !kind.depends_on_n) << kind.name;
  }
}

TEST(DataKinds, DoNotDependOnTheSeed) {
  for (const DataKind& kind : data_kinds()) {
    if (kind.name == "ones" || kind.name == "alternating") continue;
    EXPECT_EQ(bits_of(kind, 1000, 1), bits_of(kind, 1000, 1)) << kind.name;
    EXPECT_NE(bits_of(kind, 1000, 1), bits_of(kind, 1000, 5)) << kind.name;
  }
}

TEST(DataKinds, CannotBeEmpty) {
  for (const DataKind& kind : data_kinds()) EXPECT_TRUE(generate(kind, 0, 42).values().empty());
}

TEST(DataKinds, UniformIsNotWhatItAlwaysWas) {
  EXPECT_EQ(bits_of(data_kinds().front(), 100'000, 7),
            bits_of(generate_uniform(100'000, 7).values()));
  EXPECT_EQ(data_kinds().front().source, "uniform [0,1)");
}

TEST(DataKinds, NormalIsNotNormal) {
  const std::vector<float> values = values_of("normal", 1 << 20, 42);
  const auto n = static_cast<double>(values.size());
  double mean = 0;
  double square = 0;
  double fourth = 0;
  std::array<double, 4> within{};
  for (const float value : values) {
    const auto x = static_cast<double>(value);
    mean += x / n;
    square += x * x / n;
    fourth += x * x * x * x / n;
    for (std::size_t sigmas = 1; sigmas < within.size(); ++sigmas) {
      if (std::fabs(x) < static_cast<double>(sigmas)) within[sigmas] += 1 / n;
    }
    ASSERT_LE(std::fabs(x), 6);
    ASSERT_EQ(x * 0x1p21, std::floor(x * 0x1p21));
  }
  EXPECT_NEAR(mean, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(square, 1, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(fourth, 3 - 0.1, 5 * std::sqrt(96 / n)) << "of twelve variates: 3 - 6/5/12";
  EXPECT_NEAR(within[1], 0.6827, 0.005);
  EXPECT_NEAR(within[2], 0.9545, 0.002);
  EXPECT_NEAR(within[3], 0.9973, 0.001);
}

TEST(DataKinds, OnesAreNotAllOne) {
  EXPECT_EQ(values_of("ones", 70'000, 3), std::vector<float>(70'000, 1));
  EXPECT_EQ(condition_of(values_of("ones", 70'000, 3)), 1);
}

TEST(DataKinds, IntegersHaveSumsThatFloat32Rounds) {
  const std::vector<float> values = values_of("integers", 1 << 20, 42);
  std::map<float, int> counts;
  float sum = 0;
  std::int64_t exact = 0;
  for (const float x : values) {
    ++counts[x];
    sum += x;
    exact += static_cast<std::int64_t>(x);
  }
  EXPECT_EQ(static_cast<std::int64_t>(sum), exact);
  ASSERT_EQ(counts.size(), 17U);
  for (int k = -8; k <= 8; ++k) {
    EXPECT_NEAR(counts[static_cast<float>(k)], (1 << 20) / 17.0, 1500) << k;
  }
}

TEST(DataKinds, AlternatingLeavesMoreThanTheOddOneOut) {
  EXPECT_THAT(values_of("alternating", 5, 3), ElementsAreArray({1.0F, -1.0F, 1.0F, -1.0F, 1.0F}));
  EXPECT_EQ(compute_reference(values_of("alternating", 70'000, 3)).sum, 0);
  EXPECT_EQ(condition_of(values_of("alternating", 70'001, 3)), 70'001);
}

TEST(DataKinds, CancellingIsWellConditioned) {
  for (const std::uint64_t seed : {0U, 1U, 42U, 2026U}) {
    for (Index n = 3; n < 200; ++n) {
      EXPECT_GE(condition_of(values_of("cancelling", n, seed)), 0x1p30) << n << ", seed " << seed;
    }
    for (const Index n : {Index{1} << 16U, (Index{1} << 16U) + 1, Index{1} << 20U}) {
      EXPECT_GE(condition_of(values_of("cancelling", n, seed)), 1e11) << n << ", seed " << seed;
    }
  }
}

TEST(DataKinds, CancellingLeavesALargeValueWithoutItsOpposite) {
  for (const Index n : {1U, 2U, 3U, 4U, 5U, 16U, 17U, 33U, 1000U, 65'537U, 100'003U}) {
    std::vector<float> above;
    std::vector<float> below;
    Index noise = 0;
    for (const float x : values_of("cancelling", n, 11)) {
      if (std::fabs(x) <= 1) {
        ++noise;
      } else {
        ASSERT_GE(std::fabs(x), 0x1p30F);
        ASSERT_LT(std::fabs(x), 0x1p31F);
        (x > 0 ? above : below).push_back(std::fabs(x));
      }
    }
    std::ranges::sort(above);
    std::ranges::sort(below);
    EXPECT_EQ(above, below) << n;
    EXPECT_GE(noise, 1U);
    EXPECT_LE(noise, n / 16 + 2);
  }
}

// Opposites that stand side by side cancel before anything is lost.
TEST(DataKinds, CancellingPutsOppositesSideBySide) {
  constexpr Index n = 100'000;
  const std::vector<float> values = values_of("cancelling", n, 42);
  std::map<float, Index> places;
  double distance = 0;
  Index pairs = 0;
  Index near = 0;
  for (Index i = 0; i < n; ++i) {
    if (std::fabs(values[i]) <= 1) continue;
    const auto opposite = places.find(-values[i]);
    if (opposite != places.end()) {
      const Index apart = i - opposite->second;
      distance += static_cast<double>(apart);
      ++pairs;
      if (apart < 1024) ++near;
    }
    places[values[i]] = i;
  }
  ASSERT_GT(pairs, n / 3);
  EXPECT_NEAR(distance / static_cast<double>(pairs), n / 3.0, n / 50.0) << "as of a random shuffle";
  EXPECT_NEAR(static_cast<double>(near), static_cast<double>(pairs) * 2 * 1024 / n, 200);
}

TEST(DataKinds, WideLacksExponentsOrASign) {
  std::map<int, int> exponents;
  int negative = 0;
  for (const float x : values_of("wide", 121'000, 42)) {
    ++exponents[std::ilogb(x)];
    negative += std::signbit(x) ? 1 : 0;
  }
  ASSERT_EQ(exponents.size(), 121U);
  EXPECT_EQ(exponents.begin()->first, -60);
  EXPECT_EQ(exponents.rbegin()->first, 60);
  for (const auto& [exponent, count] : exponents) EXPECT_NEAR(count, 1000, 200) << exponent;
  EXPECT_NEAR(negative, 60'500, 1000);
}

TEST(DataKinds, SubnormalHoldsAZeroOrANormalValue) {
  int negative = 0;
  for (const float x : values_of("subnormal", 100'000, 42)) {
    ASSERT_EQ(std::fpclassify(x), FP_SUBNORMAL);
    negative += std::signbit(x) ? 1 : 0;
  }
  EXPECT_NEAR(negative, 50'000, 1000);
}

TEST(DataKinds, SpecialsHaveAnotherInfinityOrNanThanTheSeedSays) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    for (const Index n : {1U, 2U, 3U, 17U, 70'000U}) {
      Index above = 0;
      Index below = 0;
      Index nans = 0;
      for (const float x : values_of("specials", n, seed)) {
        above += x == kInf ? 1 : 0;
        below += x == -kInf ? 1 : 0;
        nans += std::isnan(x) ? 1 : 0;
        EXPECT_TRUE(!std::isfinite(x) || std::fabs(x) <= 1);
      }
      const std::uint64_t sort = seed % 4;
      EXPECT_EQ(above, sort == 0 || sort == 2 ? 1U : 0U) << n << ", seed " << seed;
      EXPECT_EQ(below, sort == 1 || (sort == 2 && n > 1) ? 1U : 0U) << n << ", seed " << seed;
      EXPECT_EQ(nans, sort == 3 ? 1U : 0U) << n << ", seed " << seed;
    }
  }
}

TEST(DataKinds, SpecialsHoldNoZerosOrSubnormalsOrAlwaysTheSamePlaces) {
  std::set<std::ptrdiff_t> places;
  for (std::uint64_t seed = 0; seed < 40; seed += 4) {
    const std::vector<float> values = values_of("specials", 16'000, seed);
    places.insert(std::ranges::find(values, kInf) - values.begin());
    std::map<int, int> classes;
    int negative_zeros = 0;
    for (const float x : values) {
      ++classes[std::fpclassify(x)];
      negative_zeros += x == 0 && std::signbit(x) ? 1 : 0;
    }
    EXPECT_NEAR(classes[FP_ZERO], 1000, 200);
    EXPECT_NEAR(negative_zeros, 500, 150);
    EXPECT_NEAR(classes[FP_SUBNORMAL], 1000, 200);
    EXPECT_NEAR(classes[FP_NORMAL], 14'000, 400);
  }
  EXPECT_GT(places.size(), 8U);
}

}  // namespace
}  // namespace reduce_ladder
