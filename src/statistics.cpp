#include "statistics.hpp"

#include <algorithm>

namespace reduce_ladder {

double quantile(std::span<const double> sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double fraction = position - static_cast<double>(below);
  return sorted[below] + fraction * (sorted[above] - sorted[below]);
}

Summary summarize(Samples samples) {
  std::ranges::sort(samples);
  return {.median = quantile(samples, 0.5),
          .min = samples.front(),
          .iqr = quantile(samples, 0.75) - quantile(samples, 0.25),
          .samples = samples.size()};
}

}  // namespace reduce_ladder
