// CUDA's spelling for the simulator. A rung that is included after this file runs on the host; with
// REDUCE_LADDER_OBSERVED defined, in a way that can be counted and checked, and is slower.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cfloat>
#include <type_traits>

#include "reduce_ladder/simulator.hpp"

#ifdef REDUCE_LADDER_OBSERVED
#define REDUCE_LADDER_BACKEND observed_backend
#else
#define REDUCE_LADDER_BACKEND sim_backend
#endif
#define __global__  // NOLINT(bugprone-reserved-identifier): the simulator plays the implementation
#define __device__  // NOLINT(bugprone-reserved-identifier): likewise
#define __launch_bounds__(...)  // NOLINT(bugprone-reserved-identifier): likewise

static_assert(FLT_EVAL_METHOD == 0, "float expressions are evaluated in float, as on a GPU");

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

#ifdef REDUCE_LADDER_OBSERVED
inline constexpr bool kObserved = true;
#else
inline constexpr bool kObserved = false;
#endif
using Observer = std::conditional_t<kObserved, simt::Observed, simt::Unobserved>;
template <typename T>
using GlobalArray = simt::GlobalArray<T, Observer>;
template <typename T>
using SharedArray = simt::SharedArray<T, Observer>;

using simt::blockDim;
using simt::blockIdx;
using simt::fetch_add;
using simt::gridDim;
using simt::load;
using simt::load_vector;
using simt::store;
using simt::threadIdx;
using std::memory_order_acq_rel;
using std::memory_order_relaxed;

// NOLINTBEGIN(bugprone-reserved-identifier): CUDA's names
inline void __syncthreads(Place where = Place::here()) {
  simt::block_barrier(where);
}

inline bool __syncthreads_or(bool vote, Place where = Place::here()) {
  return simt::block_barrier_or(vote, where);
}

inline void __syncwarp(unsigned mask = 0xffffffff, Place where = Place::here()) {
  simt::warp_exchange(simt::WarpOperation::barrier, mask, 0, threadIdx.x % simt::kWarpSize, where);
}

template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, unsigned width = simt::warpSize,
                   Place where = Place::here()) {
  return simt::shuffle_down(mask, value, delta, width, where);
}

template <typename T>
T __shfl_sync(unsigned mask, T value, unsigned source, Place where = Place::here()) {
  return simt::shuffle(mask, value, source % simt::warpSize, where);
}

inline unsigned __ballot_sync(unsigned mask, bool vote, Place where = Place::here()) {
  return static_cast<unsigned>(simt::warp_exchange(simt::WarpOperation::ballot, mask, vote ? 1 : 0,
                                                   threadIdx.x % simt::kWarpSize, where));
}

inline int __clz(int value) {
  return std::countl_zero(static_cast<unsigned>(value));
}

// An addition that is rounded by itself: never contracted with another operation, never reordered.
#ifdef __FAST_MATH__
#error "the compensated sum needs additions that the compiler leaves in their order"
#endif
inline float __fadd_rn(float a, float b) {
  return a + b;
}
// NOLINTEND(bugprone-reserved-identifier)

template <typename T>
T atomicAdd(GlobalArray<T> address, T value, Place where = Place::here()) {
  return simt::atomic_add(address, value, where);
}

template <typename T>
SharedArray<T> shared_memory() {
  return {};
}

// Values from `array` to the next 16-byte border.
template <typename T>
unsigned values_before_border(GlobalArray<T> array) {
  return static_cast<unsigned>((0 - reinterpret_cast<std::uintptr_t>(array.address())) %
                               kVectorBytes / sizeof(T));
}

// A barrier of all blocks of a cooperative launch, which orders their accesses to memory.
inline void wait_for_grid(Place where = Place::here()) {
  simt::grid_barrier(where);
}

// Queues one launch of a kernel over values of type T.
template <typename T, typename... Parameters>
void launch(void (*kernel)(Parameters...), const Pass& pass, void* queue,
            std::type_identity_t<Parameters>... arguments) {
  static_cast<simt::Simulator*>(queue)->launch(
      pass.grid, pass.block, pass.shared_values * sizeof(T), [&] { kernel(arguments...); });
}

// Likewise, with all blocks running at once.
template <typename T, typename... Parameters>
void launch_cooperative(void (*kernel)(Parameters...), const Pass& pass, void* queue,
                        std::type_identity_t<Parameters>... arguments) {
  static_cast<simt::Simulator*>(queue)->launch_cooperative(
      pass.grid, pass.block, pass.shared_values * sizeof(T), [&] { kernel(arguments...); });
}

// Zeroes `count` values, in order with the launches.
template <typename T>
void zero(T* values, std::size_t count, void* /*queue*/) {
  std::fill_n(values, count, T{});
  if constexpr (kObserved) simt::note_written(values, count * sizeof(T));
}

// What only a GPU runs.
inline constexpr bool kHasBulkCopies = false;
inline constexpr decltype(Stage::plan) plan_cub = nullptr;      // NOLINT: a function elsewhere
inline constexpr decltype(Stage::launch) launch_cub = nullptr;  // NOLINT: likewise

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
