#include "reference.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <vector>

#include "parallel.hpp"

// TwoSum is right only as written. Nothing in it is a product, so contraction to FMA cannot touch
// it; reassociation and x87's wide registers can.
#if defined(__FAST_MATH__)
#error "the reference needs IEEE arithmetic: build without -ffast-math"
#endif
static_assert(FLT_EVAL_METHOD == 0, "the reference needs double expressions evaluated in double");

namespace reduce_ladder {
namespace {

constexpr std::size_t kChunk = 65536;

// Independent accumulators: enough to hide the latency of an addition, few enough for the
// registers.
constexpr std::size_t kLanes = 4;

// Adds x to sum and what the rounding lost to error (TwoSum, Knuth).
inline void add_compensated(double& sum, double& error, double x) {
  const double total = sum + x;
  const double x_part = total - sum;
  const double sum_part = total - x_part;
  error += (sum - sum_part) + (x - x_part);
  sum = total;
}

// sum + error is the value so far. The sum alone is that of plain IEEE addition.
struct Compensated {
  double sum = 0;
  double error = 0;

  void add(double x) { add_compensated(sum, error, x); }

  void add(const Compensated& other) {
    add(other.sum);
    error += other.error;
  }

  // Infinities and NaN turn the error into NaN, so only the plain sum speaks then.
  [[nodiscard]] double value() const { return std::isfinite(sum) ? sum + error : sum; }
};

struct Totals {
  Compensated sum;
  Compensated abs_sum;

  void add(float x) {
    sum.add(x);
    abs_sum.add(std::fabs(x));
  }

  void add(const Totals& other) {
    sum.add(other.sum);
    abs_sum.add(other.abs_sum);
  }
};

// The lanes are arrays of sums and of errors, not of Compensated, so that the loop vectorises.
Totals sum_chunk(std::span<const float> values) {
  double sum[kLanes] = {};
  double error[kLanes] = {};
  double abs_sum[kLanes] = {};
  double abs_error[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double x = values[i + lane];
      add_compensated(sum[lane], error[lane], x);
      add_compensated(abs_sum[lane], abs_error[lane], std::fabs(x));
    }
  }
  Totals totals;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    totals.add({{sum[lane], error[lane]}, {abs_sum[lane], abs_error[lane]}});
  }
  for (; i < values.size(); ++i) totals.add(values[i]);
  return totals;
}

}  // namespace

Reference compute_reference(std::span<const float> values) {
  std::vector<Totals> chunks((values.size() + kChunk - 1) / kChunk);
  parallel_chunks(chunks.size(), [&](std::size_t chunk) {
    const std::size_t begin = chunk * kChunk;
    chunks[chunk] = sum_chunk(values.subspan(begin, std::min(kChunk, values.size() - begin)));
  });
  Totals totals;
  for (const Totals& chunk : chunks) totals.add(chunk);
  Reference reference{.sum = totals.sum.value(),
                      .abs_sum = totals.abs_sum.value(),
                      .method = "fp64, TwoSum-compensated",
                      .n = values.size()};
  if (!std::isfinite(reference.abs_sum)) {
    for (const float x : values) {
      if (std::isfinite(x)) (x > 0 ? reference.finite_above : reference.finite_below) += x;
    }
  }
  return reference;
}

}  // namespace reduce_ladder
