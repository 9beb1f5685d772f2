// A sum in fp64 needs units that most GPUs have few of.
// Here each addition in float32 keeps what it rounded away, exactly, by five more of them (TwoSum:
// Knuth, The Art of Computer Programming, volume 2, section 4.2.2): rung 11 with sums of two
// floats.
#pragma once

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
    const float sum = __fadd_rn(a.sum, b.sum);
    const float of_b = __fadd_rn(sum, -a.sum);  // the part of the sum that b made
    const float of_a = __fadd_rn(sum, -of_b);   // and a
    const float error = __fadd_rn(__fadd_rn(a.sum, -of_a), __fadd_rn(b.sum, -of_b));
    return {sum, __fadd_rn(__fadd_rn(a.error, b.error), error)};
  }
};

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
