#include "verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace reduce_ladder {
namespace {

constexpr double kUnitRoundoff = 0x1p-24;
constexpr double kDoubleRoundoff = 0x1p-53;
constexpr double kSmallestNormal = 0x1p-126;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// From here on rounding to float32 overflows: half a unit in the last place beyond the largest one.
constexpr double kOverflow = std::numeric_limits<float>::max() + 0x1p103;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Can rounding and an unlucky order alone take partial sums of h additions out of float32's range?
// They are at most (1 + u)^h <= exp(h u) times the sum of all terms of one sign. What adds in a
// wider range cannot overflow before its end.
struct Overflow {
  bool above = false;
  bool below = false;
};

Overflow possible_overflow(const Reference& reference, Index depth, Accumulation accumulation) {
  const bool in_float32 =
      accumulation == Accumulation::fp32 || accumulation == Accumulation::compensated;
  if (depth == 0 || !in_float32) return {};
  const double growth = std::exp(static_cast<double>(depth) * kUnitRoundoff);
  const auto reaches_limit = [growth](double terms) { return terms * growth >= kOverflow; };
  if (std::isfinite(reference.abs_sum)) {
    return {reaches_limit((reference.abs_sum + reference.sum) / 2),
            reaches_limit((reference.abs_sum - reference.sum) / 2)};
  }
  return {reaches_limit(reference.finite_above), reaches_limit(-reference.finite_below)};
}

constexpr const char* kOverflowNote = "overflow: partial sums can exceed float32's range";

// Data whose sum is NaN or infinite: there is no rounding to allow for, but finite terms that
// overflow to the other infinity make a NaN.
Verification judge_special(float result, const Reference& reference, const Overflow& overflow) {
  const double sum = reference.sum;
  if (std::isnan(sum) ? std::isnan(result) : result == sum) return {Verdict::passed, 0, 0, ""};
  if (std::isnan(result) && (sum > 0 ? overflow.below : overflow.above)) {
    return {Verdict::skipped, kNan, 0, kOverflowNote};
  }
  double error = kInfinity;
  if (std::isnan(result) || std::isnan(sum)) error = kNan;
  return {Verdict::failed, error, 0,
          fmt::format("the result is {} although the data's sum is {}",
                      std::isnan(result) ? "NaN" : fmt::format("{}", result),
                      std::isnan(sum) ? "NaN" : fmt::format("{}", sum))};
}

// Only both overflows together make a NaN (inf - inf).
bool overflow_explains(float result, const Overflow& overflow) {
  if (std::isnan(result)) return overflow.above && overflow.below;
  return result > 0 ? overflow.above : overflow.below;
}

// NaN is like NaN, and zeros are alike whatever their sign.
bool alike(float a, float b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

// There is only one right answer.
Verification judge_exact(float result, const Reference& reference, double bound) {
  const float right = reference.sum_as_float.value_or(static_cast<float>(reference.sum));
  const double error = std::fabs(result - reference.sum);
  // Where the sum is beyond float32, an infinity is what rounding it gives.
  if (alike(result, right)) return {Verdict::passed, std::isinf(right) ? 0 : error, bound, ""};
  return {Verdict::failed, error, bound,
          fmt::format("the result is {:.9g} where the exact sum, rounded once, is {:.9g}", result,
                      right)};
}

// Is an infinity what rounding gives that sum, or one that is as far off in fp64 as it may be?
bool rounding_overflows(float result, const Reference& reference, Index depth) {
  const double farthest =
      std::fabs(reference.sum) + gamma(depth, kDoubleRoundoff) * reference.abs_sum;
  return std::isinf(result) && std::signbit(result) == std::signbit(reference.sum) &&
         farthest >= kOverflow;
}

Verification judge(float result, const Reference& reference, Index depth, Index flushes,
                   Accumulation accumulation) {
  const double bound = error_bound(accumulation, reference, depth, flushes);
  const Overflow overflow = possible_overflow(reference, depth, accumulation);
  if (!std::isfinite(reference.sum)) return judge_special(result, reference, overflow);
  if (accumulation == Accumulation::exact) return judge_exact(result, reference, bound);
  if (accumulation == Accumulation::fp64 && rounding_overflows(result, reference, depth)) {
    return {Verdict::passed, 0, bound, ""};
  }

  const double error = std::isnan(result) ? kNan : std::fabs(result - reference.sum);
  if (!std::isfinite(result)) {
    if (overflow_explains(result, overflow)) {
      return {Verdict::skipped, error, bound, kOverflowNote};
    }
    return {Verdict::failed, error, bound,
            std::isnan(result)
                ? "the result is NaN: nothing was written, or the kernel read what nobody wrote"
                : fmt::format("the result is {}, which no overflow explains", result)};
  }
  if (std::isinf(bound)) {
    return {Verdict::skipped, error, bound,
            fmt::format("a tree of depth {} has no bound that says anything", depth)};
  }
  if (error <= bound) return {Verdict::passed, error, bound, ""};
  return {Verdict::failed, error, bound,
          fmt::format("off by {:.6g} where {:.6g} is allowed", error, bound)};
}

// A result of 0 would keep a bound of A and more.
double infinite_from_one(double factor) {
  if (factor < 1) return factor;
  return kInfinity;
}

// How many float32 values further `high` is than `low`. -0 and +0 are one value here.
std::uint32_t floats_between(float low, float high) {
  const auto position = [](float x) {
    const auto magnitude = static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(std::fabs(x)));
    return x < 0 ? -magnitude : magnitude;
  };
  return std::isnan(low) ? 0 : static_cast<std::uint32_t>(position(high) - position(low));
}

// A failure outweighs a skipped check and that a passed one; then the larger error, NaN the
// largest.
std::pair<int, double> severity(const Verification& verification) {
  const int rank = verification.verdict == Verdict::failed    ? 2
                   : verification.verdict == Verdict::skipped ? 1
                                                              : 0;
  return {rank, std::isnan(verification.error) ? kInfinity : verification.error};
}

}  // namespace

