#include <gtest/gtest.h>

#include <array>

#include <cmath>
#include <limits>
#include <vector>

#include "verify.hpp"

#include "reference.hpp"

namespace reduce_ladder {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr double kFloatMax = std::numeric_limits<float>::max();
constexpr Index kDepth = 24;

Verification verify_all(const std::vector<float>& results, const Reference& reference,
                        Index depth = kDepth) {
  return verify(results, reference, depth);
}

Verification verify_one(float result, const Reference& reference, Index depth = kDepth) {
  return verify_all({result}, reference, depth);
}

TEST(Gamma, IsHighamsFormula) {
  EXPECT_EQ(gamma(0), 0);
  EXPECT_DOUBLE_EQ(gamma(1), 0x1p-24 / (1 - 0x1p-24));
  EXPECT_DOUBLE_EQ(gamma(Index{1} << 23), 1);
}

TEST(Gamma, IsInfiniteWhereTheFormulaHasNoMeaning) {
  EXPECT_TRUE(std::isfinite(gamma((Index{1} << 24) - 1)));
  EXPECT_TRUE(std::isinf(gamma(Index{1} << 24)));
  EXPECT_TRUE(std::isinf(gamma(Index{1} << 40)));
}

TEST(ErrorFactor, IsNothingWhereThereIsNothingToAdd) {
  EXPECT_EQ(error_factor(24, 1), 0);
  EXPECT_EQ(error_factor(24, 0), 0);
}

TEST(ErrorFactor, IsTheSmallerOfBothBounds) {
  EXPECT_EQ(error_factor(24, 25), 24 * 0x1p-24);
  EXPECT_EQ(error_factor(24, 26), gamma(24));
  EXPECT_EQ(error_factor(0, 26), 0);
}

TEST(ErrorFactor, IsInfiniteWhereAResultOfZeroWouldKeepIt) {
  constexpr Index kMany = Index{1} << 24;
  EXPECT_EQ(error_factor(kMany, kMany), 1 - 0x1p-24);
  EXPECT_TRUE(std::isinf(error_factor(kMany, kMany + 1)));
  EXPECT_TRUE(std::isinf(error_factor(Index{1} << 40, (Index{1} << 40) + 1)));
}

TEST(ErrorFactor, IsGammaWhereNIsNotKnown) {
  EXPECT_EQ(error_factor(24, Reference{}.n), gamma(24));
  EXPECT_EQ(error_factor((Index{1} << 23) - 1, Reference{}.n), gamma((Index{1} << 23) - 1));
  EXPECT_TRUE(std::isinf(error_factor(Index{1} << 23, Reference{}.n)));
}

TEST(Verify, SeventeenMillionOnes) {
  const Reference reference{17e6, 17e6, ""};
  EXPECT_EQ(verify_one(17e6F, reference).verdict, Verdict::passed);

  const Verification stuck = verify_one(16777216.0F, reference);
  EXPECT_EQ(stuck.verdict, Verdict::failed);
  EXPECT_EQ(stuck.error, 222784);
  EXPECT_EQ(stuck.note, "off by 222784 where 24.3187 is allowed");
}

TEST(Verify, ASumThatLostOnePercentFails) {
  const Reference reference{8388608, 8388608, ""};
  EXPECT_EQ(verify_one(8388608.0F * 0.99F, reference).verdict, Verdict::failed);
  EXPECT_EQ(verify_one(8388608.0F * 0.99F, reference, 20'000).verdict, Verdict::failed);
}

TEST(Verify, TheBoundItselfPassesAndTheNextFloatFails) {
  // h = 2^20: gamma = 1/15, so A = 15 allows an error of 1.
  const Reference reference{8, 15, ""};
  const Index depth = Index{1} << 20;
  EXPECT_EQ(verify_one(9.0F, reference, depth).verdict, Verdict::passed);
  EXPECT_EQ(verify_one(7.0F, reference, depth).verdict, Verdict::passed);
  EXPECT_EQ(verify_one(std::nextafter(9.0F, 10.0F), reference, depth).verdict, Verdict::failed);
  EXPECT_EQ(verify_one(std::nextafter(7.0F, 6.0F), reference, depth).verdict, Verdict::failed);
}

TEST(Verify, FewValuesAreAllowedNoMoreRoundingsThanTheyHaveAdditions) {
  const Reference reference{.sum = 16777216, .abs_sum = 16777216, .method = "", .n = 3};
  const Verification verification = verify_one(16777218.0F, reference);
  EXPECT_EQ(verification.verdict, Verdict::passed);
  EXPECT_EQ(verification.bound, 2);
  EXPECT_EQ(verify_one(16777220.0F, reference).verdict, Verdict::failed);
}

TEST(Verify, AChainOfAllValuesHasABoundThatCanFail) {
  constexpr Index kMany = Index{1} << 24;
  const Reference reference{.sum = 1000, .abs_sum = 1000, .method = "", .n = kMany};
  EXPECT_EQ(verify_one(1.0F, reference, kMany).verdict, Verdict::passed);
  EXPECT_EQ(verify_one(0.0F, reference, kMany).verdict, Verdict::failed);
}

TEST(Verify, CancellingDataIsMeasuredAgainstItsMagnitudes) {
  const Reference reference{0, 16777216, ""};
  EXPECT_EQ(verify_one(1.0F, reference).verdict, Verdict::passed);
  EXPECT_EQ(verify_one(25.0F, reference).verdict, Verdict::failed);
}

TEST(Verify, WithoutAdditionsOnlyTheExactValuePasses) {
  const Reference one{0.1F, 0.1F, ""};
  EXPECT_EQ(verify_one(0.1F, one, 0).verdict, Verdict::passed);
  EXPECT_EQ(verify_one(std::nextafter(0.1F, 1.0F), one, 0).verdict, Verdict::failed);

  const Reference empty{0, 0, ""};
  EXPECT_EQ(verify_one(0.0F, empty, 0).verdict, Verdict::passed);
  EXPECT_EQ(verify_one(std::numeric_limits<float>::denorm_min(), empty, 0).verdict,
            Verdict::failed);
}

TEST(Verify, AKernelThatWroteNothingFails) {
  const Verification verification = verify_one(kNan, {1, 1, ""});
  EXPECT_EQ(verification.verdict, Verdict::failed);
  EXPECT_TRUE(std::isnan(verification.error));
  EXPECT_EQ(verification.note,
            "the result is NaN: nothing was written, or the kernel read what nobody wrote");
  EXPECT_EQ(verify_one(kNan, {0, 0, ""}, 0).verdict, Verdict::failed);
  EXPECT_EQ(verify_one(kNan, {kFloatMax, kFloatMax, ""}, 0).verdict, Verdict::failed);
  EXPECT_EQ(verify_one(kNan, {1, 1, ""}, Index{1} << 30).verdict, Verdict::failed);
}

TEST(Verify, AnInfinityFromSmallDataFails) {
  const Verification verification = verify_one(-kInf, {1, 1, ""});
  EXPECT_EQ(verification.verdict, Verdict::failed);
  EXPECT_EQ(verification.note, "the result is -inf, which no overflow explains");
}

TEST(Verify, OneBadRepeatFailsAllAndSetsTheError) {
  const Verification verification = verify_all({8, 8, 12, 9, 8}, {8, 8, ""});
  EXPECT_EQ(verification.verdict, Verdict::failed);
  EXPECT_EQ(verification.error, 4);
  EXPECT_EQ(verification.note, "off by 4 where 1.14441e-05 is allowed (repeat 3 of 5)");
}

TEST(Verify, ErrorIsThatOfTheWorstRepeatAlsoWhenAllPass) {
  const Verification verification =
      verify_all({1048576.0F, 1048577.0F, 1048575.5F}, {1048576, 1048576, ""});
  EXPECT_EQ(verification.verdict, Verdict::passed);
  EXPECT_EQ(verification.error, 1);
  EXPECT_EQ(verification.note, "");
}

TEST(Verify, ANanOutweighsEveryOtherFailure) {
  const Verification verification = verify_all({100, kNan, 1e30F}, {8, 8, ""});
  EXPECT_EQ(verification.verdict, Verdict::failed);
  EXPECT_TRUE(std::isnan(verification.error));
}

TEST(Verify, NanDataNeedsANanResult) {
  const Reference reference{kNan, kNan, ""};
  EXPECT_EQ(verify_all({kNan, -kNan}, reference).verdict, Verdict::passed);
  const Verification lost = verify_all({kNan, 5.0F}, reference);
  EXPECT_EQ(lost.verdict, Verdict::failed);
  EXPECT_EQ(lost.note, "the result is 5 although the data's sum is NaN (repeat 2 of 2)");
}

TEST(Verify, InfiniteDataNeedsThatInfinity) {
  const Reference reference{-kInf, kInf, ""};
  EXPECT_EQ(verify_one(-kInf, reference).verdict, Verdict::passed);
  EXPECT_EQ(verify_one(kInf, reference).verdict, Verdict::failed);
  EXPECT_EQ(verify_one(kNan, reference).verdict, Verdict::failed);
  EXPECT_EQ(verify_one(5.0F, reference).note, "the result is 5 although the data's sum is -inf");
}

TEST(Verify, OverflowIsNotTheStagesFault) {
  const Verification verification = verify_one(kInf, {2e38, 9e38, ""});
  EXPECT_EQ(verification.verdict, Verdict::skipped);
  EXPECT_EQ(verification.note, "overflow: partial sums can exceed float32's range");
  EXPECT_EQ(verify_one(kNan, {0, 9e38, ""}).verdict, Verdict::skipped);
}

TEST(Verify, OverflowExplainsOnlyTheSideThatCanOverflow) {
  // Positive values alone: neither -inf nor inf - inf can come out.
  const Reference positive{9e38, 9e38, ""};
  EXPECT_EQ(verify_one(kInf, positive).verdict, Verdict::skipped);
  EXPECT_EQ(verify_one(-kInf, positive).verdict, Verdict::failed);
  EXPECT_EQ(verify_one(kNan, positive).verdict, Verdict::failed);
}

TEST(Verify, OverflowByRoundingAloneCounts) {
  EXPECT_EQ(verify_one(kInf, {kFloatMax, kFloatMax, ""}).verdict, Verdict::skipped);
  EXPECT_EQ(verify_one(kInf, {kFloatMax / 2, kFloatMax / 2, ""}).verdict, Verdict::failed);
}

TEST(Verify, AFiniteResultIsJudgedWhereOthersOverflow) {
  const Reference reference{0, 9e38, ""};
  EXPECT_EQ(verify_one(0.0F, reference).verdict, Verdict::passed);
  EXPECT_EQ(verify_one(3e38F, reference).verdict, Verdict::failed);
  EXPECT_EQ(verify_all({0.0F, kInf}, reference).verdict, Verdict::skipped);
  EXPECT_EQ(verify_all({kInf, 3e38F}, reference).verdict, Verdict::failed);
}

TEST(Verify, ABoundThatSaysNothingIsNotAPass) {
  const Verification verification = verify_one(5.0F, {5, 5, ""}, Index{1} << 24);
  EXPECT_EQ(verification.verdict, Verdict::skipped);
  EXPECT_TRUE(std::isinf(verification.bound));
  EXPECT_EQ(verification.note, "a tree of depth 16777216 has no bound that says anything");
}

TEST(Verify, ZerosAreExactHoweverDeepTheTree) {
  EXPECT_EQ(verify_one(0.0F, {0, 0, ""}, Index{1} << 30).verdict, Verdict::passed);
  EXPECT_EQ(verify_one(1e-30F, {0, 0, ""}, Index{1} << 30).verdict, Verdict::failed);
}

Probe probe_all(const std::vector<float>& results, Determinism claimed = Determinism::run_to_run) {
  return probe(results, claimed);
}

constexpr double kRoundoff = 0x1p-24;

Verdict judged(Accumulation accumulation, float result, const Reference& reference,
               Index depth = 30) {
  return verify(std::span(&result, 1), reference, depth, 0, accumulation).verdict;
}

TEST(Verify, ABoundOfMoreThanFloat32IsThatOfFloat32) {
  // A sum of 1 with magnitudes of 2^20.
  const Reference reference{.sum = 1, .abs_sum = 0x1p20, .method = "", .n = 1000};
  constexpr Index kThirty = 30;
  const double a = reference.abs_sum;
  EXPECT_DOUBLE_EQ(error_bound(Accumulation::fp32, reference, kThirty), gamma(kThirty) * a);
  EXPECT_DOUBLE_EQ(error_bound(Accumulation::fp64, reference, kThirty),
                   kRoundoff + (1 + kRoundoff) * (30 * 0x1p-53 / (1 - 30 * 0x1p-53)) * a);
  EXPECT_DOUBLE_EQ(error_bound(Accumulation::compensated, reference, kThirty),
                   kRoundoff + (1 + kRoundoff) * gamma(30) * gamma(60) * a);
  EXPECT_DOUBLE_EQ(error_bound(Accumulation::exact, reference, kThirty), kRoundoff);
  const float off = 1 + 0x1p-10F;
  EXPECT_EQ(judged(Accumulation::fp32, off, reference), Verdict::passed);
  EXPECT_EQ(judged(Accumulation::compensated, off, reference), Verdict::failed);
  EXPECT_EQ(judged(Accumulation::fp64, off, reference), Verdict::failed);
  EXPECT_EQ(judged(Accumulation::exact, off, reference), Verdict::failed);
}

TEST(Verify, AnExactStageMayBeOffByOneBit) {
  const Reference reference{
      .sum = 1 - 0x1p-26, .abs_sum = 1 - 0x1p-26, .method = "", .n = 2, .sum_as_float = 1.0F};
  EXPECT_EQ(judged(Accumulation::exact, 1.0F, reference), Verdict::passed);
  EXPECT_EQ(judged(Accumulation::exact, std::nextafter(1.0F, 2.0F), reference), Verdict::failed);
  EXPECT_EQ(judged(Accumulation::exact, std::nextafter(1.0F, 0.0F), reference), Verdict::failed);
  EXPECT_EQ(judged(Accumulation::fp64, std::nextafter(1.0F, 0.0F), reference), Verdict::passed);
}

TEST(Verify, AnExactStageIsExcusedByAnOverflowOnTheWay) {
  constexpr float kMax = std::numeric_limits<float>::max();
  Reference reference{.sum = 1, .abs_sum = 4.0 * kMax, .method = "", .n = 5, .sum_as_float = 1.0F};
  EXPECT_EQ(judged(Accumulation::exact, kInf, reference), Verdict::failed);
  EXPECT_EQ(judged(Accumulation::exact, kNan, reference), Verdict::failed);
  EXPECT_EQ(judged(Accumulation::fp32, kInf, reference), Verdict::skipped);
  // A sum beyond float32 has one right answer.
  reference.sum = 2.0 * kMax;
  reference.sum_as_float = kInf;
  EXPECT_EQ(judged(Accumulation::exact, kInf, reference), Verdict::passed);
  EXPECT_EQ(judged(Accumulation::fp64, kInf, reference), Verdict::passed);
  EXPECT_EQ(judged(Accumulation::exact, kMax, reference), Verdict::failed);
  reference.sum = kNan;
  reference.sum_as_float = kNan;
  EXPECT_EQ(judged(Accumulation::exact, kNan, reference), Verdict::passed);
  EXPECT_EQ(judged(Accumulation::exact, kInf, reference), Verdict::failed);
}

TEST(Verify, ASumInDoubleIsExcusedByAnOverflowThatOnlyFloat32Has) {
  constexpr double kLimit = kFloatMax + 0x1p103;  // rounds to infinity
  const Reference cancelling{.sum = 1, .abs_sum = 4 * kFloatMax, .method = "", .n = 5};
  for (const float result : {kInf, -kInf, kNan}) {
    EXPECT_EQ(judged(Accumulation::fp64, result, cancelling), Verdict::failed) << result;
    EXPECT_EQ(judged(Accumulation::compensated, result, cancelling), Verdict::skipped) << result;
  }
  const Reference beyond{.sum = -kLimit, .abs_sum = kLimit, .method = "", .n = 2};
  EXPECT_EQ(judged(Accumulation::fp64, -kInf, beyond), Verdict::passed);
  EXPECT_EQ(judged(Accumulation::fp64, kInf, beyond), Verdict::failed) << "of the other sign";
  EXPECT_EQ(judged(Accumulation::fp64, kNan, beyond), Verdict::failed);
  EXPECT_EQ(judged(Accumulation::fp64, -std::numeric_limits<float>::max(), beyond),
            Verdict::passed);
  // Only an error of the sum in fp64 can take this one there.
  const Reference next_to_it{.sum = std::nextafter(kLimit, 0), .abs_sum = kLimit, .method = ""};
  EXPECT_EQ(judged(Accumulation::fp64, kInf, next_to_it), Verdict::passed);
  EXPECT_EQ(judged(Accumulation::fp64, kInf, next_to_it, 0), Verdict::failed);
  const Reference largest{.sum = kFloatMax, .abs_sum = kFloatMax, .method = ""};
  EXPECT_EQ(judged(Accumulation::fp64, kInf, largest), Verdict::failed);
}

TEST(Verify, ASumThatCannotOverflowIsExcusedWhereTheDataAreInfinite) {
  const Reference reference = compute_reference(std::vector<float>{3e38F, 3e38F, -kInf, 1});
  EXPECT_EQ(judged(Accumulation::compensated, kNan, reference), Verdict::skipped);
  EXPECT_EQ(judged(Accumulation::fp64, kNan, reference), Verdict::failed);
  EXPECT_EQ(judged(Accumulation::exact, kNan, reference), Verdict::failed);
}

TEST(Verify, AnExactStageThatIsRightHasAnErrorOrABoundThatIsNotANumber) {
  for (const float special : {kNan, kInf, -kInf}) {
    const Reference reference = compute_reference(std::vector<float>{1, special});
    const Verification verification =
        verify(std::span(&special, 1), reference, 1, 0, Accumulation::exact);
    EXPECT_EQ(verification.verdict, Verdict::passed) << special;
    EXPECT_EQ(verification.error, 0) << special;
    EXPECT_EQ(verification.bound, 0) << special;
  }
}

TEST(Verify, ABoundOfTheCompensatedSumThatZeroWouldKeepIsAPass) {
  const Reference reference{.sum = 5, .abs_sum = 5, .method = ""};
  for (const auto& [depth, verdict] : {std::pair(Index{5'000'000}, Verdict::failed),
                                       {Index{6'000'000}, Verdict::skipped},
                                       {Index{1} << 23U, Verdict::skipped},
                                       {Index{1} << 40U, Verdict::skipped}}) {
    EXPECT_EQ(judged(Accumulation::compensated, 0, reference, depth), verdict) << depth;
  }
  EXPECT_TRUE(std::isinf(error_bound(Accumulation::compensated, reference, 6'000'000)));
}

TEST(Verify, AnExpectationIsMadeForWhatDoesNotRoundByChance) {
  const Reference reference{.sum = 3, .abs_sum = 5, .method = "", .n = 100};
  EXPECT_DOUBLE_EQ(expected_error(Accumulation::fp32, reference, 16).value(), 4 * kRoundoff * 5);
  for (const Accumulation other :
       {Accumulation::fp64, Accumulation::compensated, Accumulation::exact}) {
    EXPECT_FALSE(expected_error(other, reference, 16));
  }
}

TEST(Probe, TheSpanIsNotThatOfTheFloatsBetween) {
  const float next = std::nextafter(1.0F, 2.0F);
  EXPECT_EQ(probe(std::vector{1.0F, 1.0F}, Determinism::run_to_run).span_ulps, 0U);
  EXPECT_EQ(probe(std::vector{next, 1.0F}, Determinism::run_to_run).span_ulps, 1U);
  EXPECT_EQ(probe(std::vector{-0x1p-149F, 0x1p-149F}, Determinism::run_to_run).span_ulps, 2U);
  EXPECT_EQ(probe(std::vector{-0.0F, 0.0F}, Determinism::run_to_run).span_ulps, 0U);
  EXPECT_EQ(probe(std::vector{1.0F, 2.0F}, Determinism::run_to_run).span_ulps, 1U << 23U);
  EXPECT_EQ(probe(std::vector{float{kNan}, float{kNan}}, Determinism::run_to_run).span_ulps, 0U);
}

TEST(Probe, CountsPatternsAndTheirRange) {
  const Probe probe = probe_all({2, 1, 2, 3, 1});
  EXPECT_EQ(probe.repeats, 5U);
  EXPECT_EQ(probe.distinct, 3U);
  EXPECT_EQ(probe.min, 1);
  EXPECT_EQ(probe.max, 3);
}

TEST(Probe, ADifferenceOfOneBitRefutesAClaim) {
  const std::vector<float> results = {1, 1, std::nextafter(1.0F, 2.0F), 1};
  EXPECT_EQ(probe_all(results, Determinism::run_to_run).outcome, Probe::Outcome::refuted);
  EXPECT_EQ(probe_all(results, Determinism::gpu_to_gpu).outcome, Probe::Outcome::refuted);
  EXPECT_EQ(probe_all(results, Determinism::not_guaranteed).outcome, Probe::Outcome::unclaimed);
}

TEST(Probe, SameBitsHoldAClaimButMakeNone) {
  EXPECT_EQ(probe_all({1, 1}, Determinism::run_to_run).outcome, Probe::Outcome::held);
  EXPECT_EQ(probe_all({1, 1}, Determinism::not_guaranteed).outcome, Probe::Outcome::unclaimed);
}

TEST(Probe, OneRunTestsNothing) {
  EXPECT_EQ(probe_all({1}).outcome, Probe::Outcome::untested);
  EXPECT_EQ(probe_all({1}, Determinism::not_guaranteed).outcome, Probe::Outcome::untested);
  EXPECT_EQ(probe_all({}).outcome, Probe::Outcome::untested);
}

TEST(Probe, ZerosOfBothSignsDiffer) {
  const Probe probe = probe_all({0.0F, -0.0F});
  EXPECT_EQ(probe.distinct, 2U);
  EXPECT_TRUE(std::signbit(probe.min));
  EXPECT_FALSE(std::signbit(probe.max));
}

TEST(Probe, NanCountsAsAPatternButNotInTheRange) {
  const Probe mixed = probe_all({kNan, 1, 2});
  EXPECT_EQ(mixed.distinct, 3U);
  EXPECT_EQ(mixed.min, 1);
  EXPECT_EQ(mixed.max, 2);

  const Probe only = probe_all({kNan, kNan});
  EXPECT_EQ(only.outcome, Probe::Outcome::held);
  EXPECT_TRUE(std::isnan(only.min));
  EXPECT_TRUE(std::isnan(only.max));
}

TEST(Verify, BlamesAStageForSubnormalsThatItsAtomicsFlush) {
  const Reference reference{.sum = 3e-40, .abs_sum = 3e-40, .method = ""};
  const std::array<float, 1> flushed = {0.0F};
  EXPECT_EQ(verify(flushed, reference, 10).verdict, Verdict::failed);
  EXPECT_EQ(verify(flushed, reference, 10, 1).verdict, Verdict::passed);
}

TEST(Verify, BlamesAStageForFiniteValuesThatOverflowToTheOtherInfinity) {
  const std::vector<float> values = {3e38F, 3e38F, -std::numeric_limits<float>::infinity(), 1};
  const Reference reference = compute_reference(values);
  const std::array<float, 1> nan = {std::numeric_limits<float>::quiet_NaN()};
  const std::array<float, 1> right = {-std::numeric_limits<float>::infinity()};
  EXPECT_EQ(verify(nan, reference, 5).verdict, Verdict::skipped);
  EXPECT_EQ(verify(right, reference, 5).verdict, Verdict::passed);
  // Without anything that could overflow, the NaN is the stage's own.
  const std::vector<float> small = {3, -std::numeric_limits<float>::infinity()};
  EXPECT_EQ(verify(nan, compute_reference(small), 5).verdict, Verdict::failed);
}

}  // namespace
}  // namespace reduce_ladder
