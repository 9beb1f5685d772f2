// The simulator as a SIMT machine: what a block, a warp and a launch mean, and how broken kernels
// are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "backend_sim.hpp"
#include "operators.hpp"
#include "reduce_ladder/errors.hpp"
#include "table.hpp"

namespace reduce_ladder {
namespace {

using simt::Simulator;
using ::testing::HasSubstr;

constexpr unsigned kFull = 0xffffffff;

// Launches without the rungs' wrapper: `kernel` is any callable.
template <typename Kernel>
void run(Simulator& simulator, unsigned grid, unsigned block, Kernel kernel,
         std::size_t shared_bytes = 0) {
  simulator.launch(grid, block, shared_bytes, kernel);
}

template <typename Kernel>
std::string fault_of(unsigned grid, unsigned block, Kernel kernel, std::size_t shared_bytes = 0) {
  Simulator simulator(1, 2);
  try {
    run(simulator, grid, block, kernel, shared_bytes);
  } catch (const SimulatorFault& fault) {
    // The simulator has to survive a fault.
    std::vector<unsigned> ran(64);
    run(simulator, 1, 64, [&] {
      __syncthreads();
      GlobalArray<unsigned>(ran.data())[threadIdx.x] = 1;
    });
    EXPECT_EQ(std::accumulate(ran.begin(), ran.end(), 0U), 64U) << "broken after the fault";
    return fault.what();
  }
  return "no fault";
}

TEST(Simulator, SkipsOrRepeatsThreads) {
  Simulator simulator(1, 2);
  for (const unsigned grid : {1U, 2U, 15U, 16U, 17U, 1000U, 70000U}) {
    for (const unsigned block : {1U, 31U, 32U, 33U, 100U, 1024U}) {
      if (std::size_t{grid} * block > 3'000'000) continue;
      std::vector<unsigned> runs(std::size_t{grid} * block);
      run(simulator, grid, block, [&] {
        EXPECT_EQ(blockDim.x, block);
        EXPECT_EQ(gridDim.x, grid);
        ++runs[std::size_t{blockIdx.x} * blockDim.x + threadIdx.x];
      });
      EXPECT_TRUE(std::all_of(runs.begin(), runs.end(), [](unsigned n) { return n == 1; }))
          << grid << " blocks of " << block;
    }
  }
}

TEST(Simulator, LetsAThreadPassABarrierBeforeItsBlock) {
  Simulator simulator(2, 2);
  for (const unsigned block : {2U, 32U, 100U, 1024U}) {
    std::vector<unsigned> wrong(64);
    run(
        simulator, 64, block,
        [&] {
          SharedArray<unsigned> word;
          const unsigned t = threadIdx.x;
          for (unsigned round = 0; round < 5; ++round) {
            word[t] = t + round;
            __syncthreads();
            const unsigned neighbour = (t + 1) % blockDim.x;
            if (word[neighbour] != neighbour + round) ++wrong[blockIdx.x];
            __syncthreads();
          }
        },
        block * sizeof(unsigned));
    EXPECT_EQ(std::accumulate(wrong.begin(), wrong.end(), 0U), 0U) << "block " << block;
  }
}

TEST(Simulator, LosesCountOfAThreadThatRunsFarAheadOverBarriers) {
  Simulator simulator(2, 2);
  std::vector<float> seen(256);
  run(
      simulator, 1, 256,
      [&] {
        SharedArray<float> word;
        for (unsigned round = 0; round < 1000; ++round) {
          if (threadIdx.x == 77) word[0] = static_cast<float>(round);
          __syncthreads();
        }
        GlobalArray<float>(seen.data())[threadIdx.x] = word[0];
      },
      sizeof(float));
  EXPECT_EQ(seen, std::vector<float>(256, 999.0F));
}

TEST(Simulator, DeliversTheWrongLaneOfAShuffle) {
  Simulator simulator(3, 2);
  std::vector<int> taken(96);
  for (const unsigned delta : {0U, 1U, 5U, 16U, 31U, 32U}) {
    run(simulator, 1, 96, [&] {
      const int mine = static_cast<int>(threadIdx.x);
      GlobalArray<int>(taken.data())[threadIdx.x] = __shfl_down_sync(kFull, mine, delta);
    });
    for (unsigned t = 0; t < 96; ++t) {
      const unsigned lane = t % 32;
      EXPECT_EQ(taken[t], static_cast<int>(lane + delta < 32 ? t + delta : t)) << "delta " << delta;
    }
  }
}

TEST(Simulator, MixesHalvesOfAWarpThatShuffleUnderTheirOwnMasks) {
  Simulator simulator(3, 2);
  std::vector<double> taken(32);
  run(simulator, 1, 32, [&] {
    const bool low = threadIdx.x < 16;
    double value = threadIdx.x;
    // The halves meet different numbers of times.
    for (int round = 0; round < (low ? 1 : 3); ++round) {
      value = __shfl_down_sync(low ? 0x0000ffffU : 0xffff0000U, value, 1, 16);
    }
    GlobalArray<double>(taken.data())[threadIdx.x] = value;
  });
  for (unsigned t = 0; t < 32; ++t) {
    EXPECT_EQ(taken[t], std::min(t + (t < 16 ? 1 : 3), t < 16 ? 15U : 31U)) << "thread " << t;
  }
}

TEST(Simulator, LetsALanePassAWarpBarrierBeforeItsWarp) {
  Simulator simulator(4, 2);
  std::vector<unsigned> wrong(8);
  run(
      simulator, 8, 64,
      [&] {
        SharedArray<unsigned> word;
        const unsigned t = threadIdx.x;
        for (unsigned round = 0; round < 9; ++round) {
          word[t] = t * round;
          __syncwarp();
          if (word[t ^ 1U] != (t ^ 1U) * round) ++wrong[blockIdx.x];
          __syncwarp();
        }
      },
      64 * sizeof(unsigned));
  EXPECT_EQ(std::accumulate(wrong.begin(), wrong.end(), 0U), 0U);
}

TEST(Simulator, WaitsForLanesThatEnded) {
  Simulator simulator(4, 1);
  std::vector<int> taken(32, -1);
  run(simulator, 1, 32, [&] {
    if (threadIdx.x >= 24) return;
    const int value = static_cast<int>(threadIdx.x);
    GlobalArray<int>(taken.data())[threadIdx.x] = __shfl_down_sync(kFull, value, 4, 8);
  });
  EXPECT_EQ(taken[0], 4);
  EXPECT_EQ(taken[31], -1);
}

TEST(Simulator, HidesSharedMemoryThatNobodyWrote) {
  Simulator simulator(5, 1);
  std::vector<float> seen(64, 0.0F);
  // The first launch leaves values behind.
  run(
      simulator, 32, 64, [&] { SharedArray<float>()[threadIdx.x] = 1; }, 64 * sizeof(float));
  run(
      simulator, 1, 64,
      [&] { GlobalArray<float>(seen.data())[threadIdx.x] = SharedArray<float>()[threadIdx.x]; },
      64 * sizeof(float));
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](float x) { return std::isnan(x); }));
}

