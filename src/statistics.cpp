#include "statistics.hpp"

#include <algorithm>
#include <cmath>

namespace reduce_ladder {

double quantile(std::span<const double> sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double fraction = position - static_cast<double>(below);
  return sorted[below] + fraction * (sorted[above] - sorted[below]);
}

double noise(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  const double iqr = quantile(seconds, 0.75) - quantile(seconds, 0.25);
  return 1.57 * iqr / (std::sqrt(static_cast<double>(seconds.size())) * quantile(seconds, 0.5));
}

Summary summarize(Samples samples) {
  std::vector<double>& seconds = samples.seconds;
  std::ranges::sort(seconds);
  return {.median = quantile(seconds, 0.5),
          .min = seconds.front(),
          .iqr = quantile(seconds, 0.75) - quantile(seconds, 0.25),
          .samples = seconds.size(),
          .discarded = samples.discarded,
          .stable = samples.stable};
}

}  // namespace reduce_ladder