double gamma(Index depth, double unit_roundoff) {
  const double hu = static_cast<double>(depth) * unit_roundoff;
  return hu < 1 ? hu / (1 - hu) : kInfinity;
}

double error_factor(Index depth, Index n) {
  const double any_order = static_cast<double>(std::max<Index>(n, 1) - 1) * kUnitRoundoff;
  return infinite_from_one(std::min(gamma(depth), any_order));
}

double error_bound(Accumulation accumulation, const Reference& reference, Index depth,
                   Index flushes) {
  // All zeros sum to zero exactly, however deep the tree.
  if (reference.abs_sum == 0) return 0;
  const double of_result = kUnitRoundoff * std::fabs(reference.sum);
  switch (accumulation) {
    case Accumulation::fp64:
      return of_result + (1 + kUnitRoundoff) * infinite_from_one(gamma(depth, kDoubleRoundoff)) *
                             reference.abs_sum;
    case Accumulation::compensated:
      return of_result + (1 + kUnitRoundoff) * infinite_from_one(gamma(depth) * gamma(2 * depth)) *
                             reference.abs_sum;
    case Accumulation::exact:
      return of_result;
    case Accumulation::fp32:
      break;
  }
  // An addition that flushes can lose an operand and a result.
  return error_factor(depth, reference.n) * reference.abs_sum +
         2 * kSmallestNormal * static_cast<double>(flushes);
}

std::optional<double> expected_error(Accumulation accumulation, const Reference& reference,
                                     Index depth) {
  if (accumulation != Accumulation::fp32) return std::nullopt;
  return std::sqrt(static_cast<double>(depth)) * kUnitRoundoff * reference.abs_sum;
}

Verification verify(std::span<const float> results, const Reference& reference, Index depth,
                    Index flushes, Accumulation accumulation) {
  Verification worst = judge(results.front(), reference, depth, flushes, accumulation);
  for (std::size_t i = 1; i < results.size(); ++i) {
    keep_worse(worst, judge(results[i], reference, depth, flushes, accumulation),
               fmt::format("repeat {} of {}", i + 1, results.size()));
  }
  return worst;
}

Verification verify(std::span<const float> results, const Reference& reference, const Stage& stage,
                    const Plan& plan) {
  return verify(results, reference, plan.depth(), plan.atomic_depth, stage.accumulation);
}

void keep_worse(Verification& worst, Verification next, std::string_view which) {
  if (severity(next) <= severity(worst)) return;
  worst = std::move(next);
  if (!worst.note.empty()) worst.note += fmt::format(" ({})", which);
}

Probe probe(std::span<const float> results, Determinism claimed) {
  std::vector<std::uint32_t> patterns;
  std::vector<float> numbers;
  for (float result : results) {
    patterns.push_back(std::bit_cast<std::uint32_t>(result));
    if (!std::isnan(result)) numbers.push_back(result);
  }
  std::ranges::sort(patterns);
  patterns.erase(std::unique(patterns.begin(), patterns.end()), patterns.end());

  // The total order tells -0 from +0, as the patterns do.
  std::ranges::sort(numbers, [](float a, float b) { return std::is_lt(std::strong_order(a, b)); });
  if (numbers.empty()) numbers.push_back(std::numeric_limits<float>::quiet_NaN());

  Probe probe{.claimed = claimed,
              .repeats = static_cast<unsigned>(results.size()),
              .distinct = static_cast<unsigned>(patterns.size()),
              .min = numbers.front(),
              .max = numbers.back(),
              .span_ulps = floats_between(numbers.front(), numbers.back())};
  if (probe.repeats < 2) {
    probe.outcome = Probe::Outcome::untested;
  } else if (claimed == Determinism::not_guaranteed) {
    probe.outcome = Probe::Outcome::unclaimed;
  } else {
    probe.outcome = probe.distinct == 1 ? Probe::Outcome::held : Probe::Outcome::refuted;
  }
  return probe;
}

}  // namespace reduce_ladder
