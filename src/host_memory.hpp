// Memory of the host for values.
#pragma once

#include <memory>

#include "reduce_ladder/stage.hpp"

namespace reduce_ladder {

// Uninitialised storage for n values. Throws OutOfMemoryError; at once where the machine has less
// memory than that.
std::unique_ptr<float[]> allocate_values(Index n);

}  // namespace reduce_ladder
