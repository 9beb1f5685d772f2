#include "backend_sim.hpp"
#include "mutants.cuh"
#include "mutants.hpp"

namespace reduce_ladder::testing {

std::span<const Stage> mutants_simulated() {
  return kMutants;
}

}  // namespace reduce_ladder::testing
