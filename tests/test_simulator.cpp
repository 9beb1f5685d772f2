// The simulator as a SIMT machine: what a block, a warp and a launch mean, and how broken kernels
// are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "backend_sim.hpp"
#include "operators.hpp"
#include "reduce_ladder/errors.hpp"
#include "splitmix.hpp"
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

// Likewise, with all blocks at once.
template <typename Kernel>
void run_at_once(Simulator& simulator, unsigned grid, unsigned block, Kernel kernel,
                 std::size_t shared_bytes = 0) {
  simulator.launch_cooperative(grid, block, shared_bytes, kernel);
}

// What `launch` throws; the simulator has to survive it.
template <typename Launch>
std::string fault_in(Simulator& simulator, Launch launch) {
  try {
    launch();
  } catch (const SimulatorFault& fault) {
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

template <typename Kernel>
std::string fault_of(unsigned grid, unsigned block, Kernel kernel, std::size_t shared_bytes = 0) {
  Simulator simulator(1, 2);
  return fault_in(simulator, [&] { run(simulator, grid, block, kernel, shared_bytes); });
}

template <typename Kernel>
std::string fault_at_once(unsigned grid, unsigned block, Kernel kernel) {
  Simulator simulator(1, 1);
  const std::string fault =
      fault_in(simulator, [&] { run_at_once(simulator, grid, block, kernel); });
  std::vector<unsigned> ran(grid);
  run_at_once(simulator, grid, 32, [&] {
    wait_for_grid();
    if (threadIdx.x == 0) GlobalArray<unsigned>(ran.data())[blockIdx.x] = 1;
    wait_for_grid();
  });
  EXPECT_EQ(std::accumulate(ran.begin(), ran.end(), 0U), grid) << "broken after the fault";
  return fault;
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
              HasSubstr("outside of shared memory: word 32 of 32"));
}

// Whoever votes yes in a round: nobody, one thread, or a few.
bool votes_yes(std::uint64_t round, unsigned thread, unsigned block) {
  const std::uint64_t draw = splitmix64(round);
  const auto chosen = static_cast<unsigned>((draw >> 8U) % block);
  if (draw % 8 < 4) return false;
  return draw % 8 < 7 ? thread == chosen : thread % 7 == chosen % 7;
}
bool any_votes_yes(std::uint64_t round, unsigned block) {
  for (unsigned t = 0; t < block; ++t) {
    if (votes_yes(round, t, block)) return true;
  }
  return false;
}

TEST(Simulator, LosesOrInventsAVote) {
  constexpr unsigned kRounds = 150;
  constexpr unsigned kGrid = 3;
  for (const unsigned block : {1U, 32U, 100U, 256U, 1024U}) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      Simulator simulator(seed, 1);
      const auto first = [&](unsigned b) { return (seed * kGrid + b) * kRounds; };
      std::vector<std::vector<bool>> yes(kGrid);
      for (unsigned b = 0; b < kGrid; ++b) {
        for (unsigned i = 0; i < kRounds; ++i) yes[b].push_back(any_votes_yes(first(b) + i, block));
      }
      unsigned wrong = 0;
      run(simulator, kGrid, block, [&] {
        for (unsigned i = 0; i < kRounds; ++i) {
          const bool vote = votes_yes(first(blockIdx.x) + i, threadIdx.x, blockDim.x);
          if (__syncthreads_or(vote) != yes[blockIdx.x][i]) ++wrong;
        }
      });
      EXPECT_EQ(wrong, 0U) << "block " << block << ", seed " << seed;
    }
  }
}