TEST(Simulator, LosesAtomicAdditions) {
  Simulator simulator(6, 4);
  float sum = 0;
  run(simulator, 3000, 64, [&] { atomicAdd(GlobalArray<float>(&sum), 1.0F); });
  EXPECT_EQ(sum, 192000.0F);
}

std::vector<unsigned> block_order(Simulator& simulator) {
  std::vector<unsigned> order;
  run(simulator, 500, 32, [&] {
    if (threadIdx.x == 0) order.push_back(blockIdx.x);
  });
  return order;
}

TEST(Simulator, RunsBlocksInTheSameOrderEveryTime) {
  Simulator simulator(8, 1);
  const auto first = block_order(simulator);
  const auto second = block_order(simulator);
  EXPECT_NE(first, second);
  Simulator other_seed(9, 1);
  EXPECT_NE(first, block_order(other_seed));
}

TEST(Simulator, CannotReplayASeed) {
  Simulator simulator(8, 1);
  Simulator again(8, 1);
  EXPECT_EQ(block_order(simulator), block_order(again));
  EXPECT_EQ(block_order(simulator), block_order(again));
}

TEST(Simulator, Failure24_BarrierInsideTheGuardHangs) {
  // The guard lets half of the threads to the barrier; the others end.
  const std::string fault = fault_of(
      4, 256,
      [] {
        SharedArray<float> scratch;
        scratch[threadIdx.x] = 1;
        if (threadIdx.x < 128) __syncthreads();
      },
      256 * sizeof(float));
  EXPECT_THAT(fault, HasSubstr("__syncthreads() at test_simulator.cpp:"));
  EXPECT_THAT(fault, HasSubstr("reached by threads 0-127; never by threads 128-255, which ended"));
}

