// What a stage reduces with: an associative operator, its identity, and the two at one address.
#pragma once

#include <cstring>

#include "reduce_ladder/vector.hpp"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

// What it folds values into may be of another type, its accumulator: from() makes one of a value,
// result() a value of one. This is for operators that have no use for that.
template <typename T>
struct FoldsIntoValues {
  using Accumulator = T;
  __device__ static T from(T value) { return value; }
  __device__ static T result(T folded) { return folded; }
};

template <typename T>
struct Sum : FoldsIntoValues<T> {
  // +0, so a sum of no elements is +0.
  __device__ static T identity() { return T{0}; }
  __device__ static T combine(T a, T b) { return a + b; }
  __device__ static void combine_atomically(GlobalArray<T> address, T value) {
    atomicAdd(address, value);
  }
  static constexpr bool kIdentityIsZero = true;
};

template <typename Op>
using AccumulatorOf = typename Op::Accumulator;

template <typename T>
__device__ Vector<T> same_in_all_lanes(T value) {
  Vector<T> vector;
  for (T& lane : vector.lane) lane = value;
  return vector;
}

// The bits of a value as another type of the same size.
template <typename To, typename From>
__device__ To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
