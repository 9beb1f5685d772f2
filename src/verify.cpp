#include "verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <compare>
#include <limits>
#include <utility>
#include <vector>

namespace reduce_ladder {
namespace {

constexpr double kUnitRoundoff = 0x1p-24;
constexpr double kSmallestNormal = 0x1p-126;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Can rounding and an unlucky order alone take partial sums of h additions out of float32's range?
// They are at most (1 + u)^h <= exp(h u) times the sum of all terms of one sign.
struct Overflow {
  bool above = false;
  bool below = false;
};

Overflow possible_overflow(const Reference& reference, Index depth) {
  if (depth == 0) return {};
  const double growth = std::exp(static_cast<double>(depth) * kUnitRoundoff);
  constexpr double kLimit = std::numeric_limits<float>::max();
  const auto reaches_limit = [growth](double terms) { return terms * growth >= kLimit; };
  if (std::isfinite(reference.abs_sum)) {
    return {reaches_limit((reference.abs_sum + reference.sum) / 2),
            reaches_limit((reference.abs_sum - reference.sum) / 2)};
  }
  return {reaches_limit(reference.finite_above), reaches_limit(-reference.finite_below)};
}

constexpr const char* kOverflowNote = "overflow: partial sums can exceed float32's range";

// Data whose sum is NaN or infinite: there is no rounding to allow for, but finite terms that
// overflow to the other infinity make a NaN.
Verification judge_special(float result, const Reference& reference, Index depth) {
  const double sum = reference.sum;
  if (std::isnan(sum) ? std::isnan(result) : result == sum) return {Verdict::passed, 0, 0, ""};
  const Overflow overflow = possible_overflow(reference, depth);
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
bool overflow_explains(float result, const Reference& reference, Index depth) {
  const Overflow overflow = possible_overflow(reference, depth);
  if (std::isnan(result)) return overflow.above && overflow.below;
  return result > 0 ? overflow.above : overflow.below;
}

Verification judge(float result, const Reference& reference, Index depth, Index flushes) {
  if (!std::isfinite(reference.sum)) return judge_special(result, reference, depth);

  // All zeros sum to zero exactly, however deep the tree. An addition that flushes can lose an
  // operand and a result.
  const double bound = reference.abs_sum == 0
                           ? 0
                           : error_factor(depth, reference.n) * reference.abs_sum +
                                 2 * kSmallestNormal * static_cast<double>(flushes);
  const double error = std::isnan(result) ? kNan : std::fabs(result - reference.sum);
  if (!std::isfinite(result)) {
    if (overflow_explains(result, reference, depth)) {
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

// A failure outweighs a skipped check and that a passed one; then the larger error, NaN the
// largest.
std::pair<int, double> severity(const Verification& verification) {
  const int rank = verification.verdict == Verdict::failed    ? 2
                   : verification.verdict == Verdict::skipped ? 1
                                                              : 0;
  return {rank, std::isnan(verification.error) ? kInfinity : verification.error};
}

}  // namespace

double gamma(Index depth) {
  const double hu = static_cast<double>(depth) * kUnitRoundoff;
  return hu < 1 ? hu / (1 - hu) : kInfinity;
}

double error_factor(Index depth, Index n) {
  const double any_order = static_cast<double>(std::max<Index>(n, 1) - 1) * kUnitRoundoff;
  const double factor = std::min(gamma(depth), any_order);
  if (factor < 1) return factor;
  return kInfinity;
}

Verification verify(std::span<const float> results, const Reference& reference, Index depth,
                    Index flushes) {
  Verification worst = judge(results.front(), reference, depth, flushes);
  for (std::size_t i = 1; i < results.size(); ++i) {
    Verification next = judge(results[i], reference, depth, flushes);
    if (severity(next) <= severity(worst)) continue;
    worst = std::move(next);
    if (!worst.note.empty()) worst.note += fmt::format(" (repeat {} of {})", i + 1, results.size());
  }
  return worst;
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
              .max = numbers.back()};
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
