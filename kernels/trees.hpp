// Trees for the rungs whose idea lies elsewhere: of the lanes of a vector, and rung 8's of a block.
#pragma once

#include <type_traits>

#include "operators.hpp"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

// Reduces the lanes of a vector.
template <typename Op, typename T>
__device__ AccumulatorOf<Op> lane_tree(const Vector<T>& vector) {
  AccumulatorOf<Op> sums[kLanes<T>];
  for (unsigned l = 0; l < kLanes<T>; ++l) sums[l] = Op::from(vector.lane[l]);
  for (unsigned s = kLanes<T> / 2; s > 0; s /= 2) {
    for (unsigned l = 0; l < s; ++l) sums[l] = Op::combine(sums[l], sums[l + s]);
  }
  return sums[0];
}

// A value that is no vector counts for one of a single lane.
template <typename Op, typename T>
requires std::is_arithmetic_v<T> __device__ AccumulatorOf<Op> lane_tree(T value) {
  return Op::from(value);
}

// The value of the lane so many lanes higher, of any type of 4 or 8 bytes.
template <typename A>
__device__ A shuffle_down(A value, unsigned lanes) {
  using Bits = std::conditional_t<sizeof(A) == sizeof(unsigned), unsigned, ControlWord>;
  return same_bits<A>(__shfl_down_sync(0xffffffff, same_bits<Bits>(value), lanes, 32));
}

// Reduces the values of a block's threads; thread 0 gets the result. `scratch` holds a value a
// warp, and a barrier has to stand between two uses of it.
template <typename Op, unsigned kBlock, typename A>
__device__ A block_tree(A sum, SharedArray<A> scratch) {
  const unsigned t = threadIdx.x;
  for (unsigned s = 16; s > 0; s /= 2) {
    sum = Op::combine(sum, shuffle_down(sum, s));
  }
  if constexpr (kBlock == 32) return sum;
  if (t % 32 == 0) scratch[t / 32] = sum;
  __syncthreads();
  if (t < 32) {
    sum = t < kBlock / 32 ? scratch[t] : Op::identity();
    for (unsigned s = kBlock / 64; s > 0; s /= 2) {
      sum = Op::combine(sum, shuffle_down(sum, s));
    }
  }
  return sum;
}

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
