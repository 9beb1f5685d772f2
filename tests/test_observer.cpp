// What the simulator sees when it looks: counts that can be worked out by hand, the classic
// mistakes, each with its diagnosis, and nothing in the rungs themselves.
#define REDUCE_LADDER_OBSERVED
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "backend_sim.hpp"

#include "operators.hpp"
#include "reduce_ladder/device.hpp"
#include "reduce_ladder/errors.hpp"

namespace reduce_ladder {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Floats = GlobalArray<const float>;

constexpr unsigned kFull = 0xffffffff;
constexpr unsigned kBlock = 64;

// --- The mistakes: a sum of at most one block's values, wrong in one way each
// ------------------------

__global__ void no_barrier_after_the_load(Floats in, Index n, GlobalArray<float> result) {
  SharedArray<float> scratch = shared_memory<float>();
  const unsigned t = threadIdx.x;
  scratch[t] = t < n ? in[t] : 0.0F;
  for (unsigned s = kBlock / 2; s > 0; s /= 2) {
    if (t < s) scratch[t] = scratch[t] + scratch[t + s];
    __syncthreads();
  }
  if (t == 0) result[0] = scratch[0];
}

__global__ void barrier_inside_the_guard(Floats in, Index n, GlobalArray<float> result) {
  SharedArray<float> scratch = shared_memory<float>();
  const unsigned t = threadIdx.x;
  scratch[t] = t < n ? in[t] : 0.0F;
  __syncthreads();
  for (unsigned s = kBlock / 2; s > 0; s /= 2) {
    if (t < s) {
      scratch[t] = scratch[t] + scratch[t + s];
      __syncthreads();
    }
  }
  if (t == 0) result[0] = scratch[0];
}

// Every lane stores what it made of what another one stores at the same time.
__global__ void tail_without_warp_barriers(Floats in, Index n, GlobalArray<float> result) {
  SharedArray<float> scratch = shared_memory<float>();
  const unsigned t = threadIdx.x;
  scratch[t] = t < n ? in[t] : 0.0F;
  __syncthreads();
  if (t >= 32) return;
  for (unsigned s = 32; s > 0; s /= 2) scratch[t] = scratch[t] + scratch[t + s];
  if (t == 0) result[0] = scratch[0];
}

// Lanes leave their sums to each other with a shuffle in between, which orders no memory.
__global__ void shuffle_in_the_place_of_a_barrier(Floats in, Index n, GlobalArray<float> result) {
  SharedArray<float> scratch = shared_memory<float>();
  const unsigned t = threadIdx.x;
  scratch[t] = t < n ? in[t] : 0.0F;
  const float next = __shfl_down_sync(kFull, 1.0F, 1);
  if (t == 0) result[0] = next + scratch[1];
}

__global__ void mask_of_five_lanes(Floats in, Index n, GlobalArray<float> result) {
  const unsigned t = threadIdx.x;
  float sum = t < n ? in[t] : 0.0F;
  for (unsigned s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0x1f, sum, s);
  if (t == 0) result[0] = sum;
}

__global__ void shuffle_inside_the_guard(Floats in, Index n, GlobalArray<float> result) {
  const unsigned t = threadIdx.x;
  if (t >= n) return;
  float sum = in[t];
  for (unsigned s = 16; s > 0; s /= 2) sum += __shfl_down_sync(kFull, sum, s);
  if (t == 0) result[0] = sum;
}

__global__ void maximum_from_zero(Floats in, Index n, GlobalArray<float> result) {
  SharedArray<float> scratch = shared_memory<float>();
  const unsigned t = threadIdx.x;
  scratch[t] = t < n ? in[t] : 0.0F;  // -infinity would be right
  __syncthreads();
  for (unsigned s = kBlock / 2; s > 0; s /= 2) {
    if (t < s) scratch[t] = std::max<float>(scratch[t], scratch[t + s]);
    __syncthreads();
  }
  if (t == 0) result[0] = scratch[0];
}

__global__ void no_tail_guard(Floats in, Index /*n*/, GlobalArray<float> result) {
  SharedArray<float> scratch = shared_memory<float>();
  const unsigned t = threadIdx.x;
  scratch[t] = in[t];
  __syncthreads();
  for (unsigned s = kBlock / 2; s > 0; s /= 2) {
    if (t < s) scratch[t] = scratch[t] + scratch[t + s];
    __syncthreads();
  }
  if (t == 0) result[0] = scratch[0];
}

__global__ void scratch_used_again_too_soon(Floats in, Index n, GlobalArray<float> result) {
  SharedArray<float> scratch = shared_memory<float>();
  const unsigned t = threadIdx.x;
  float sum = 0;
  for (unsigned round = 0; round < 2; ++round) {
    scratch[t] = t < n ? in[t] / 2 : 0.0F;
    __syncthreads();
    for (unsigned other = 0; other < kBlock; ++other) sum += scratch[other];
  }
  if (t == 0) result[0] = sum;
}

__global__ void atomics_into_what_was_there(Floats in, Index n, GlobalArray<float> result) {
  if (threadIdx.x < n) atomicAdd(result + 0, in[threadIdx.x]);
}

__global__ void slot_that_nobody_filled(Floats in, Index n, GlobalArray<float> result) {
  SharedArray<float> scratch = shared_memory<float>();
  const unsigned t = threadIdx.x;
  if (t < n) scratch[t] = in[t];
  __syncthreads();
  float sum = 0;
  for (unsigned other = 0; other < kBlock; ++other) sum += scratch[other];
  if (t == 0) result[0] = sum;
}

__global__ void slot_behind_the_last(Floats in, Index n, GlobalArray<float> result) {
  SharedArray<float> scratch = shared_memory<float>();
  const unsigned t = threadIdx.x;
  scratch[t + 1] = t < n ? in[t] : 0.0F;
  __syncthreads();
  if (t == 0) result[0] = scratch[1];
}

__global__ void result_never_written(Floats in, Index n, GlobalArray<float> result) {
  const float value = threadIdx.x < n ? in[threadIdx.x] : 0.0F;
  if (value > 1e30F) result[0] = value;
}

__global__ void result_behind_its_place(Floats in, Index n, GlobalArray<float> result) {
  if (threadIdx.x == 0) result[1] = n > 0 ? in[0] : 0.0F;
}

__global__ void right(Floats in, Index n, GlobalArray<float> result) {
  SharedArray<float> scratch = shared_memory<float>();
  const unsigned t = threadIdx.x;
  scratch[t] = t < n ? in[t] : 0.0F;
  __syncthreads();
  for (unsigned s = kBlock / 2; s > 0; s /= 2) {
    if (t < s) scratch[t] = scratch[t] + scratch[t + s];
    __syncthreads();
  }
  if (t == 0) result[0] = scratch[0];
}

// --- How they are looked at
// --------------------------------------------------------------------------

Plan one_block(Index n, const Shape& /*shape*/) {
  return {.passes = {{.n = n, .grid = 1, .block = kBlock, .shared_values = kBlock, .depth = n}}};
}

using Kernel = void (*)(Floats, Index, GlobalArray<float>);

template <Kernel kernel>
void launch_specimen(const Plan& plan, const Problem<float>& problem) {
  const Pass& pass = plan.passes.front();
  launch<float>(kernel, pass, problem.queue, problem.input, pass.n, problem.output);
}

// What a checked simulator says of a kernel over `values`: a fault, or a result that is wrong.
template <Kernel kernel>
std::string diagnosis(const std::vector<float>& values, float expected, std::uint64_t seed) {
  const Stage stage{.number = 1,
                    .name = "specimen",
                    .idea = "-",
                    .removes = "-",
                    .plan = one_block,
                    .launch = launch_specimen<kernel>};
  const auto device = make_simulated_device({.seed = seed, .checked = true});
  device->load(values);
  try {
    const float result = device->run(stage, one_block(values.size(), {}));
    if (result == expected) return "right";
    return std::to_string(result) + " where " + std::to_string(expected) + " is right";
  } catch (const SimulatorFault& fault) {
    return fault.what();
  }
}

constexpr std::uint64_t kSeeds = 12;

// Expects the diagnosis of a sum of so many ones, whatever the schedule.
template <Kernel kernel, typename Matcher>
void expect_diagnosis(const Matcher& matcher, std::size_t n = kBlock) {
  const std::vector<float> ones(n, 1.0F);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    EXPECT_THAT(diagnosis<kernel>(ones, static_cast<float>(n), seed), matcher) << "seed " << seed;
  }
}

