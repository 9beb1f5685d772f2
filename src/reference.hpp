// The CPU's answer: the exact sum.
#pragma once

#include <span>

#include "input.hpp"
#include "reduce_ladder/fill.hpp"
#include "reduce_ladder/results.hpp"

namespace reduce_ladder {

// The exact sum of the values and of their magnitudes, correctly rounded, and beside it what a
// plain loop in double makes of them. The same bits on every machine, whatever its cores.
Reference compute_reference(std::span<const float> values);
// The same of the n values that `fill` makes, a piece at a time.
Reference compute_reference(Index n, const Fill& fill);
Reference compute_reference(const Input& input);

}  // namespace reduce_ladder
