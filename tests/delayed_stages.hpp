// Rungs 11 and 17 with a delay of its own for every block around each access that the protocol of
// their last step consists of. Only in a build with CUDA.
#pragma once

#include <span>

#include "reduce_ladder/stage.hpp"

namespace reduce_ladder::testing {

std::span<const Stage> delayed_stages();

}  // namespace reduce_ladder::testing
