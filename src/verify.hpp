// The judge: is a result within what its stage's tree of additions allows, and are repeats the
// same?
#pragma once

#include <span>

#include "reduce_ladder/results.hpp"

namespace reduce_ladder {

// gamma(h) = h u / (1 - h u) with u = 2^-24, the unit roundoff of float32 (Higham 2002, lemma 3.1).
// Infinite where h u >= 1.
double gamma(Index depth);

// A sum of n values by a tree of that depth is off by at most this times the sum of their
// magnitudes: gamma(depth), or (n - 1) u, which holds for any order without a limit on n (Jeannerod
// and Rump 2013, "Improved error bounds for inner products in floating-point arithmetic",
// section 3). Infinite where neither is below 1: a result of 0 would keep such a bound.
double error_factor(Index depth, Index n);

// Judges all `results` (one a repeat, at least one) against error_factor() * A; the worst one
// decides. `flushes` of the additions may take a subnormal operand or result for zero, which adds 2
// * 2^-126 each.
Verification verify(std::span<const float> results, const Reference& reference, Index depth,
                    Index flushes = 0);

// Counts the bit patterns of `results` and weighs them against the claim. NaNs count by their bits;
// min and max leave them out (NaN where nothing else is there).
Probe probe(std::span<const float> results, Determinism claimed);

}  // namespace reduce_ladder