TEST(Simulator, LosesAVoteAmongPlainBarriers) {
  for (const unsigned block : {32U, 256U, 1024U}) {
    for (std::uint64_t seed = 100; seed < 110; ++seed) {
      Simulator simulator(seed, 1);
      unsigned wrong = 0;
      run(simulator, 2, block, [&] {
        for (unsigned i = 0; i < 60; ++i) {
          const std::uint64_t round = seed * 1000 + i * 2 + blockIdx.x;
          // Threads may be this far apart when the first of them votes.
          for (std::uint64_t plain = splitmix64(~round) % 70; plain > 0; --plain) __syncthreads();
          const unsigned chosen = static_cast<unsigned>(splitmix64(round) % (2 * block));
          if (__syncthreads_or(threadIdx.x == chosen) != (chosen < block)) ++wrong;
        }
      });
      EXPECT_EQ(wrong, 0U) << "block " << block << ", seed " << seed;
    }
  }
}

TEST(Simulator, CountsAVoteOfAnAbandonedLaunch) {
  for (unsigned votes = 1; votes < 5; ++votes) {
    Simulator simulator(1, 1);
    EXPECT_THAT(fault_in(simulator,
                         [&] {
                           run(simulator, 1, 64, [&] {
                             for (unsigned i = 0; i < votes; ++i) __syncthreads_or(true);
                             if (threadIdx.x == 9) SharedArray<int>()[0] = 1;
                             __syncthreads_or(true);
                           });
                         }),
                HasSubstr("outside of shared memory: word 0 of 0"));
    unsigned yes = 0;
    run(simulator, 1, 64, [&] {
      for (unsigned i = 0; i < 70; ++i) yes += __syncthreads_or(false) ? 1 : 0;
    });
    EXPECT_EQ(yes, 0U);
  }
}

TEST(Simulator, HangsWhereOnlyPartOfABlockVotes) {
  const std::string ended = fault_of(2, 256, [] {
    if (threadIdx.x < 128) __syncthreads_or(true);
  });
  EXPECT_THAT(ended, HasSubstr("reached by threads 0-127; never by threads 128-255, which ended"));
  const std::string one_ended = fault_of(1, 64, [] {
    if (threadIdx.x == 40 && __syncthreads_or(true)) return;
    __syncthreads_or(false);
  });
  EXPECT_THAT(one_ended, HasSubstr("while others of its block come to"));
  const std::string elsewhere = fault_of(1, 64, [] {
    if (threadIdx.x >= 16 && threadIdx.x < 32) __syncwarp();
    __syncthreads_or(true);
  });
  EXPECT_THAT(elsewhere, HasSubstr("reached by threads 0-15, 32-63; never by threads 16-31, which "
                                   "wait elsewhere; warp 0: lanes 0xffff0000 wait"));
  const std::string gone = fault_of(1, 64, [] {
    for (unsigned i = 0; i < 100; ++i) {
      if (__syncthreads_or(i == 70) && threadIdx.x == 63) return;
    }
  });
  EXPECT_THAT(gone, HasSubstr("reached by threads 0-62; never by threads 63, which ended"));
}

TEST(Simulator, LetsABlockPassAGridBarrierBeforeTheOthers) {
  for (const unsigned block : {32U, 100U, 256U, 1024U}) {
    for (const unsigned grid : {1U, 2U, 7U, 64U}) {
      if (grid * block > 20'000) continue;
      Simulator simulator(grid, 1);
      for (unsigned repeat = 0; repeat < (grid * block < 8000 ? 3 : 1); ++repeat) {
        std::vector<unsigned> written(grid);
        std::vector<unsigned> wrong(grid);
        run_at_once(simulator, grid, block, [&] {
          const GlobalArray<unsigned> words(written.data());
          for (unsigned round = 1; round <= 4; ++round) {
            if (threadIdx.x == round * 77 % blockDim.x) words[blockIdx.x] = round + blockIdx.x;
            wait_for_grid();
            for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) {
              if (words[i] != round + i) ++wrong[blockIdx.x];
            }
            wait_for_grid();
          }
        });
        EXPECT_EQ(wrong, std::vector<unsigned>(grid)) << grid << " blocks of " << block;
      }
    }
  }
}

