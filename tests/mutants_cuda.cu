#include "mutants.hpp"

#include "backend_cuda.cuh"
#include "mutants.cuh"

namespace reduce_ladder::testing {

std::span<const Stage> mutants_cuda() {
  return kMutants;
}

}  // namespace reduce_ladder::testing
