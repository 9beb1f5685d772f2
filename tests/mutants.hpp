// Sums that are wrong in the ways in which reductions are: the judge has to fail every one of them.
#pragma once

#include <span>

#include "reduce_ladder/stage.hpp"

namespace reduce_ladder::testing {

// The first one is right, so that it is seen that the others fail for what is wrong with them.
std::span<const Stage> mutants_cuda();
std::span<const Stage> mutants_simulated();

}  // namespace reduce_ladder::testing