TEST(Simulator, LosesCountOfGridBarriersInARow) {
  constexpr unsigned kGrid = 16;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    Simulator simulator(seed, 1);
    ControlWord arrived = 0;
    std::vector<unsigned> wrong(kGrid);
    run_at_once(simulator, kGrid, 64, [&] {
      for (unsigned round = 1; round <= 50; ++round) {
        if (threadIdx.x == 63) {
          fetch_add(GlobalArray<ControlWord>(&arrived), ControlWord{1}, memory_order_relaxed);
        }
        if (__syncthreads_or(threadIdx.x == round) != (round < 64)) ++wrong[blockIdx.x];
        wait_for_grid();
        if (threadIdx.x % 32 != 7) continue;
        // No block is more than one barrier ahead of a thread.
        const ControlWord seen = load(GlobalArray<ControlWord>(&arrived), memory_order_relaxed);
        if (seen < round * kGrid || seen > (round + 1) * kGrid) ++wrong[blockIdx.x];
      }
    });
    EXPECT_EQ(wrong, std::vector<unsigned>(kGrid));
    EXPECT_EQ(arrived, 50 * kGrid);
  }
}

TEST(Simulator, NeedsAGridBarrierInACooperativeLaunch) {
  Simulator simulator(7, 1);
  for (const unsigned grid : {1U, 3U, 64U}) {
    for (const unsigned block : {1U, 33U, 256U}) {
      std::vector<unsigned> runs(std::size_t{grid} * block);
      run_at_once(
          simulator, grid, block,
          [&] {
            SharedArray<unsigned> word;
            word[threadIdx.x] = threadIdx.x;
            __syncthreads();
            const unsigned t = word[(threadIdx.x + 1) % blockDim.x];
            ++runs[std::size_t{blockIdx.x} * blockDim.x + t];
          },
          block * sizeof(unsigned));
      EXPECT_TRUE(std::all_of(runs.begin(), runs.end(), [](unsigned n) { return n == 1; }))
          << grid << " blocks of " << block;
    }
  }
}

TEST(Simulator, LetsAnyLaunchWaitForItsGrid) {
  for (const unsigned grid : {1U, 40U}) {
    EXPECT_THAT(fault_of(grid, 64, [] { wait_for_grid(); }),
                HasSubstr("thread 0: a barrier of the grid in a launch that is not cooperative"));
  }
}

TEST(Simulator, HangsWhereABlockNeverComesToTheGridBarrier) {
  for (unsigned repeat = 0; repeat < 10; ++repeat) {
    EXPECT_THAT(fault_at_once(8, 64,
                              [] {
                                if (blockIdx.x % 3 != 0) wait_for_grid();
                              }),
                HasSubstr("the barrier of the grid is reached by 5 of 8 blocks; the others have "
                          "ended"));
    // Those that end are late, or come from an earlier barrier.
    EXPECT_THAT(fault_at_once(4, 256,
                              [] {
                                if (blockIdx.x != 2) return wait_for_grid();
                                for (int i = 0; i < 300; ++i) __syncthreads_or(false);
                              }),
                HasSubstr("reached by 3 of 4 blocks"));
    EXPECT_THAT(fault_at_once(9, 32,
                              [] {
                                for (unsigned i = 0; i <= blockIdx.x; ++i) wait_for_grid();
                              }),
                HasSubstr("reached by 8 of 9 blocks"));
  }
}

TEST(Simulator, LetsPartOfABlockWaitForTheGrid) {
  const std::string ended = fault_at_once(4, 64, [] {
    if (blockIdx.x != 3 || threadIdx.x < 16) wait_for_grid();
  });
  EXPECT_THAT(ended, HasSubstr("block 3: the __syncthreads() at test_simulator.cpp:"));
  EXPECT_THAT(ended, HasSubstr("reached by threads 0-15; never by threads 16-63, which ended"));
  const std::string elsewhere = fault_at_once(4, 64, [] {
    if (threadIdx.x == 5) {
      __syncthreads();
    } else {
      wait_for_grid();
    }
  });
  EXPECT_THAT(elsewhere, HasSubstr("while others of its block come to test_simulator.cpp:"));
}

