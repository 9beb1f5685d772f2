// A sum in fp64 needs units that most GPUs have few of.
// Here each addition in float32 keeps what it rounded away, exactly, by two more of them
// (FastTwoSum: Dekker 1971, "A floating-point technique for extending the available precision"):
// rung 11 with sums of two floats.
#pragma once

#include <cmath>

#include "11_last_block.cuh"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

struct alignas(8) FloatAndError {
  float sum;
  float error;  // what is missing in sum
};

struct CompensatedSum {
  using Accumulator = FloatAndError;
  __device__ static FloatAndError from(float value) { return {value, 0}; }
  // The error of an infinity or a NaN is NaN, and means nothing.
  __device__ static float result(FloatAndError a) {
    return a.sum - a.sum == 0 ? __fadd_rn(a.sum, a.error) : a.sum;
  }
  __device__ static FloatAndError identity() { return {0, 0}; }
  // Every operation has to be rounded by itself, in this order: algebra would make the error 0.
  __device__ static FloatAndError combine(FloatAndError a, FloatAndError b) {
    const bool in_order = fabsf(a.sum) >= fabsf(b.sum);
    const float larger = in_order ? a.sum : b.sum;
    const float smaller = in_order ? b.sum : a.sum;
    const float sum = __fadd_rn(larger, smaller);
    const float of_smaller = __fadd_rn(sum, -larger);  // the part of the sum that it made
    const float error = __fadd_rn(smaller, -of_smaller);
    return {sum, __fadd_rn(__fadd_rn(a.error, b.error), error)};
  }
};

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
