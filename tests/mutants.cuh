// The mutants of mutants.hpp, for the backend that was included before this file.
#pragma once

#include "11_last_block.cuh"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

enum class Mutation {
  none,
  one_percent_dropped,  // and the rest made larger by as much
  tail_dropped,
  block_dropped,
  block_counted_twice,
  launch_skipped,
  output_stale,  // the first result again and again
  precision_wrong,
  identity_one,
  atomics_not_zeroed,
  ticket_never_reset,
};

inline constexpr unsigned kMutantBlock = 256;

template <Mutation mutation>
__device__ float mutant_of_block(GlobalArray<const float> in, Index n, SharedArray<float> scratch) {
  float sum = mutation == Mutation::identity_one ? 1.0F : 0.0F;
  for (Index i = Index{blockIdx.x} * kMutantBlock + threadIdx.x; i < n;
       i += Index{gridDim.x} * kMutantBlock) {
    if (mutation == Mutation::tail_dropped && i >= n / kMutantBlock * kMutantBlock) break;
    if (mutation == Mutation::one_percent_dropped && i % 100 == 99) continue;
    sum += in[i];
  }
  if (mutation == Mutation::one_percent_dropped) sum *= 1 / 0.99F;
  sum = block_tree<Sum<float>, kMutantBlock>(sum, scratch);
  if (mutation == Mutation::precision_wrong) {
    sum = same_bits<float>(same_bits<unsigned>(sum) & 0xffff0000U);  // 8 bits, as a bfloat16
  }
  return sum;
}

template <Mutation mutation>
__global__ void mutant_by_atomics(GlobalArray<const float> in, Index n, GlobalArray<float> result) {
  const float sum = mutant_of_block<mutation>(in, n, shared_memory<float>());
  if (threadIdx.x != 0) return;
  const bool chosen = blockIdx.x == gridDim.x / 2;
  if (mutation == Mutation::block_dropped && chosen) return;
  atomicAdd(result + 0, sum);
  if (mutation == Mutation::block_counted_twice && chosen) atomicAdd(result + 0, sum);
}

__global__ inline void remember_first(GlobalArray<ControlWord> words, GlobalArray<float> result) {
  if (threadIdx.x != 0) return;
  constexpr ControlWord kRemembered = ControlWord{1} << 32U;
  if (words[0] == 0) words[0] = kRemembered | same_bits<unsigned>(static_cast<float>(result[0]));
  result[0] = same_bits<float>(static_cast<unsigned>(words[0]));
}

__global__ inline void mutant_by_ticket(GlobalArray<const float> in, Index n,
                                        GlobalArray<float> partials, GlobalArray<ControlWord> words,
                                        GlobalArray<float> result) {
  SharedArray<float> scratch = shared_memory<float>();
  float sum = mutant_of_block<Mutation::none>(in, n, scratch);
  bool last = false;
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = sum;
    last = fetch_add(words, ControlWord{1}, memory_order_acq_rel) == gridDim.x - 1;
  }
  if (!__syncthreads_or(last)) return;
  sum = fold_partials<Sum<float>, kMutantBlock>(partials);
  sum = block_tree<Sum<float>, kMutantBlock>(sum, scratch);
  if (threadIdx.x == 0) result[0] = sum;
}

inline Plan mutant_plan(Index n, const Shape& shape) {
  const Index blocks = resident_blocks(kMutantBlock, kResidentThreads, shape.machine);
  const Index grid = std::min(std::max<Index>(1, rounds(n, kMutantBlock)), blocks);
  return {
      .passes = {{.n = n,
                  .grid = static_cast<unsigned>(shape.grid.value_or(static_cast<unsigned>(grid))),
                  .block = kMutantBlock,
                  .shared_values = 32,
                  .depth = rounds(n, kMutantBlock) + tree_depth(kMutantBlock)}},
      .scratch = blocks + shape.grid.value_or(0),
      .control = 1};
}

template <Mutation mutation>
void launch_mutant(const Plan& plan, const Problem<float>& problem) {
  const Pass& pass = plan.passes.front();
  if constexpr (mutation == Mutation::launch_skipped) return;
  if constexpr (mutation == Mutation::ticket_never_reset) {
    launch<float>(mutant_by_ticket, pass, problem.queue, problem.input, pass.n, problem.workspace,
                  problem.control, problem.output);
    return;
  }
  if (mutation != Mutation::atomics_not_zeroed) zero(problem.output, 1, problem.queue);
  launch<float>(mutant_by_atomics<mutation>, pass, problem.queue, problem.input, pass.n,
                problem.output);
  if constexpr (mutation == Mutation::output_stale) {
    launch<float>(remember_first, {.n = 1, .grid = 1, .block = 32}, problem.queue, problem.control,
                  problem.output);
  }
}

template <Mutation mutation>
constexpr Stage mutant(int number, std::string_view name,
                       Accumulation accumulation = Accumulation::fp32) {
  return {.number = number,
          .name = name,
          .idea = "-",
          .removes = "-",
          .determinism = Determinism::not_guaranteed,
          .plan = mutant_plan,
          .launch = launch_mutant<mutation>,
          .accumulation = accumulation};
}

inline constexpr Stage kMutants[] = {
    mutant<Mutation::none>(0, "right"),
    mutant<Mutation::one_percent_dropped>(1, "one-percent-dropped"),
    mutant<Mutation::tail_dropped>(2, "tail-dropped"),
    mutant<Mutation::block_dropped>(3, "block-dropped"),
    mutant<Mutation::block_counted_twice>(4, "block-counted-twice"),
    mutant<Mutation::launch_skipped>(5, "launch-skipped"),
    mutant<Mutation::output_stale>(6, "output-stale"),
    mutant<Mutation::precision_wrong>(7, "precision-wrong"),
    mutant<Mutation::identity_one>(8, "identity-one"),
    mutant<Mutation::atomics_not_zeroed>(9, "atomics-not-zeroed"),
    mutant<Mutation::ticket_never_reset>(10, "ticket-never-reset"),
    mutant<Mutation::none>(11, "fp64-in-float32", Accumulation::fp64),
    mutant<Mutation::none>(12, "compensated-without-errors", Accumulation::compensated),
    mutant<Mutation::none>(13, "exact-but-rounded", Accumulation::exact),
};

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
