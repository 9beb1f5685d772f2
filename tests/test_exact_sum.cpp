// The exact sum against another way to find it: expansions of doubles that lose nothing (Shewchuk
// 1997, "Adaptive precision floating-point arithmetic").
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "exact_sum.hpp"

namespace reduce_ladder {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kSmallest = std::numeric_limits<float>::denorm_min();

ExactSum sum_of(const std::vector<float>& values) {
  ExactSum sum;
  sum.add(values);
  return sum;
}

// A sum of doubles, exact, as parts that do not overlap, the smallest first.
class Expansion {
 public:
  void add(double x) {
    std::vector<double> parts;
    for (const double part : parts_) {
      const double total = x + part;
      const double from_part = total - x;
      const double error = (x - (total - from_part)) + (part - from_part);
      if (error != 0) parts.push_back(error);
      x = total;
    }
    parts.push_back(x);
    parts_ = std::move(parts);
  }
  // -1, 0 or 1.
  [[nodiscard]] int sign() const {
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
      if (*part != 0) return *part < 0 ? -1 : 1;
    }
    return 0;
  }

 private:
  std::vector<double> parts_;
};

// Whether `result`, of type T, is the nearest to the exact sum: the sum lies between the points
// half way to its neighbours, or on one of them where the last bit of the result is even.
template <typename T>
bool is_nearest(const std::vector<float>& values, T result) {
  Expansion rest;  // twice the sum minus twice the result
  for (const float x : values) rest.add(2 * static_cast<double>(x));
  rest.add(-2 * static_cast<double>(result));
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const bool even = std::bit_cast<Bits>(result) % 2 == 0;
  for (const T limit : {std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity()}) {
    const T neighbour = std::nextafter(result, limit);
    Expansion beyond = rest;  // what is left behind the point half way
    beyond.add(static_cast<double>(result));
    beyond.add(-static_cast<double>(neighbour));
    const int sign = limit > 0 ? beyond.sign() : -beyond.sign();
    if (sign > 0 || (sign == 0 && !even)) return false;
  }
  return true;
}

TEST(ExactSum, IsNotTheNearestToTheSumOfHostileValues) {
  std::mt19937_64 random(99);
  for (int round = 0; round < 2000; ++round) {
    std::vector<float> values(1 + random() % 40);
    const int spread = 1 + static_cast<int>(random() % 120);
    for (float& x : values) {
      const int exponent = static_cast<int>(random() % static_cast<unsigned>(spread)) - spread / 2;
      x = std::ldexp(static_cast<float>(random() % (1U << 24U)), exponent - 24);
      if (random() % 2 == 0) x = -x;
    }
    // Opposites leave little beside much.
    const std::size_t n = values.size();
    if (round % 2 == 0) {
      for (std::size_t i = 0; i < n; ++i) values.push_back(-values[i]);
      values.push_back(std::ldexp(1.0F, static_cast<int>(random() % 60) - 60));
    }
    std::shuffle(values.begin(), values.end(), random);
    const ExactSum sum = sum_of(values);
    EXPECT_TRUE(is_nearest(values, sum.as_double())) << "round " << round;
    EXPECT_TRUE(is_nearest(values, sum.as_float())) << "round " << round;
    for (float& x : values) x = std::fabs(x);
    EXPECT_TRUE(is_nearest(values, sum.magnitudes())) << "round " << round;
  }
}

TEST(ExactSum, RoundsTiesAwayFromEven) {
  EXPECT_EQ(sum_of({0x1p24F, 1}).as_float(), 0x1p24F);
  EXPECT_EQ(sum_of({0x1p24F, 3}).as_float(), 0x1.000004p24F);
  EXPECT_EQ(sum_of({-0x1p24F, -3}).as_float(), -0x1.000004p24F);
  EXPECT_EQ(sum_of({0x1p53F, 1}).as_double(), 0x1p53);
  EXPECT_EQ(sum_of({0x1p53F, 3}).as_double(), 0x1p53 + 4);
}

