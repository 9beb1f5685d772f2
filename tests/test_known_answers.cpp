// The data whose sum is known: they must be what the judge takes them for.
#include "known_answers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "other_stages.hpp"
#include "reference.hpp"
#include "verify.hpp"

namespace reduce_ladder {
namespace {

std::vector<float> values_of(const Fill& fill, Index n) {
  std::vector<float> values(n);
  fill(0, values);
  return values;
}

TEST(KnownAnswers, WholeNumbersAreRoundedInSomeOrder) {
  for (const Index n : {Index{1}, Index{2}, Index{1000}, Index{1} << 20U, (Index{1} << 24U) + 5}) {
    std::vector<float> values = values_of(exact_integers(n, 7), n);
    std::mt19937 random(3);
    for (int order = 0; order < 3; ++order) {
      std::int64_t sum = 0;
      std::int64_t largest = 0;
      for (const float x : values) {
        EXPECT_NE(x, 0) << "could be lost unseen";
        sum += static_cast<std::int64_t>(x);
        largest = std::max<std::int64_t>(largest, std::llabs(sum));
      }
      EXPECT_LE(largest, 1 << 24) << n;
      if (n <= 1U << 20U) std::shuffle(values.begin(), values.end(), random);
    }
  }
}

TEST(KnownAnswers, WholeNumbersAreSoSmallThatALostBlockCancels) {
  // Sums of neighbours, as a block or a thread takes them, are not zero but by a rare chance.
  constexpr Index kN = 1U << 22U;
  const std::vector<float> values = values_of(exact_integers(kN, 7), kN);
  int zero = 0;
  for (Index begin = 0; begin < kN; begin += 256) {
    float sum = 0;
    for (Index i = begin; i < begin + 256; ++i) sum += values[i];
    zero += sum == 0 ? 1 : 0;
  }
  EXPECT_LE(zero, 10) << "of " << kN / 256;
}

TEST(KnownAnswers, CancellingNumbersDoNotCancel) {
  for (const Index n : {Index{3}, Index{1000}, Index{70'001}}) {
    const std::vector<float> values = values_of(cancelling_integers(n, 7), n);
    const Reference reference = compute_reference(values);
    EXPECT_EQ(reference.sum, reference.fp64_loop) << "not exact in double";
    EXPECT_LE(std::fabs(reference.sum), 8.0 * static_cast<double>(n));
  }
  const std::vector<float> values = values_of(cancelling_integers(70'001, 7), 70'001);
  const Reference reference = compute_reference(values);
  EXPECT_GT(reference.abs_sum / std::fabs(reference.sum), 1e6);
  float in_float = 0;
  for (const float x : values) in_float += x;
  EXPECT_GT(std::fabs(in_float - reference.sum), 0x1p-20 * std::fabs(reference.sum));
}

// As a block of 256 threads adds up a value each.
float block_sum(std::span<const float> values) {
  std::array<float, 256> sums{};
  std::ranges::copy(values, sums.begin());
  for (std::size_t half = sums.size() / 2; half > 0; half /= 2) {
    for (std::size_t t = 0; t < half; ++t) sums[t] += sums[t + half];
  }
  return sums[0];
}

TEST(KnownAnswers, CancellingNumbersAreAddedRightInFloat32ByChance) {
  constexpr std::size_t kBlock = 256;
  constexpr Index kDepth = 30;
  std::mt19937 random(3);
  for (const Index n : {Index{4099}, Index{70'001}}) {
    int right = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const std::vector<float> values = values_of(cancelling_integers(n, seed), n);
      const Reference reference = compute_reference(values);
      const double bound = error_bound(Accumulation::compensated, reference, kDepth);
      std::vector<float> partials;
      for (std::size_t begin = 0; begin < n; begin += kBlock) {
        const std::size_t size = std::min<std::size_t>(kBlock, n - begin);
        partials.push_back(block_sum(std::span(values).subspan(begin, size)));
      }
      for (int order = 0; order < 20; ++order) {
        std::shuffle(partials.begin(), partials.end(), random);
        float sum = 0;
        for (const float partial : partials) sum += partial;
        right += std::fabs(sum - reference.sum) <= bound ? 1 : 0;
      }
    }
    // Half a percent; several questions make that one in millions.
    EXPECT_LE(right, 10) << "of 2000, over " << n << " values";
  }
}

TEST(KnownAnswers, APieceIsNotThatOfTheWhole) {
  for (const Fill& fill : {exact_integers(5000, 1), cancelling_integers(5000, 1)}) {
    const std::vector<float> whole = values_of(fill, 5000);
    std::vector<float> piece(321);
    fill(1234, piece);
    EXPECT_TRUE(std::equal(piece.begin(), piece.end(), whole.begin() + 1234));
  }
}

// Notes how many values are loaded, and over which base.
class RecordingDevice final : public testing::OtherStages {
 public:
  using Device::load;
  using OtherStages::OtherStages;
  void load(std::span<const float> values, unsigned misalignment) override {
    loaded.emplace_back(values.size(), misalignment);
    OtherStages::load(values, misalignment);
  }
  std::vector<std::pair<Index, unsigned>> loaded;
};

TEST(KnownAnswers, DoNotReachAStageOrAreWrongForOneThatIsRight) {
  const auto device = make_simulated_device(3);
  Climb what;
  for (const Stage& stage : device->stages()) what.stages.push_back(stage.number);
  what.verify = Thoroughness::quick;
  for (const Index n : {Index{0}, Index{1}, Index{2}, Index{10'000}}) {
    const std::vector<PlannedStage> planned = plan_stages(*device, n, what);
    const std::vector<KnownAnswers> answers = check_known_answers(
        *device, planned, n, what, [](std::string_view) {}, [] { return false; });
    ASSERT_EQ(answers.size(), planned.size());
    for (std::size_t i = 0; i < planned.size(); ++i) {
      EXPECT_EQ(answers[i].wrong, 0U) << planned[i].stage->name << ": " << answers[i].first_wrong;
      EXPECT_EQ(answers[i].runs > 0, !planned[i].obstacle) << planned[i].stage->name;
      if (n > 2 && !planned[i].obstacle) {
        EXPECT_GE(answers[i].runs, 25U);
      }
    }
  }
}

TEST(KnownAnswers, AreAskedOverAnotherBaseThanTheOneThatWasAskedFor) {
  const auto device = make_simulated_device(3);
  const Stage& stage = device->stages()[7];
  RecordingDevice recording(*device, std::span(&stage, 1));
  Climb what;
  what.stages = {stage.number};
  what.misalignment = 3;
  what.verify = Thoroughness::quick;
  static_cast<void>(check_known_answers(
      recording, plan_stages(recording, 1000, what), 1000, what, [](std::string_view) {},
      [] { return false; }));
  // The others are an odd number, and so is what is loaded of them, with padding behind.
  std::vector<unsigned> of_whole_numbers;
  for (const auto& [n, misalignment] : recording.loaded) {
    if (n % 2 == 0) of_whole_numbers.push_back(misalignment);
  }
  EXPECT_EQ(of_whole_numbers, std::vector{3U});
}

TEST(KnownAnswers, GoOnWhenInterrupted) {
  const auto device = make_simulated_device(3);
  Climb what;
  what.stages = {7};
  what.verify = Thoroughness::quick;
  int asked = 0;
  const std::vector<KnownAnswers> answers = check_known_answers(
      *device, plan_stages(*device, 1000, what), 1000, what, [](std::string_view) {},
      [&] { return ++asked > 3; });
  EXPECT_TRUE(answers.empty());
  EXPECT_EQ(asked, 4);
}

}  // namespace
}  // namespace reduce_ladder
