// What the simulator counts, held against the counters of a GPU: the same kernels by the same
// launches.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "devices.hpp"
#include "input.hpp"
#include "ladder.hpp"

namespace reduce_ladder {
namespace {

// Both must be the same to the last one.
constexpr Counter kExact[] = {
    Counter::blocks,
    Counter::warps,
    Counter::shuffles,
    Counter::shared_loads,
    Counter::shared_load_wavefronts,
    Counter::shared_stores,
    Counter::shared_store_wavefronts,
    Counter::global_loads,
    Counter::global_load_sectors,
    Counter::global_load_bytes,
    Counter::global_stores,
    Counter::global_store_sectors,
    Counter::global_store_bytes,
    Counter::global_atomics,
};

void compare(const Stage& stage, unsigned block, const LaunchCounters& simulated,
             const LaunchCounters& measured) {
  for (const Counter counter : kExact) {
    ASSERT_TRUE(measured[counter].has_value()) << static_cast<int>(counter);
    EXPECT_EQ(*measured[counter], *simulated[counter]) << "counter " << static_cast<int>(counter);
  }
  // The hardware meets more conflicts than follow from the addresses: by up to 8.3% of the
  // wavefronts, as far as seen on an H200.
  const double loads = *simulated[Counter::shared_load_conflicts];
  const double stores = *simulated[Counter::shared_store_conflicts];
  constexpr double kNoise = 0.12;
  EXPECT_NEAR(*measured[Counter::shared_load_conflicts], loads,
              kNoise * *simulated[Counter::shared_load_wavefronts]);
  EXPECT_NEAR(*measured[Counter::shared_store_conflicts], stores,
              kNoise * *simulated[Counter::shared_store_wavefronts]);
  if (stage.number == 2 && block == 256) {
    EXPECT_NEAR(*measured[Counter::shared_load_conflicts], loads, 0.03 * loads);
    EXPECT_NEAR(*measured[Counter::shared_store_conflicts], stores, 0.03 * stores);
  }
  EXPECT_GE(*measured[Counter::shared_loads_issued], *measured[Counter::shared_loads]);
  EXPECT_GE(*measured[Counter::shared_stores_issued], *measured[Counter::shared_stores]);
}

TEST(GpuCounters, DifferFromThoseOfTheSimulator) {
  USE_DEVICE_OR_SKIP(gpu, DeviceKind::cuda);
  for (const unsigned bits : {20U, 24U}) {
    const Input input = generate_uniform(Index{1} << bits, 42);
    load(gpu, input, 0);
    Counting counting(gpu, input, 0);
    // Instructions that share a unit with barriers, by stage and then by warp and block: whatever
    // they are, a kernel executes them as often in every launch.
    std::map<int, std::pair<double, double>> others;
    for (const unsigned block : {256U, 64U, 1024U}) {
      if (block != 256 && bits != 20) continue;
      for (const Stage& stage : gpu.stages()) {
        if (stage.number < 1 || stage.number > 8) continue;
        const Plan plan = stage.plan(input.info.n, {.block = block, .machine = gpu.info().machine});
        const Evidence counted = counting.count(stage, plan);
        ASSERT_EQ(counting.note(), "") << stage.name;
        ASSERT_EQ(counted.measured.size(), plan.passes.size()) << stage.name;
        ASSERT_EQ(counted.simulated.size(), plan.passes.size()) << stage.name;
        for (std::size_t i = 0; i < plan.passes.size(); ++i) {
          SCOPED_TRACE(std::string(stage.name) + ", 2^" + std::to_string(bits) + ", block " +
                       std::to_string(block) + ", launch " + std::to_string(i + 1));
          const LaunchCounters& simulated = counted.simulated[i];
          const LaunchCounters& measured = counted.measured[i];
          compare(stage, block, simulated, measured);
          const double warps = *simulated[Counter::warps];
          const double blocks = *simulated[Counter::blocks];
          const double excess =
              *measured[Counter::block_barriers] - *simulated[Counter::block_barriers];
          const double by_warp = std::floor(excess / warps);
          const double by_block = (excess - by_warp * warps) / blocks;
          const auto law = others.try_emplace(stage.number, by_warp, by_block).first->second;
          EXPECT_EQ(excess, law.first * warps + law.second * blocks)
              << "barriers: " << *simulated[Counter::block_barriers] << " by the simulator";
          EXPECT_LE(law.first, 2);
          EXPECT_LE(law.second, 1);
        }
      }
    }
  }
}

TEST(GpuCounters, DoNotShowThatARungRemovedItsCost) {
  USE_DEVICE_OR_SKIP(gpu, DeviceKind::cuda);
  const Input input = generate_uniform(Index{1} << 20U, 42);
  load(gpu, input, 0);
  Counting counting(gpu, input, 0);
  std::map<int, Evidence> counted;
  for (const Stage& stage : gpu.stages()) {
    if (is_reference(stage) || gpu.obstacle(stage)) continue;
    counted[stage.number] =
        counting.count(stage, stage.plan(input.info.n, {{}, gpu.info().machine, {}}));
    const auto before = changed_by(stage, gpu.stages());
    if (!before || !counted.contains(*before) || stage.cost == Cost::none) continue;
    // The barrier of rung 12 draws tickets of its own.
    EXPECT_EQ(removal(counted.at(*before), counted.at(stage.number), input.info.n),
              stage.name == "grid-barrier" ? Removal::not_removed : Removal::removed)
        << stage.name;
  }
}

}  // namespace
}  // namespace reduce_ladder