TEST(Simulator, Failure24_BarrierInsideTheGuardOfALoopHangs) {
  const std::string fault = fault_of(
      1, 64,
      [] {
        SharedArray<float> scratch;
        const unsigned t = threadIdx.x;
        scratch[t] = 1;
        __syncthreads();
        for (unsigned s = 32; s > 0; s /= 2) {
          if (t < s) {
            scratch[t] = scratch[t] + scratch[t + s];
            __syncthreads();
          }
        }
      },
      64 * sizeof(float));
  EXPECT_THAT(fault, HasSubstr("block 0: the __syncthreads() at test_simulator.cpp:"));
  EXPECT_THAT(fault, HasSubstr("reached by threads 0-31; never by threads 32-63, which ended"));
}

TEST(Simulator, TakesTwoBarriersOfTheSourceForOne) {
  const std::string fault = fault_of(1, 64, [] {
    if (threadIdx.x % 2 == 0) {
      __syncthreads();
    } else {
      __syncthreads();
    }
  });
  EXPECT_THAT(fault, HasSubstr("while others of its block come to test_simulator.cpp:"));
}

TEST(Simulator, HangsWhereLanesWaitForOneThatWaitsElsewhere) {
  const std::string fault = fault_of(
      1, 32,
      [] {
        SharedArray<float> scratch;
        if (threadIdx.x == 5) {
          __syncthreads();
          scratch[0] = 1;
        } else {
          __syncwarp();
        }
      },
      sizeof(float));
  EXPECT_THAT(fault, HasSubstr("warp 0: lanes 0xffffffdf wait at test_simulator.cpp:"));
}

TEST(Simulator, TakesALaneAtABlockBarrierForOneThatEnded) {
  // On a GPU these hang: a lane that stands at __syncthreads is no lane that has left the kernel.
  EXPECT_THAT(fault_of(1, 64,
                       [] {
                         if (threadIdx.x % 32 < 16) __syncwarp();
                         __syncthreads();
                       }),
              HasSubstr("warp 0: lanes 0x0000ffff wait"));
}

TEST(Simulator, KeepsLanesWaitingForOneThatLeftTheLastBarrierBehind) {
  Simulator simulator(4, 1);
  unsigned met = 0;
  run(simulator, 1, 64, [&] {
    __syncthreads();
    if (threadIdx.x % 32 >= 16) return;
    __syncwarp();
    ++met;
  });
  EXPECT_EQ(met, 32U);
}

TEST(Simulator, TakesMasksWithTheSameLowestLaneForOne) {
  Simulator simulator(4, 1);
  unsigned met = 0;
  run(simulator, 1, 32, [&] {
    const unsigned lane = threadIdx.x;
    if (lane == 0 || (lane >= 8 && lane < 12)) __syncwarp(0xf01);
    if (lane < 8) __syncwarp(0xff);
    ++met;
  });
  EXPECT_EQ(met, 32U);
}

TEST(Simulator, LaunchesWhatCudaRefuses) {
  for (const unsigned block : {0U, 1025U}) {
    EXPECT_THAT(fault_of(1, block, [] {}), HasSubstr("1 to 1024 threads"));
  }
  EXPECT_THAT(fault_of(0, 32, [] {}), HasSubstr("at least one block"));
  EXPECT_THAT(fault_of(
                  1, 32, [] {}, 48 * 1024 + 1),
              HasSubstr("at most 49152 bytes"));
  EXPECT_THAT(fault_of(1, 32, [] { __shfl_down_sync(kFull, 1, 1, 33); }), HasSubstr("width 33"));
}

TEST(Simulator, AllowsAShuffleOutsideItsMask) {
  const std::string fault = fault_of(1, 32, [] {
    if (threadIdx.x < 8) __shfl_down_sync(0x000000ffU, 1, 4, 32);
  });
  EXPECT_THAT(fault, HasSubstr("block 0, thread 4: the shuffle at test_simulator.cpp:"));
  EXPECT_THAT(fault, HasSubstr("reads lane 8, which is outside its mask 0x000000ff"));
  EXPECT_THAT(fault_of(1, 32, [] { __shfl_down_sync(0x0000ffffU, 1, 1); }),
              HasSubstr("is not in the mask 0x0000ffff"));
}

TEST(Simulator, LetsAWarpBarrierMeetAShuffle) {
  EXPECT_THAT(fault_of(1, 32,
                       [] {
                         if (threadIdx.x == 0) {
                           __syncwarp();
                         } else {
                           __shfl_down_sync(kFull, 1, 1);
                         }
                       }),
              HasSubstr("meets another one at test_simulator.cpp:"));
}

