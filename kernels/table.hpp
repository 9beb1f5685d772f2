// The ladder in reading order: the only list of stages.
#pragma once

#include "00_atomic_per_element.cuh"
#include "01_interleaved_modulo.cuh"
#include "02_interleaved_strided.cuh"
#include "03_sequential.cuh"
#include "04_first_add.cuh"
#include "05_unroll_last_warp.cuh"
#include "06_complete_unroll.cuh"
#include "07_grid_stride.cuh"
#include "08_warp_shuffle.cuh"
#include "09_shuffle_atomic.cuh"
#include "10_vector_loads.cuh"
#include "11_last_block.cuh"
#include "12_grid_barrier.cuh"
#include "13_bulk_copy.cuh"
#include "14_fp64.cuh"
#include "15_compensated.cuh"
#include "16_exact.cuh"
#include "17_flagged_partials.cuh"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

using enum Accumulation;
using enum Determinism;

// clang-format off
inline constexpr Stage kStages[] = {
    {.number = 0, .name = "atomic-per-element",
     .idea = "one atomicAdd for every element",
     .removes = "nothing: the question before the ladder",
     .determinism = not_guaranteed,
     .plan = atomic_per_element_plan,
     .launch = launch_atomic_per_element<float, Sum<float>>},
    {.number = 1, .name = "interleaved-modulo",
     .idea = "interleaved addressing, chosen by a modulo",
     .removes = "nothing: the baseline",
     .determinism = run_to_run,
     .plan = plan_until_one<interleaved_modulo_pass>,
     .launch = launch_interleaved_modulo<float, Sum<float>>},
    {.number = 2, .name = "interleaved-strided",
     .idea = "interleaved addressing by a strided index",
     .removes = "divergence: active threads are contiguous",
     .determinism = run_to_run,
     .plan = plan_until_one<interleaved_strided_pass>,
     .launch = launch_interleaved_strided<float, Sum<float>>,
     .cost = Cost::shared_instructions},
    {.number = 3, .name = "sequential",
     .idea = "sequential addressing",
     .removes = "bank conflicts in shared memory",
     .determinism = run_to_run,
     .plan = plan_until_one<sequential_pass>,
     .launch = launch_sequential<float, Sum<float>>,
     .cost = Cost::bank_conflicts},
    {.number = 4, .name = "first-add",
     .idea = "first addition while loading",
     .removes = "half of the blocks and of their trees",
     .determinism = run_to_run,
     .plan = plan_until_one<first_add_pass>,
     .launch = launch_first_add<float, Sum<float>>,
     .cost = Cost::blocks},
    {.number = 5, .name = "unroll-last-warp",
     .idea = "the last warp finishes alone",
     .removes = "block barriers and guards of the last six levels",
     .determinism = run_to_run,
     .plan = plan_until_one<unroll_last_warp_pass>,
     .launch = launch_unroll_last_warp<float, Sum<float>>,
     .cost = Cost::block_barriers},
    {.number = 6, .name = "complete-unroll",
     .idea = "block size as a template argument",
     .removes = "loop counter, compare and address arithmetic",
     .determinism = run_to_run,
     .plan = plan_until_one<complete_unroll_pass>,
     .launch = launch_complete_unroll<float, Sum<float>>,
     .cost = Cost::instructions},
    {.number = 7, .name = "grid-stride",
     .idea = "grid-stride cascade in a register",
     .removes = "trees in proportion to n",
     .determinism = run_to_run,
     .plan = plan_until_one<grid_stride_pass>,
     .launch = launch_grid_stride<float, Sum<float>>,
     .cost = Cost::blocks},
    {.number = 8, .name = "warp-shuffle",
     .idea = "warp shuffles instead of shared memory",
     .removes = "shared-memory round trips and their barriers",
     .determinism = run_to_run,
     .plan = plan_until_one<warp_shuffle_pass>,
     .launch = launch_warp_shuffle<float, Sum<float>>,
     .cost = Cost::shared_instructions},
    {.number = 9, .name = "shuffle-atomic",
     .idea = "warp shuffles and one atomicAdd a block",
     .removes = "the second launch",
     .determinism = not_guaranteed,
     .plan = shuffle_atomic_plan,
     .launch = launch_shuffle_atomic<float, Sum<float>>,
     .cost = Cost::launches},
    {.number = 10, .name = "vector-loads",
     .idea = "four loads of 16 bytes in flight a thread",
     .removes = "load instructions, and waiting for one sum",
     .determinism = run_to_run,
     .plan = plan_until_one<vector_loads_pass<float, kFourLoads>>,
     .launch = launch_vector_loads<float, Sum<float>>,
     .cost = Cost::load_instructions},
    {.number = 11, .name = "last-block",
     .idea = "the block with the last ticket adds all partials",
     .removes = "the second launch, in a fixed order",
     .determinism = run_to_run,
     .plan = last_block_plan<float>,
     .launch = launch_last_block<float, Sum<float>>,
     .cost = Cost::launches},
    {.number = 12, .name = "grid-barrier",
     .idea = "a barrier of all blocks, resident by a cooperative launch",
     .removes = "the ticket counter",
     .determinism = run_to_run,
     .plan = grid_barrier_plan<float>,
     .launch = launch_grid_barrier<float, Sum<float>>,
     .cost = Cost::atomics},
    {.number = 13, .name = "bulk-copy",
     .idea = "tiles copied ahead into a ring of shared memory",
     .removes = "loads through registers",
     .determinism = run_to_run,
     .plan = bulk_copy_plan<float>,
     .launch = launch_bulk_copy<float, Sum<float>>,
     .compute_capability = 90,
     .cost = Cost::load_instructions,
     .changes = 11},
    {.number = 14, .name = "fp64",
     .idea = "sums in fp64, rounded once",
     .removes = "the rounding of every addition to 24 bits",
     .determinism = run_to_run,
     .plan = last_block_plan<float, double>,
     .launch = launch_last_block<float, SumInDouble>,
     .accumulation = fp64,
     .changes = 11},
    {.number = 15, .name = "compensated",
     .idea = "every addition keeps its own error (FastTwoSum)",
     .removes = "the need for fp64 units",
     .determinism = run_to_run,
     .plan = last_block_plan<float, FloatAndError>,
     .launch = launch_last_block<float, CompensatedSum>,
     .accumulation = compensated,
     .changes = 11},
    {.number = 16, .name = "exact",
     .idea = "exact bins in fp64, then integers, rounded once",
     .removes = "rounding, and with it the order of additions",
     .determinism = gpu_to_gpu,
     .plan = exact_plan,
     .launch = launch_exact,
     .accumulation = exact,
     .changes = 11},
    {.number = 17, .name = "flagged-partials",
     .idea = "partial and flag in one word, added as they come in",
     .removes = "the fence before the ticket, and the wait after it",
     .determinism = run_to_run,
     .plan = flagged_partials_plan<float>,
     .launch = launch_flagged_partials<float, Sum<float>>,
     .changes = 11},
    {.number = kReferenceNumber, .name = "cub",
     .idea = "cub::DeviceReduce::Sum of the CUDA Toolkit",
     .removes = "nothing: what the ladder is held against",
     .determinism = run_to_run,
     .plan = plan_cub,
     .launch = launch_cub,
     .compute_capability = 50},
};
// clang-format on

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
