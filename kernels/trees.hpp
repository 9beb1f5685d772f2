// Trees for the rungs whose idea lies elsewhere: of the lanes of a vector, and rung 8's of a block.
#pragma once

#include "operators.hpp"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

// Reduces the lanes of a vector.
template <typename Op, typename T>
__device__ T lane_tree(Vector<T> vector) {
  for (unsigned s = kLanes<T> / 2; s > 0; s /= 2) {
    for (unsigned l = 0; l < s; ++l) {
      vector.lane[l] = Op::combine(vector.lane[l], vector.lane[l + s]);
    }
  }
  return vector.lane[0];
}

// Reduces the values of a block's threads; thread 0 gets the result. `scratch` holds a value a
// warp, and a barrier has to stand between two uses of it.
template <typename Op, unsigned kBlock, typename T>
__device__ T block_tree(T sum, SharedArray<T> scratch) {
  const unsigned t = threadIdx.x;
  for (unsigned s = 16; s > 0; s /= 2) {
    sum = Op::combine(sum, __shfl_down_sync(0xffffffff, sum, s, 32));
  }
  if constexpr (kBlock == 32) return sum;
  if (t % 32 == 0) scratch[t / 32] = sum;
  __syncthreads();
  if (t < 32) {
    sum = t < kBlock / 32 ? scratch[t] : Op::identity();
    for (unsigned s = kBlock / 64; s > 0; s /= 2) {
      sum = Op::combine(sum, __shfl_down_sync(0xffffffff, sum, s, 32));
    }
  }
  return sum;
}

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
