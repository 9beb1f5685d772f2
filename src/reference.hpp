// The CPU's answer, in fp64.
#pragma once

#include <span>

#include "reduce_ladder/results.hpp"

namespace reduce_ladder {

// Sum and sum of magnitudes in double with TwoSum compensation (Ogita, Rump, Oishi 2005), over
// chunks of a fixed size that are combined in order: the same bits on every machine, whatever its
// cores. A sum that is not finite (NaN, infinities in the data) is that of plain IEEE addition.
Reference compute_reference(std::span<const float> values);

}  // namespace reduce_ladder
