// CUDA's spelling for the simulator. A rung that is included after this file runs on the host.
#pragma once

#include <algorithm>

#include "reduce_ladder/simulator.hpp"

#define REDUCE_LADDER_BACKEND sim_backend
#define __global__  // NOLINT(bugprone-reserved-identifier): the simulator plays the implementation
#define __device__  // NOLINT(bugprone-reserved-identifier): likewise

namespace reduce_ladder::inline sim_backend {

using simt::blockDim;
using simt::blockIdx;
using simt::GlobalArray;
using simt::gridDim;
using simt::SharedArray;
using simt::threadIdx;

// NOLINTBEGIN(bugprone-reserved-identifier): CUDA's names
inline void __syncthreads(Place where = Place::here()) {
  simt::block_barrier(where);
}

inline void __syncwarp(unsigned mask = 0xffffffff, Place where = Place::here()) {
  simt::warp_exchange(simt::WarpOperation::barrier, mask, 0, threadIdx.x % simt::kWarpSize, where);
}

template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, unsigned width = simt::kWarpSize,
                   Place where = Place::here()) {
  return simt::shuffle_down(mask, value, delta, width, where);
}
// NOLINTEND(bugprone-reserved-identifier)

template <typename T>
T atomicAdd(GlobalArray<T> address, T value) {
  return simt::atomic_add(address, value);
}

template <typename T>
SharedArray<T> shared_memory() {
  return {};
}

// Queues one launch of a kernel over values of type T.
template <typename T, typename... Parameters>
void launch(void (*kernel)(Parameters...), const Pass& pass, void* queue,
            std::type_identity_t<Parameters>... arguments) {
  static_cast<simt::Simulator*>(queue)->launch(
      pass.grid, pass.block, pass.shared_values * sizeof(T), [&] { kernel(arguments...); });
}

// Zeroes `count` values, in order with the launches.
template <typename T>
void zero(T* values, std::size_t count, void* /*queue*/) {
  std::fill_n(values, count, T{});
}

}  // namespace reduce_ladder::inline sim_backend
