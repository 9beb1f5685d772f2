// The ladder for the simulator.
#include "backend_sim.hpp"
#include "table.hpp"

namespace reduce_ladder {

std::span<const Stage> stages_simulated() {
  return kStages;
}

}  // namespace reduce_ladder
