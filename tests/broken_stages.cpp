// Stages that are wrong on purpose, in the place of the ladder. The command over them has to fail.
// The linker takes stages_simulated() from here, and so leaves kernels/ladder_sim.cpp in its
// library.
#include <atomic>
#include <cmath>

#include "reduce_ladder/simulator.hpp"
#include "reduce_ladder/stage.hpp"

namespace reduce_ladder {
namespace {

Plan one_pass(Index n, const Shape& shape) {
  return {
      .passes = {{.n = n, .grid = 1, .block = shape.threads(), .shared_values = 0, .depth = n}}};
}

float plain_sum(const Plan& plan, const Problem<float>& problem) {
  float sum = 0;
  for (Index i = 0; i < plan.passes.front().n; ++i) sum += problem.input[i];
  return sum;
}

void writes_nothing(const Plan& /*plan*/, const Problem<float>& /*problem*/) {}

void drops_one_percent(const Plan& plan, const Problem<float>& problem) {
  *problem.output = plain_sum(plan, problem) * 0.99F;
}

// Two sums, both within the bound, where one was promised.
void alternates(const Plan& plan, const Problem<float>& problem) {
  static std::atomic<unsigned> runs{0};
  const float sum = plain_sum(plan, problem);
  *problem.output = runs++ % 2 == 0 ? sum : std::nextafter(sum, 0.0F);
}

void diverges(const Plan& plan, const Problem<float>& problem) {
  static_cast<simt::Simulator*>(problem.queue)->launch(1, plan.passes.front().block, 0, [] {
    if (simt::threadIdx.x == 0) simt::block_barrier(Place::here());
  });
}

constexpr Stage kBroken[] = {
    {1, "writes-nothing", "-", "-", Determinism::run_to_run, one_pass, writes_nothing},
    {2, "drops-one-percent", "-", "-", Determinism::run_to_run, one_pass, drops_one_percent},
    {3, "alternates", "-", "-", Determinism::run_to_run, one_pass, alternates},
    {4, "diverges", "-", "-", Determinism::run_to_run, one_pass, diverges},
};

}  // namespace

std::span<const Stage> stages_simulated() {
  return kBroken;
}

}  // namespace reduce_ladder