TEST(Simulator, KeepsBlocksWaitingForOneThatFailed) {
  for (unsigned repeat = 0; repeat < 4; ++repeat) {
    for (const unsigned barriers : {0U, 1U, 5U}) {
      EXPECT_THAT(fault_at_once(16, 64,
                                [&] {
                                  for (unsigned i = 0; i < barriers; ++i) wait_for_grid();
                                  if (blockIdx.x == 7 && threadIdx.x == 3) {
                                    SharedArray<int>()[8] = 1;
                                  }
                                  wait_for_grid();
                                  wait_for_grid();
                                }),
                  HasSubstr("block 7, thread 3: outside of shared memory: word 8 of 0"));
    }
    EXPECT_THAT(fault_at_once(16, 64, [] { SharedArray<int>()[blockIdx.x] = 1; }),
                HasSubstr("thread"));
  }
}

TEST(Simulator, LaunchesAtOnceWhatCudaRefuses) {
  for (const unsigned block : {0U, 1025U}) {
    EXPECT_THAT(fault_at_once(1, block, [] {}), HasSubstr("1 to 1024 threads"));
  }
  Simulator simulator(1, 1);
  EXPECT_THROW(run_at_once(simulator, 0, 32, [] {}), SimulatorFault);
}

TEST(Simulator, PassesABarrierBeforeAnAtomicAccess) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Simulator simulator(seed, 1);
    ControlWord word = 0;
    unsigned wrong = 0;
    run(simulator, 3, 40, [&] {
      const GlobalArray<ControlWord> words(&word - 3);
      for (int round = 0; round < 5; ++round) {
        fetch_add(words + 3, ControlWord{1}, memory_order_acq_rel);
        __syncthreads();
        if (load(words + 3, memory_order_relaxed) != blockDim.x) ++wrong;
        __syncthreads();
        if (threadIdx.x == 20) store(words + 3, ControlWord{0}, memory_order_relaxed);
        __syncthreads();
      }
    });
    EXPECT_EQ(wrong, 0U);
  }
}

TEST(Simulator, DrawsATicketTwice) {
  Simulator simulator(6, 4);
  ControlWord word = 0;
  std::vector<unsigned> drawn(1000 * 64);
  run(simulator, 1000, 64, [&] {
    const ControlWord ticket =
        fetch_add(GlobalArray<ControlWord>(&word), ControlWord{1}, memory_order_relaxed);
    drawn[ticket] += 1;
  });
  EXPECT_EQ(drawn, std::vector<unsigned>(drawn.size(), 1));
}

TEST(Simulator, HidesFromTheLastBlockWhatOthersWrote) {
  for (const unsigned workers : {1U, 2U, 4U}) {
    Simulator simulator(6, workers);
    ControlWord tickets = 0;
    std::vector<unsigned> written(200);
    unsigned sum = 0;
    run(simulator, 200, 32, [&] {
      const GlobalArray<unsigned> words(written.data());
      bool last = false;
      if (threadIdx.x == 5) {
        words[blockIdx.x] = 1;
        last = fetch_add(GlobalArray<ControlWord>(&tickets), ControlWord{1},
                         memory_order_acq_rel) == gridDim.x - 1;
      }
      if (!__syncthreads_or(last)) return;
      for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) sum += words[i];
    });
    EXPECT_EQ(sum, 200U) << workers << " workers";
  }
}

