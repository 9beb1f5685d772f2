// The CPU's answer: the exact sum.
#pragma once

#include <span>

#include "reduce_ladder/results.hpp"

namespace reduce_ladder {

// The exact sum of the values and of their magnitudes, correctly rounded, and beside it what a
// plain loop in double makes of them. The same bits on every machine, whatever its cores.
Reference compute_reference(std::span<const float> values);

}  // namespace reduce_ladder
