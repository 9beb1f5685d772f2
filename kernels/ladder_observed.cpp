// The ladder for the simulator, to be counted and checked.
#define REDUCE_LADDER_OBSERVED
#include "backend_sim.hpp"
#include "table.hpp"

namespace reduce_ladder {

std::span<const Stage> stages_observed() {
  return kStages;
}

}  // namespace reduce_ladder