TEST(Simulator, LosesAThreadThatPollsAlone) {
  // Nobody is left to give way to: the others have ended, or wait for the one that polls.
  Simulator simulator(1, 1);
  ControlWord word = 7;
  const auto look = [&] { return load(GlobalArray<ControlWord>(&word), memory_order_relaxed); };
  std::vector<ControlWord> seen(20);
  run(simulator, 20, 1, [&] {
    for (int i = 0; i < 3; ++i) seen[blockIdx.x] += look();
  });
  EXPECT_EQ(seen, std::vector<ControlWord>(20, 21));
  for (const unsigned poller : {0U, 17U, 63U}) {
    for (int others = 0; others < 3; ++others) {
      std::vector<ControlWord> sums(20);
      run(simulator, 20, 64, [&] {
        if (threadIdx.x == poller) {
          for (int i = 0; i < 10; ++i) sums[blockIdx.x] += look();
        }
        if (others == 1) __syncthreads_or(false);
        if (others == 2) __syncwarp();
      });
      EXPECT_EQ(sums, std::vector<ControlWord>(20, 70)) << poller << ", " << others;
    }
  }
}

TEST(Simulator, HangsWhereAThreadPollsForAnotherOfItsBlock) {
  for (const unsigned block : {2U, 31U, 33U}) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      Simulator simulator(seed, 1);
      std::vector<ControlWord> flags(block);
      std::vector<unsigned> wrong(2);
      run(
          simulator, 2, block,
          [&] {
            // Every thread waits for the one after it, and the block for all of them.
            const GlobalArray<ControlWord> words(flags.data());
            SharedArray<unsigned> scratch;
            const unsigned t = threadIdx.x;
            if (t + 1 < blockDim.x) {
              while (load(words + t + 1, memory_order_relaxed) == 0) continue;
              if (scratch[t + 1] != t + 1) ++wrong[blockIdx.x];
            }
            scratch[t] = t;
            store(words + t, ControlWord{1}, memory_order_relaxed);
            __syncthreads();
            if (scratch[(t + 1) % blockDim.x] != (t + 1) % blockDim.x) ++wrong[blockIdx.x];
            words[t] = 0;  // for the block that is next
          },
          block * sizeof(unsigned));
      EXPECT_EQ(wrong, std::vector<unsigned>(2)) << "block " << block << ", seed " << seed;
    }
  }
}

TEST(Simulator, HangsWhereABlockPollsForOneOfItsThreads) {
  for (const unsigned block : {32U, 256U, 1024U}) {
    for (const unsigned storer : {0U, 20U, block - 1}) {
      Simulator simulator(block + storer, 1);
      std::vector<ControlWord> flags(2);
      unsigned passed = 0;
      run(simulator, 2, block, [&] {
        const GlobalArray<ControlWord> word = GlobalArray<ControlWord>(flags.data()) + blockIdx.x;
        if (threadIdx.x == storer) {
          __syncwarp(1U << storer % 32);
          store(word, ControlWord{1}, memory_order_relaxed);
        }
        while (load(word, memory_order_relaxed) == 0) continue;
        ++passed;
      });
      EXPECT_EQ(passed, 2 * block) << "block " << block << ", thread " << storer;
    }
  }
}

TEST(Simulator, HangsWhereABlockPollsForOneThatBeganBefore) {
  constexpr unsigned kGrid = 100;
  for (const unsigned workers : {1U, 2U, 3U, 8U}) {
    for (const unsigned block : {1U, 64U}) {
      Simulator simulator(workers, workers);
      std::vector<ControlWord> control(1 + kGrid);
      std::vector<unsigned> wrong(kGrid);
      run(
          simulator, kGrid, block,
          [&] {
            const GlobalArray<ControlWord> words(control.data());
            SharedArray<unsigned> scratch;
            if (threadIdx.x == 0) {
              scratch[0] =
                  static_cast<unsigned>(fetch_add(words, ControlWord{1}, memory_order_relaxed));
            }
            __syncthreads();
            const unsigned ticket = scratch[0];
            // Only a few threads poll; the rest wait for them at the barrier.
            if (ticket > 0 && threadIdx.x % 5 == 0) {
              ControlWord word = 0;
              while (word == 0) word = load(words + ticket, memory_order_relaxed);
              if (word != ticket) ++wrong[blockIdx.x];
            }
            __syncthreads();
            if (threadIdx.x == 0) {
              store(words + 1 + ticket, ControlWord{ticket} + 1, memory_order_relaxed);
            }
          },
          sizeof(unsigned));
      EXPECT_EQ(wrong, std::vector<unsigned>(kGrid)) << workers << " workers, block " << block;
      EXPECT_EQ(control.back(), kGrid);
    }
  }
}