// A message names the kernel, the block, what was done, where, and by whom.
auto is_race() {
  return AllOf(StartsWith("kernel specimen, block 0, thread "), HasSubstr("race: "),
               HasSubstr(" of shared memory, at test_observer.cpp:"), HasSubstr("by thread "),
               HasSubstr("no barrier between them"));
}

TEST(CheckedSimulator, FindsSomethingInAKernelThatIsRight) {
  expect_diagnosis<right>(::testing::Eq("right"));
  expect_diagnosis<right>(::testing::Eq("right"), 17);
}
TEST(CheckedSimulator, MissesABarrierThatIsMissingAfterTheLoad) {
  expect_diagnosis<no_barrier_after_the_load>(is_race());
}
TEST(CheckedSimulator, MissesABarrierInsideTheGuard) {
  expect_diagnosis<barrier_inside_the_guard>(
      AllOf(HasSubstr("__syncthreads() at test_observer.cpp:"), HasSubstr("threads 0-31"),
            HasSubstr("threads 32-63")));
}
TEST(CheckedSimulator, MissesATailWithoutWarpBarriers) {
  expect_diagnosis<tail_without_warp_barriers>(is_race());
}
TEST(CheckedSimulator, TakesAShuffleForABarrier) {
  expect_diagnosis<shuffle_in_the_place_of_a_barrier>(is_race());
}
TEST(CheckedSimulator, MissesALaneThatIsNotInItsMask) {
  expect_diagnosis<mask_of_five_lanes>(
      AllOf(HasSubstr("is not in the mask 0x0000001f"), HasSubstr("test_observer.cpp:")));
}
TEST(CheckedSimulator, MissesAShuffleThatReadsALaneThatHasEnded) {
  expect_diagnosis<shuffle_inside_the_guard>(
      AllOf(HasSubstr("the shuffle at test_observer.cpp:"), HasSubstr("has ended")), 20);
}
TEST(CheckedSimulator, MissesAMaximumWhoseIdentityIsZero) {
  const std::vector<float> negative(kBlock - 1, -3.0F);
  EXPECT_EQ(diagnosis<maximum_from_zero>(negative, -3, 1), "0.000000 where -3.000000 is right");
}
TEST(CheckedSimulator, MissesATailWithoutAGuard) {
  expect_diagnosis<no_tail_guard>(
      AllOf(HasSubstr("load of 4 bytes at byte "), HasSubstr(" of the input, which has 160 bytes"),
            HasSubstr("test_observer.cpp:")),
      40);
}
TEST(CheckedSimulator, MissesScratchThatIsUsedAgainTooSoon) {
  expect_diagnosis<scratch_used_again_too_soon>(is_race());
}
TEST(CheckedSimulator, MissesAtomicsIntoWhatWasThere) {
  expect_diagnosis<atomics_into_what_was_there>(
      AllOf(HasSubstr("atomic operation of 4 bytes at byte 0 of the result, where nobody wrote"),
            HasSubstr("test_observer.cpp:")));
}
TEST(CheckedSimulator, MissesASlotThatNobodyFilled) {
  expect_diagnosis<slot_that_nobody_filled>(
      AllOf(HasSubstr("load of 4 bytes at byte 160 of shared memory, where nobody wrote"),
            HasSubstr("test_observer.cpp:")),
      40);
}
TEST(CheckedSimulator, MissesASlotBehindTheLast) {
  expect_diagnosis<slot_behind_the_last>(
      AllOf(HasSubstr("outside of shared memory: word 64 of 64, 4 bytes at byte 256"),
            HasSubstr("test_observer.cpp:")));
}
TEST(CheckedSimulator, MissesAResultThatIsNeverWritten) {
  expect_diagnosis<result_never_written>(HasSubstr("the result is never written"));
}
TEST(CheckedSimulator, MissesAStoreBehindTheResult) {
  expect_diagnosis<result_behind_its_place>(
      HasSubstr("store of 4 bytes at byte 4 of the result, which has 4 bytes"));
}

