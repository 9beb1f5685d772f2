// The judge: is a result within what its stage's tree of additions allows, and are repeats the
// same?
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "reduce_ladder/results.hpp"

namespace reduce_ladder {

// gamma(h) = h u / (1 - h u) with u = 2^-24, the unit roundoff of float32 (Higham 2002, lemma 3.1).
// Infinite where h u >= 1. Or with another unit roundoff.
double gamma(Index depth, double unit_roundoff = 0x1p-24);

// A sum of n values by a tree of that depth is off by at most this times the sum of their
// magnitudes: gamma(depth), or (n - 1) u, which holds for any order without a limit on n (Jeannerod
// and Rump 2013, "Improved error bounds for inner products in floating-point arithmetic",
// section 3). Infinite where neither is below 1: a result of 0 would keep such a bound.
double error_factor(Index depth, Index n);

// How far a result may be off, with s the sum, A that of the magnitudes and h the depth of the
// tree:
//   fp32         error_factor(h, n) A; `flushes` of the additions may take a subnormal operand or
//                result for zero, which adds 2 * 2^-126 each
//   fp64         u |s| + (1 + u) h v / (1 - h v) A, with v = 2^-53
//   compensated  u |s| + (1 + u) gamma(h) gamma(2h) A (Ogita, Rump, Oishi 2005, "Accurate sum and
//                dot product", proposition 4.5, with a tree in the place of a loop: it loses at
//                most gamma(h) A in all, which is added up with a depth of 2h)
//   exact        u |s|: one rounding
// Infinite where that says nothing: where a result of 0 would keep it.
double error_bound(Accumulation accumulation, const Reference& reference, Index depth,
                   Index flushes = 0);

// What is to be expected of rounding errors that fall either way by chance: sqrt(h) u A, as
// information (Higham and Mary 2019, "A new approach to probabilistic rounding error analysis").
// Nothing for a stage that does not round every addition to float32.
std::optional<double> expected_error(Accumulation accumulation, const Reference& reference,
                                     Index depth);

// Judges all `results` (one a repeat, at least one) against error_bound(); the worst one decides.
// A stage that is exact has to give the exact sum, rounded once; any NaN is like any other, and
// zeros are alike whatever their sign. An infinity or a NaN is no failure where partial sums in
// float32 can overflow to it; nor is an infinity of a sum in fp64 that rounding can take there.
Verification verify(std::span<const float> results, const Reference& reference, Index depth,
                    Index flushes = 0, Accumulation accumulation = Accumulation::fp32);
// Likewise, of the results of a stage by that plan.
Verification verify(std::span<const float> results, const Reference& reference, const Stage& stage,
                    const Plan& plan);

// Takes `next` for `worst` if it is worse, with `which` run that was behind its note.
void keep_worse(Verification& worst, Verification next, std::string_view which);

// Counts the bit patterns of `results` and weighs them against the claim. NaNs count by their bits;
// min and max leave them out (NaN where nothing else is there).
Probe probe(std::span<const float> results, Determinism claimed);

}  // namespace reduce_ladder