TEST(Simulator, HangsWhereTheLastBlockGathers) {
  for (const unsigned workers : {1U, 2U, 4U}) {
    for (const unsigned grid : {2U, 17U, 130U}) {
      Simulator simulator(3, workers);
      std::vector<ControlWord> control(1 + grid);
      std::vector<unsigned> sums(64);
      run(simulator, grid, 64, [&] {
        const GlobalArray<ControlWord> words(control.data());
        const unsigned t = threadIdx.x;
        const bool last =
            t == 0 && fetch_add(words, ControlWord{1}, memory_order_relaxed) == gridDim.x - 1;
        const bool gathers = __syncthreads_or(last);
        if (t == 0) store(words + 1 + blockIdx.x, ControlWord{1}, memory_order_relaxed);
        if (!gathers) return;
        for (unsigned i = t; i < gridDim.x; i += blockDim.x) {
          while (load(words + 1 + i, memory_order_relaxed) == 0) continue;
          ++sums[t];
        }
      });
      EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), 0U), grid) << workers << " workers";
    }
  }
}

TEST(Simulator, HangsWhereBlocksThatRunAtOncePollForEachOther) {
  for (const unsigned block : {1U, 64U}) {
    Simulator simulator(5, 1);
    std::vector<ControlWord> control(2);
    run_at_once(simulator, 2, block, [&] {
      const GlobalArray<ControlWord> words(control.data());
      for (ControlWord round = 1; round <= 20; ++round) {
        // Block 1 answers what block 0 says.
        if (threadIdx.x == 0 && blockIdx.x == 0) store(words, round, memory_order_relaxed);
        const GlobalArray<ControlWord> other = words + (1 - blockIdx.x);
        while (load(other, memory_order_relaxed) < round) continue;
        __syncthreads();
        if (threadIdx.x == 0 && blockIdx.x == 1) store(words + 1, round, memory_order_relaxed);
      }
      wait_for_grid();
    });
    EXPECT_EQ(control, std::vector<ControlWord>(2, 20));
  }
}

TEST(Simulator, PollsOnForABlockThatFailed) {
  for (unsigned repeat = 0; repeat < 5; ++repeat) {
    for (const unsigned block : {1U, 64U}) {
      ControlWord word = 0;
      const auto poll = [&] {
        while (load(GlobalArray<ControlWord>(&word), memory_order_relaxed) == 0) continue;
      };
      EXPECT_THAT(fault_at_once(8, block,
                                [&] {
                                  // Some poll, some wait for the grid.
                                  if (blockIdx.x == 5) SharedArray<int>()[1] = 1;
                                  if (blockIdx.x % 2 == 0) poll();
                                  wait_for_grid();
                                }),
                  HasSubstr("block 5, thread "));
      for (const unsigned workers : {1U, 2U, 4U}) {
        Simulator simulator(repeat, workers);
        ControlWord tickets = 0;
        EXPECT_THAT(fault_in(simulator,
                             [&] {
                               run(simulator, 64, block, [&] {
                                 const GlobalArray<ControlWord> words(&tickets);
                                 const bool first =
                                     threadIdx.x == 0 &&
                                     fetch_add(words, ControlWord{1}, memory_order_relaxed) == 0;
                                 if (!__syncthreads_or(first)) poll();
                                 // Time for the others to begin.
                                 for (int i = 0; i < 50 && threadIdx.x == 0; ++i)
                                   load(words, memory_order_relaxed);
                                 SharedArray<int>()[2] = 1;
                               });
                             }),
                    HasSubstr("outside of shared memory: word 2 of 0"));
      }
    }
  }
}