// --- The rungs -----------------------------------------------------------------------------------

class EveryStageThatIsChecked : public ::testing::TestWithParam<Stage> {};

TEST_P(EveryStageThatIsChecked, MakesASimulatorThatLooksThrow) {
  const Stage& stage = GetParam();
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto device = make_simulated_device({.seed = seed, .checked = true});
    if (device->obstacle(stage)) GTEST_SKIP() << *device->obstacle(stage);
    for (const Index n : {Index{0}, Index{1}, Index{33}, Index{1000}, Index{70'001}}) {
      const std::vector<float> ones(n, 1.0F);
      device->load(ones, static_cast<unsigned>(seed % 4));
      for (const unsigned block : {32U, 256U, 1024U}) {
        const Plan plan = stage.plan(n, {.block = block, .machine = device->info().machine});
        for (unsigned again = 0; again < 2; ++again) {
          EXPECT_EQ(device->run(stage, plan), static_cast<float>(n))
              << "seed " << seed << ", n " << n << ", block " << block;
        }
      }
    }
  }
}

class EveryStageOnWideWarps : public ::testing::TestWithParam<Stage> {};

TEST_P(EveryStageOnWideWarps, AddsWrongWhereAWarpHas64Lanes) {
  const Stage& stage = GetParam();
  const auto device = make_simulated_device({.seed = 3, .warp_size = 64});
  if (device->obstacle(stage)) GTEST_SKIP() << *device->obstacle(stage);
  for (const Index n : {Index{0}, Index{1}, Index{33}, Index{1000}, Index{70'001}}) {
    const std::vector<float> ones(n, 1.0F);
    device->load(ones, 1);
    for (unsigned block = kMinBlock; block <= kMaxBlock; block *= 2) {
      const Plan plan = stage.plan(n, {.block = block, .machine = device->info().machine});
      EXPECT_EQ(device->run(stage, plan), static_cast<float>(n))
          << "n " << n << ", block " << block;
    }
  }
}

// What the width of 32 is for.
TEST(WideWarps, HideAShuffleThatTakesAWarpToHave32Lanes) {
  simt::Simulator wide(1, 1, 64);
  const auto shuffle_of_width = [&wide](unsigned width) {
    wide.launch(1, 64, 0, [width] { static_cast<void>(__shfl_down_sync(kFull, 1, 16, width)); });
  };
  shuffle_of_width(32);
  try {
    shuffle_of_width(64);
    FAIL() << "no fault";
  } catch (const SimulatorFault& fault) {
    EXPECT_THAT(fault.what(), AllOf(HasSubstr("the shuffle at test_observer.cpp:"),
                                    HasSubstr("of the warp, which is outside its mask")));
  }
  unsigned lanes = 0;
  wide.launch(1, 64, 0, [&lanes] { lanes = simt::warpSize; });
  EXPECT_EQ(lanes, 64U);
}

std::string stage_name(const ::testing::TestParamInfo<Stage>& info) {
  std::string name(info.param.name);
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}
INSTANTIATE_TEST_SUITE_P(Simulator, EveryStageThatIsChecked,
                         ::testing::ValuesIn(stages_observed().begin(), stages_observed().end()),
                         stage_name);

INSTANTIATE_TEST_SUITE_P(Simulator, EveryStageOnWideWarps,
                         ::testing::ValuesIn(stages_simulated().begin(), stages_simulated().end()),
                         stage_name);

// --- Counters ------------------------------------------------------------------------------------

// Counters of one launch of one block over an array of floats that begins at a 256-byte border.
template <typename Body>
LaunchCounters count(unsigned threads, Body body, std::size_t shared_bytes = 0) {
  alignas(256) static float memory[4096];
  simt::Observation seen{.count = true, .arrays = {{"memory", memory, sizeof memory, 0, {}}}};
  simt::Simulator simulator(3, 1);
  simulator.observe(&seen);
  const GlobalArray<float> array(memory);
  simulator.launch(1, threads, shared_bytes, [&] { body(array); });
  EXPECT_EQ(seen.launches.size(), 1U);
  return seen.launches.front();
}

// Wavefronts of a load of shared memory by one warp, lane l at the word at(l).
template <typename T = float, typename At>
double wavefronts(At at) {
  const LaunchCounters seen = count(
      32, [at](auto) { static_cast<void>(T{shared_memory<T>()[at(threadIdx.x)]}); },
      1024 * sizeof(double));
  EXPECT_EQ(seen[Counter::shared_loads], 1);
  EXPECT_EQ(seen[Counter::shared_load_lanes], 32);
  return seen[Counter::shared_load_wavefronts].value_or(0);
}

TEST(Counters, TakeWordsOfOneBankForNoConflict) {
  EXPECT_EQ(wavefronts([](unsigned l) { return l; }), 1);
  EXPECT_EQ(wavefronts([](unsigned l) { return 2 * l; }), 2);
  EXPECT_EQ(wavefronts([](unsigned l) { return 8 * l; }), 8);
  EXPECT_EQ(wavefronts([](unsigned l) { return 32 * l; }), 32);
  EXPECT_EQ(wavefronts([](unsigned l) { return 33 * l; }), 1);
  EXPECT_EQ(wavefronts([](unsigned l) { return 31 - l; }), 1);
  EXPECT_EQ(wavefronts([](unsigned l) { return l < 31 ? l : 32; }), 2) << "bank 0 twice";
}
TEST(Counters, TakeOneWordThatManyWantForAConflict) {
  EXPECT_EQ(wavefronts([](unsigned) { return 5U; }), 1);
  EXPECT_EQ(wavefronts([](unsigned l) { return l / 2; }), 1);
  EXPECT_EQ(wavefronts([](unsigned l) { return l % 2 * 32; }), 2);
}
TEST(Counters, ServeMoreThanAWordOfEveryBankAtATime) {
  EXPECT_EQ(wavefronts<double>([](unsigned l) { return l; }), 2);
  EXPECT_EQ(wavefronts<double>([](unsigned l) { return 16 * l; }), 32);
}
TEST(Counters, CallItAConflictThatWordsAreWide) {
  const auto conflicts = [](auto at) {
    const LaunchCounters seen = count(
        32, [at](auto) { static_cast<void>(double{shared_memory<double>()[at(threadIdx.x)]}); },
        1024 * sizeof(double));
    return seen[Counter::shared_load_conflicts];
  };
  EXPECT_EQ(conflicts([](unsigned l) { return l; }), 0);
  EXPECT_EQ(conflicts([](unsigned l) { return 2 * l; }), 2);
}

// Sectors of a load of global memory by one warp, lane l at the value at(l).
template <typename At>
double sectors(At at) {
  const LaunchCounters seen =
      count(32, [at](auto array) { static_cast<void>(float{array[at(threadIdx.x)]}); });
  EXPECT_EQ(seen[Counter::global_loads], 1);
  EXPECT_EQ(seen[Counter::global_load_bytes], 128);
  return seen[Counter::global_load_sectors].value_or(0);
}

TEST(Counters, CountSectorsThatAreNotTouched) {
  EXPECT_EQ(sectors([](unsigned l) { return l; }), 4);
  EXPECT_EQ(sectors([](unsigned l) { return l + 1; }), 5) << "across a border";
  EXPECT_EQ(sectors([](unsigned l) { return 31 - l; }), 4);
  EXPECT_EQ(sectors([](unsigned l) { return 2 * l; }), 8);
  EXPECT_EQ(sectors([](unsigned l) { return 8 * l; }), 32);
  EXPECT_EQ(sectors([](unsigned) { return 100U; }), 1);
  EXPECT_EQ(sectors([](unsigned l) { return l % 2 * 1000; }), 2) << "to and fro";
}
TEST(Counters, CountAVectorAsManyLoads) {
  const LaunchCounters seen =
      count(32, [](auto array) { static_cast<void>(load_vector(array, Index{4} * threadIdx.x)); });
  EXPECT_EQ(seen[Counter::global_loads], 1);
  EXPECT_EQ(seen[Counter::global_load_sectors], 16);
  EXPECT_EQ(seen[Counter::global_load_bytes], 512);
}

TEST(Counters, LoseWhatWarpsDo) {
  const LaunchCounters seen = count(
      96,
      [](auto array) {
        const unsigned t = threadIdx.x;
        shared_memory<float>()[t] = 1;
        __syncthreads();
        float value = __shfl_down_sync(kFull, 1.0F, 1);
        value += static_cast<float>(__shfl_down_sync(kFull, 1.0, 1));  // two words
        __syncwarp();
        if (t < 40) array[t] = value;
        if (t == 0) atomicAdd(array + 7, 1.0F);
        for (unsigned round = 0; round < t % 3; ++round) value += array[t];
        static_cast<void>(__ballot_sync(kFull, value > 0));
        __syncthreads();
      },
      96 * sizeof(float));
  EXPECT_EQ(seen[Counter::blocks], 1);
  EXPECT_EQ(seen[Counter::warps], 3);
  EXPECT_EQ(seen[Counter::block_barriers], 2 * 3);
  EXPECT_EQ(seen[Counter::warp_barriers], 3);
  EXPECT_EQ(seen[Counter::shuffles], 3 * 3);
  EXPECT_EQ(seen[Counter::ballots], 3);
  EXPECT_EQ(seen[Counter::shared_stores], 3);
  EXPECT_EQ(seen[Counter::shared_store_lanes], 96);
  EXPECT_EQ(seen[Counter::shared_loads], 0);
  EXPECT_EQ(seen[Counter::global_stores], 2);
  EXPECT_EQ(seen[Counter::global_store_lanes], 40);
  EXPECT_EQ(seen[Counter::global_store_sectors], 5);
  EXPECT_EQ(seen[Counter::global_atomics], 1);
  EXPECT_EQ(seen[Counter::global_atomic_lanes], 1);
  EXPECT_EQ(seen[Counter::global_loads], 3 * 2) << "lanes are done after 0, 1 and 2 rounds";
  EXPECT_EQ(seen[Counter::global_load_lanes], 32 + 2 * 32);
  EXPECT_EQ(seen[Counter::dram_bytes], std::nullopt) << "of a GPU alone";
}

TEST(Counters, PutRoundsTogetherThatABarrierOfTheWarpParts) {
  const LaunchCounters seen = count(
      64,
      [](auto) {
        for (unsigned round = 0; round < 2; ++round) {
          if (threadIdx.x % 2 == round) shared_memory<float>()[threadIdx.x] = 1;
          __syncwarp();
        }
      },
      64 * sizeof(float));
  EXPECT_EQ(seen[Counter::shared_stores], 4) << "each of two warps in each of two rounds";
}

TEST(Counters, MissWhereAtomicOperationsMeet) {
  const LaunchCounters seen = count(64, [](auto array) {
    atomicAdd(array + 0, 1.0F);
    atomicAdd(array + (1 + threadIdx.x % 2), 1.0F);
  });
  EXPECT_EQ(seen[Counter::global_atomics], 4);
  EXPECT_EQ(seen[Counter::global_atomic_lanes], 128);
  EXPECT_EQ(seen[Counter::global_atomic_lanes_at_one], 64);
}

// The arithmetic of the ladder, by hand: 256 threads, n a multiple of all that matters.
TEST(Counters, ContradictTheArithmeticOfTheLadder) {
  constexpr Index kN = Index{1} << 18U;
  const std::vector<float> ones(kN, 1.0F);
  const auto device = make_simulated_device(1);
  device->load(ones);
  struct Expected {
    int stage;
    double values_a_block, barriers, loads, load_wavefronts, stores, store_wavefronts, shuffles;
  };
  // A block of rungs 1 to 3 has 8 levels of two loads and a store, by 128 threads down to 1; modulo
  // keeps all 8 warps busy until a warp has one active lane, then 4, 2 and 1 are left.
  constexpr Expected kExpected[] = {
      {1, 256, 9, 2 * 47 + 1, 2 * 47 + 1, 8 + 47, 8 + 47, 0},
      {2, 256, 9, 2 * 12 + 1, 2 * 47 + 1, 8 + 12, 8 + 47, 0},
      {3, 256, 9, 2 * 12 + 1, 2 * 12 + 1, 8 + 12, 8 + 12, 0},
      {4, 512, 9, 2 * 12 + 1, 2 * 12 + 1, 8 + 12, 8 + 12, 0},
      {5, 512, 3, 2 * 6 + 7, 2 * 6 + 7, 8 + 6 + 5, 8 + 6 + 5, 0},
      {6, 512, 3, 2 * 6 + 7, 2 * 6 + 7, 8 + 6 + 5, 8 + 6 + 5, 0},
      {7, 2048, 3, 2 * 6 + 7, 2 * 6 + 7, 8 + 6 + 5, 8 + 6 + 5, 0},
      {8, 2048, 1, 1, 1, 8, 8, 9 * 5},
      {9, 2048, 1, 1, 1, 8, 8, 9 * 5},
  };
  for (const Expected& expected : kExpected) {
    const Stage& stage = stages_simulated()[static_cast<std::size_t>(expected.stage)];
    ASSERT_EQ(stage.number, expected.stage);
    const Plan plan = stage.plan(kN, {.block = 256, .machine = device->info().machine});
    const std::vector<LaunchCounters> launches = device->count(stage, plan);
    ASSERT_EQ(launches.size(), plan.passes.size()) << stage.name;
    const LaunchCounters& first = launches.front();
    const double blocks = kN / expected.values_a_block;
    EXPECT_EQ(first[Counter::blocks], blocks) << stage.name;
    EXPECT_EQ(first[Counter::block_barriers], blocks * 8 * expected.barriers) << stage.name;
    EXPECT_EQ(first[Counter::shared_loads], blocks * expected.loads) << stage.name;
    EXPECT_EQ(first[Counter::shared_load_wavefronts], blocks * expected.load_wavefronts)
        << stage.name;
    EXPECT_EQ(first[Counter::shared_stores], blocks * expected.stores) << stage.name;
    EXPECT_EQ(first[Counter::shared_store_wavefronts], blocks * expected.store_wavefronts)
        << stage.name;
    EXPECT_EQ(first[Counter::shuffles], blocks * expected.shuffles) << stage.name;
    EXPECT_EQ(first[Counter::global_loads], kN / 32) << stage.name;
    EXPECT_EQ(first[Counter::global_load_sectors], kN / 8) << stage.name;
    EXPECT_EQ(first[Counter::global_atomics], stage.number == 9 ? blocks : 0) << stage.name;
  }
}

TEST(Counters, DependOnTheSchedule) {
  const std::vector<float> ones(100'003, 1.0F);
  for (const int number : {1, 8, 11}) {
    std::vector<std::vector<LaunchCounters>> seen;
    for (const std::uint64_t seed : {1U, 2U}) {
      const auto device = make_simulated_device(seed);
      device->load(ones);
      const Stage& stage = *std::ranges::find(device->stages(), number, &Stage::number);
      seen.push_back(
          device->count(stage, stage.plan(ones.size(), {{}, device->info().machine, {}})));
    }
    ASSERT_EQ(seen[0].size(), seen[1].size());
    for (std::size_t launch = 0; launch < seen[0].size(); ++launch) {
      EXPECT_EQ(seen[0][launch].values, seen[1][launch].values) << number;
    }
  }
}

}  // namespace
}  // namespace reduce_ladder
