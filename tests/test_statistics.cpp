#include <gtest/gtest.h>

#include <vector>

#include "statistics.hpp"

namespace reduce_ladder {
namespace {

TEST(Quantile, InterpolatesAsNumPyDoes) {
  const std::vector<double> sorted = {1, 2, 4, 8};
  EXPECT_DOUBLE_EQ(quantile(sorted, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.5), 3);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.75), 5);
  EXPECT_DOUBLE_EQ(quantile(sorted, 1), 8);
}

TEST(Quantile, OfOneSampleIsThatSample) {
  const std::vector<double> sorted = {7};
  for (double q : {0.0, 0.3, 1.0}) EXPECT_EQ(quantile(sorted, q), 7) << q;
}

TEST(Summarize, SortsFirst) {
  const Summary summary = summarize({.seconds = {8, 1, 4, 2}});
  EXPECT_DOUBLE_EQ(summary.median, 3);
  EXPECT_DOUBLE_EQ(summary.min, 1);
  EXPECT_DOUBLE_EQ(summary.iqr, 3.25);
  EXPECT_EQ(summary.samples, 4U);
}

TEST(Summarize, OneOutlierMovesNeitherMedianNorSpread) {
  const Summary summary = summarize({.seconds = {1, 1, 1, 1, 1000}});
  EXPECT_EQ(summary.median, 1);
  EXPECT_EQ(summary.iqr, 0);
}

TEST(Summarize, SaysHowTheSamplesWereTaken) {
  const Summary calm = summarize({.seconds = {1, 2}, .discarded = 3, .stable = true});
  EXPECT_EQ(calm.discarded, 3U);
  EXPECT_TRUE(calm.stable);
  EXPECT_FALSE(summarize({.seconds = {1, 2}, .discarded = 0, .stable = false}).stable);
}

TEST(Noise, IsHalfAConfidenceIntervalRelativeToTheMedian) {
  // Quartiles 1.75 and 5, median 3.
  EXPECT_DOUBLE_EQ(noise({8, 1, 4, 2}), 1.57 * 3.25 / (2 * 3));
}

TEST(Noise, FallsWithTheRootOfTheNumberOfSamples) {
  const std::vector<double> once = {9, 10, 10, 11, 11, 12, 12, 13};
  std::vector<double> many;
  for (int i = 0; i < 100; ++i) many.insert(many.end(), once.begin(), once.end());
  EXPECT_NEAR(noise(many) * 10, noise(once), 0.3 * noise(once));
}

TEST(Noise, DoesNotDependOnTheUnit) {
  EXPECT_NEAR(noise({8e-6, 1e-6, 4e-6, 2e-6}), noise({8, 1, 4, 2}), 1e-12);
}

TEST(Noise, OfEqualSamplesIsNone) {
  EXPECT_EQ(noise({5, 5, 5}), 0);
  EXPECT_EQ(noise({5}), 0);
}

TEST(Noise, IsNotMovedByAnOutlier) {
  EXPECT_EQ(noise({1, 1, 1, 1, 1000}), 0);
}

TEST(Plan, DepthAddsPassesAndAtomics) {
  const Plan plan{{{.n = 4096, .grid = 16, .depth = 9}, {.n = 16, .grid = 1, .depth = 4}}, 100};
  EXPECT_EQ(plan.depth(), 113U);
}

TEST(Plan, WorkspaceHoldsAllPartialsButNotTheResult) {
  const Plan plan{{{.grid = 65536}, {.grid = 256}, {.grid = 1}}, 0};
  EXPECT_EQ(plan.workspace(), 65792U);
}

TEST(Plan, OnePassNeedsNoWorkspace) {
  EXPECT_EQ((Plan{{{.grid = 1056}}, 1056}).workspace(), 0U);
  EXPECT_EQ(Plan{}.workspace(), 0U);
  EXPECT_EQ(Plan{}.depth(), 0U);
}

}  // namespace
}  // namespace reduce_ladder