TEST(Simulator, AllowsSharedMemoryBeyondWhatWasAskedFor) {
  EXPECT_THAT(fault_of(
                  1, 32, [] { SharedArray<float>()[threadIdx.x + 1] = 1; }, 32 * sizeof(float)),
              HasSubstr("shared memory word 32 of 32"));
}

// Rung 5's tail as it was written before Volta: lanes are taken to run in lockstep.
template <typename T, typename Op>
void lockstep_tail(GlobalArray<const T> in, Index n, GlobalArray<T> partials) {
  SharedArray<T> scratch = shared_memory<T>();
  const unsigned t = threadIdx.x;
  scratch[t] = t < n ? in[t] : Op::identity();
  __syncthreads();
  if (t < 32) {
    for (unsigned s = 32; s > 0; s /= 2) scratch[t] = Op::combine(scratch[t], scratch[t + s]);
  }
  if (t == 0) partials[0] = scratch[0];
}

TEST(Simulator, Failure11_LastWarpWithoutWarpBarriersIsRight) {
  Simulator simulator(10, 1);
  std::vector<float> values(64);
  std::iota(values.begin(), values.end(), 1.0F);
  unsigned wrong = 0;
  for (int repeat = 0; repeat < 50; ++repeat) {
    float result = 0;
    run(
        simulator, 1, 64,
        [&] { lockstep_tail<float, Sum<float>>(values.data(), values.size(), &result); },
        64 * sizeof(float));
    wrong += result != 2080.0F ? 1 : 0;
  }
  EXPECT_GT(wrong, 0U);
}

TEST(Simulator, Failure12_ScratchUsedAgainWithoutABarrierIsRight) {
  Simulator simulator(11, 1);
  unsigned wrong = 0;
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::vector<float> sums(64);
    run(
        simulator, 1, 64,
        [&] {
          SharedArray<float> scratch;
          for (unsigned round = 1; round <= 2; ++round) {
            if (threadIdx.x == 0) scratch[0] = static_cast<float>(round);
            __syncthreads();
            if (scratch[0] != static_cast<float>(round)) ++sums[threadIdx.x];
            // Here a barrier is missing: thread 0 may overwrite what others have yet to read.
          }
        },
        sizeof(float));
    wrong += std::accumulate(sums.begin(), sums.end(), 0.0F) > 0 ? 1 : 0;
  }
  EXPECT_GT(wrong, 0U);
}

// The largest value, to show that the rungs are not written for sums alone.
struct Largest {
  static int identity() { return std::numeric_limits<int>::min(); }
  static int combine(int a, int b) { return std::max(a, b); }
};

TEST(Simulator, Failure22_RungsKnowOnlySumsOfFloats) {
  Simulator simulator(12, 2);
  std::vector<int> values(10'007);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = -1 - static_cast<int>((i * 7919 + 13) % values.size());
  }
  const auto largest = [&](auto launch_rung, auto plan_rung) {
    const Plan plan = plan_rung(values.size(), Shape{.block = 128, .machine = {4, 2048, 32}});
    std::vector<int> workspace(plan.workspace());
    int result = 0;
    launch_rung(plan, Problem<int>{values.data(), workspace.data(), &result, &simulator});
    return result;
  };
  EXPECT_EQ(
      largest(launch_interleaved_modulo<int, Largest>, plan_until_one<interleaved_modulo_pass>),
      -1);
  EXPECT_EQ(
      largest(launch_interleaved_strided<int, Largest>, plan_until_one<interleaved_strided_pass>),
      -1);
  EXPECT_EQ(largest(launch_sequential<int, Largest>, plan_until_one<sequential_pass>), -1);
  EXPECT_EQ(largest(launch_first_add<int, Largest>, plan_until_one<first_add_pass>), -1);
  EXPECT_EQ(largest(launch_unroll_last_warp<int, Largest>, plan_until_one<unroll_last_warp_pass>),
            -1);
  EXPECT_EQ(largest(launch_complete_unroll<int, Largest>, plan_until_one<complete_unroll_pass>),
            -1);
  EXPECT_EQ(largest(launch_grid_stride<int, Largest>, plan_until_one<grid_stride_pass>), -1);
  EXPECT_EQ(largest(launch_warp_shuffle<int, Largest>, plan_until_one<warp_shuffle_pass>), -1);
}

}  // namespace
}  // namespace reduce_ladder
