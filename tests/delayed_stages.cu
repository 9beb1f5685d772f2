#include "delayed_stages.hpp"

#include "backend_cuda.cuh"

namespace reduce_ladder::inline cuda_backend {

// Between nothing and some twenty microseconds, another time at each call.
__device__ inline void delay() {
  auto hash = static_cast<unsigned>(clock64()) * 2654435761U + blockIdx.x * 40503U;
  hash ^= hash >> 15U;
  const unsigned until = hash % 4 == 0 ? 0 : hash % 40'000;  // cycles
  const long long begin = clock64();
  while (clock64() - begin < until) {
  }
}

__device__ inline ControlWord delayed_fetch_add(ControlWord* word, ControlWord value,
                                                cuda::memory_order order) {
  delay();
  const ControlWord before = fetch_add(word, value, order);
  delay();
  return before;
}
__device__ inline ControlWord delayed_load(ControlWord* word, cuda::memory_order order) {
  delay();
  return load(word, order);
}
__device__ inline void delayed_store(ControlWord* word, ControlWord value,
                                     cuda::memory_order order) {
  delay();
  store(word, value, order);
}

}  // namespace reduce_ladder::inline cuda_backend

// The rungs from here on are delayed.
#define fetch_add delayed_fetch_add
#define load delayed_load
#define store delayed_store
#include "11_last_block.cuh"
#include "17_flagged_partials.cuh"
#undef fetch_add
#undef load
#undef store

namespace reduce_ladder::testing {
namespace {

// A type of its own, so that these kernels are not taken for the ladder's.
struct DelayedSum : Sum<float> {};

constexpr Stage kDelayed[] = {
    {.number = 11,
     .name = "delayed-last-block",
     .idea = "-",
     .removes = "-",
     .determinism = Determinism::run_to_run,
     .plan = last_block_plan<float>,
     .launch = launch_last_block<float, DelayedSum>},
    {.number = 17,
     .name = "delayed-flagged-partials",
     .idea = "-",
     .removes = "-",
     .determinism = Determinism::run_to_run,
     .plan = flagged_partials_plan<float>,
     .launch = launch_flagged_partials<float, DelayedSum>},
};

}  // namespace

std::span<const Stage> delayed_stages() {
  return kDelayed;
}

}  // namespace reduce_ladder::testing
