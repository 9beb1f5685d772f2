// The ladder for a GPU.
#include "backend_cuda.cuh"
#include "table.hpp"

namespace reduce_ladder {

std::span<const Stage> stages_cuda() {
  return kStages;
}

}  // namespace reduce_ladder
