// Runs over data whose sum is known without computing it, to find what a bound on the error lets
// through: a value dropped, added twice or read from behind the end.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ladder.hpp"
#include "reduce_ladder/fill.hpp"

namespace reduce_ladder {

// n whole numbers of random signs, such that partial sums are exact in float32 whatever the order
// of the additions: with magnitudes up to m, none of them exceeds 2^24 but with a probability below
// 10^-20 (m is at most 2^24 / (8 sqrt(n)), so that 2^24 is at least ten standard deviations of the
// sum, and thirteen where m is large). Value i is a function of n, seed and i.
Fill exact_integers(Index n, std::uint64_t seed);

// Whole numbers of up to 24 bits, positive in the first half and their negatives mirrored in the
// second, and a few small ones that are left: partial sums grow, so that float32 rounds them by far
// more than the sum, which is small, and exact in double.
Fill cancelling_integers(Index n, std::uint64_t seed);

// Runs every stage of `planned` that can run here, and returns what came of each, in their order.
//   once     exact integers, n of them, over the base that was asked for, with NaN behind the last
//            (up to kMostHeld)
//   also     one 1 among zeros, and one NaN among ones, at ends and borders, over bases 0 to 3
//            values past a 16-byte border, NaN behind the last; over at most 70,001 values, an odd
//            number
//   and      cancelling integers of three seeds, over 4099 values and over as many as above, for
//            stages that promise more than float32 does
// Thoroughness::full does that for all block sizes, at sizes around warps, blocks and what a block
// takes at once, and the exact integers also over the other bases.
// The device's input is gone in the end. Empty if interrupted. Throws CudaError, OutOfMemoryError.
std::vector<KnownAnswers> check_known_answers(Device& device, std::span<const PlannedStage> planned,
                                              Index n, const Climb& what, const Progress& progress,
                                              const Interrupted& interrupted);

}  // namespace reduce_ladder