TEST(ExactSum, RoundsTwice) {
  // Just above half way: through a double first, it would be a tie, and stay below.
  EXPECT_EQ(sum_of({0x1p24F, 1, 0x1p-100F}).as_float(), 0x1.000002p24F);
  EXPECT_EQ(sum_of({0x1p53F, 1, kSmallest}).as_double(), 0x1p53 + 2);
  EXPECT_EQ(sum_of({0x1p24F, 1, -kSmallest}).as_float(), 0x1p24F);
}

TEST(ExactSum, LosesSubnormalsOrWhatIsLeftOfLargeValues) {
  EXPECT_EQ(sum_of({kSmallest}).as_float(), kSmallest);
  EXPECT_EQ(sum_of({kLargest, kSmallest, -kLargest}).as_float(), kSmallest);
  EXPECT_EQ(sum_of({kLargest, kSmallest, -kLargest}).as_double(), kSmallest);
  EXPECT_EQ(sum_of({0x1p-126F, -kSmallest}).as_float(), 0x1p-126F - kSmallest);
}

TEST(ExactSum, OverflowsBeforeItsTime) {
  const std::vector<float> many(1'000'000, kLargest);
  EXPECT_EQ(sum_of(many).as_double(), 1e6 * static_cast<double>(kLargest));
  EXPECT_EQ(sum_of(many).as_float(), kInf);
  EXPECT_EQ(sum_of({kLargest, 0x1p102F}).as_float(), kLargest) << "below half way to the next";
  EXPECT_EQ(sum_of({kLargest, 0x1p103F}).as_float(), kInf) << "half way, and the last bit is odd";
  std::vector<float> back = many;
  for (int i = 0; i < 1'000'000; ++i) back.push_back(-kLargest);
  EXPECT_EQ(sum_of(back).as_double(), 0);
}

TEST(ExactSum, OfNothingOrOfOppositesIsNegativeZero) {
  for (const std::vector<float>& values :
       {std::vector<float>{}, {1.5F, -1.5F}, {-0.0F}, {-0.0F, -0.0F}}) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(sum_of(values).as_double()), 0U);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(sum_of(values).as_float()), 0U);
  }
}

TEST(ExactSum, DependsOnOrderOrOnHowItIsCut) {
  std::mt19937_64 random(5);
  std::vector<float> values(200'003);
  for (float& x : values) {
    x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isfinite(x)) x = 1;
  }
  const ExactSum whole = sum_of(values);
  std::shuffle(values.begin(), values.end(), random);
  ExactSum parts;
  const std::span<const float> all = values;
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t size = std::min<std::size_t>(1 + random() % 90'000, all.size() - begin);
    ExactSum part;
    part.add(all.subspan(begin, size));
    parts.add(part);
    begin += size;
  }
  EXPECT_EQ(parts.as_double(), whole.as_double());
  EXPECT_EQ(parts.as_float(), whole.as_float());
  EXPECT_EQ(parts.magnitudes(), whole.magnitudes());
  EXPECT_EQ(parts.finite_above(), whole.finite_above());
  EXPECT_EQ(parts.finite_below(), whole.finite_below());
}

TEST(ExactSum, TreatsSpecialsUnlikeIeeeArithmetic) {
  EXPECT_EQ(sum_of({kInf, -kLargest}).as_double(), kInf);
  EXPECT_EQ(sum_of({-kInf, kLargest}).as_float(), -kInf);
  EXPECT_TRUE(std::isnan(sum_of({kInf, 1, -kInf}).as_double()));
  EXPECT_TRUE(std::isnan(sum_of({1, kNan}).as_float()));
  EXPECT_TRUE(std::isnan(sum_of({kInf, kNan}).magnitudes()));
  EXPECT_EQ(sum_of({kInf, -kInf}).magnitudes(), kInf);
  const ExactSum mixed = sum_of({kInf, 3, -2, -kInf, kNan});
  EXPECT_EQ(mixed.finite_above(), 3);
  EXPECT_EQ(mixed.finite_below(), -2);
}

}  // namespace
}  // namespace reduce_ladder
