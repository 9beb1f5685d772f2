// What a stage reduces with: an associative operator, its identity, and the two at one address.
#pragma once

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

template <typename T>
struct Sum {
  // +0, so a sum of no elements is +0.
  __device__ static T identity() { return T{0}; }
  __device__ static T combine(T a, T b) { return a + b; }
  __device__ static void combine_atomically(GlobalArray<T> address, T value) {
    atomicAdd(address, value);
  }
  static constexpr bool kIdentityIsZero = true;
};

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
