// The protocols by which the last block finds the partials of all others, under delays that the
// stages themselves never see.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "delayed_stages.hpp"
#include "devices.hpp"
#include "input.hpp"

namespace reduce_ladder {
namespace {

TEST(GpuDelayedStages, APartialIsAddedBeforeItIsThere) {
  USE_DEVICE_OR_SKIP(device, DeviceKind::cuda);
  const Input input = generate_uniform(3'000'017, 11);
  device.load(input.values());
  for (const Stage& delayed : testing::delayed_stages()) {
    const Stage& stage = *std::ranges::find(device.stages(), delayed.number, &Stage::number);
    for (const std::optional<unsigned> grid : {std::optional<unsigned>(), std::optional(2000U)}) {
      // The same sum in the same order, so the same bits.
      const Plan plan = stage.plan(input.info.n, {std::nullopt, device.info().machine, grid});
      const auto expected = std::bit_cast<unsigned>(device.run(stage, plan));
      unsigned other = 0;
      for (int repeat = 0; repeat < 2000; ++repeat) {
        other += std::bit_cast<unsigned>(device.run(delayed, plan)) == expected ? 0 : 1;
      }
      EXPECT_EQ(other, 0U) << delayed.name;
    }
  }
}

}  // namespace
}  // namespace reduce_ladder