TEST(Simulator, PollsOnForAThreadThatFailed) {
  ControlWord word = 0;
  EXPECT_THAT(fault_of(1, 64,
                       [&] {
                         if (threadIdx.x == 40) SharedArray<int>()[3] = 1;
                         while (load(GlobalArray<ControlWord>(&word), memory_order_relaxed) == 0) {
                         }
                       }),
              HasSubstr("block 0, thread 40: outside of shared memory: word 3 of 0"));
}

template <typename T>
unsigned wrong_lanes() {
  Simulator simulator(1, 1);
  std::vector<Vector<T>> vectors(64);
  unsigned wrong = 0;
  run(simulator, 1, 64, [&] {
    // Written just before, by as many threads as there are lanes.
    const GlobalArray<T> values(vectors.front().lane);
    const GlobalArray<const T> input(vectors.front().lane);
    for (unsigned lane = 0; lane < kLanes<T>; ++lane) {
      const unsigned i = lane * blockDim.x + threadIdx.x;
      values[i] = static_cast<T>(i);
    }
    __syncthreads();
    const Vector<T> vector = load_vector(input, threadIdx.x * kLanes<T>);
    const Vector<T> shifted =
        load_vector(values + kLanes<T>, (threadIdx.x + 63) % 64 / 2 * kLanes<T>);
    for (unsigned lane = 0; lane < kLanes<T>; ++lane) {
      const unsigned i = threadIdx.x * kLanes<T> + lane;
      if (vector.lane[lane] != static_cast<T>(i)) ++wrong;
      const unsigned j = ((threadIdx.x + 63) % 64 / 2 + 1) * kLanes<T> + lane;
      if (shifted.lane[lane] != static_cast<T>(j)) ++wrong;
    }
  });
  return wrong;
}

TEST(Simulator, LoadsAVectorWithTheWrongLanes) {
  EXPECT_EQ(wrong_lanes<float>(), 0U);
  EXPECT_EQ(wrong_lanes<int>(), 0U);
  EXPECT_EQ(wrong_lanes<double>(), 0U);
}

TEST(Simulator, LoadsAVectorAcrossABorder) {
  const std::vector<Vector<float>> vectors(8);
  const GlobalArray<const float> values(vectors.front().lane);
  for (unsigned offset = 0; offset < 8; ++offset) {
    EXPECT_EQ(values_before_border(values + offset), (8 - offset) % 4);
    const std::string fault = fault_of(1, 3, [&] {
      if (threadIdx.x == 2) load_vector(values, offset);
    });
    const std::string too = fault_of(1, 3, [&] {
      if (threadIdx.x == 2) load_vector(values + offset, 4);
    });
    if (offset % 4 == 0) {
      EXPECT_EQ(fault, "no fault");
      EXPECT_EQ(too, "no fault");
      continue;
    }
    EXPECT_THAT(fault, HasSubstr("block 0, thread 2: a load of 16 bytes from 0x"));
    EXPECT_THAT(fault, HasSubstr(", which is no multiple of that"));
    EXPECT_THAT(too, HasSubstr("block 0, thread 2: a load of 16 bytes from 0x"));
  }
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
struct Largest : FoldsIntoValues<int> {
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
    std::vector<ControlWord> control(plan.control);
    int result = 0;
    launch_rung(plan,
                Problem<int>{values.data(), workspace.data(), &result, control.data(), &simulator});
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
  EXPECT_EQ(largest(launch_vector_loads<int, Largest>,
                    plan_until_one<vector_loads_pass<int, kFourLoads>>),
            -1);
  EXPECT_EQ(largest(launch_last_block<int, Largest>, last_block_plan<int>), -1);
  EXPECT_EQ(largest(launch_grid_barrier<int, Largest>, grid_barrier_plan<int>), -1);
  EXPECT_EQ(largest(launch_flagged_partials<int, Largest>, flagged_partials_plan<int>), -1);
}

}  // namespace
}  // namespace reduce_ladder
