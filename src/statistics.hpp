// Order statistics of samples.
#pragma once

#include <span>

#include "reduce_ladder/results.hpp"

namespace reduce_ladder {

// The q-quantile of `sorted` (ascending, not empty), 0 <= q <= 1, by linear interpolation between
// order statistics (Hyndman and Fan 1996, type 7: NumPy's default).
double quantile(std::span<const double> sorted, double q);

// Median, minimum and interquartile range. `samples` must not be empty.
Summary summarize(Samples samples);

}  // namespace reduce_ladder
