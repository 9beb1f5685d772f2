#include "reduce_ladder/stage.hpp"

namespace reduce_ladder {

Index Plan::depth() const {
  Index depth = atomic_depth;
  for (const Pass& pass : passes) depth += pass.depth;
  return depth;
}

Index Plan::workspace() const {
  Index partials = scratch;
  for (std::size_t i = 0; i + 1 < passes.size(); ++i) partials += passes[i].grid;
  return partials;
}

}  // namespace reduce_ladder
