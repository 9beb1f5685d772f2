// Order statistics of samples.
#pragma once

#include <span>

#include "reduce_ladder/results.hpp"

namespace reduce_ladder {

// The q-quantile of `sorted` (ascending, not empty), 0 <= q <= 1, by linear interpolation between
// order statistics (Hyndman and Fan 1996, type 7: NumPy's default).
double quantile(std::span<const double> sorted, double q);

// Half the width of a 95% confidence interval of the median, relative to the median:
// 1.57 IQR / (sqrt(samples) median) (McGill, Tukey, Larsen 1978). `seconds` must not be empty.
double noise(std::vector<double> seconds);

// Median, minimum and interquartile range. There must be at least one sample.
Summary summarize(Samples samples);

}  // namespace reduce_ladder
