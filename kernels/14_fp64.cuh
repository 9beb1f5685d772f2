// Every addition in float32 was rounded to 24 bits, and the errors added up.
// Here a thread turns each value into a double when it has it: rung 11 with sums in fp64, rounded
// to float32 once, at the end.
#pragma once

#include "11_last_block.cuh"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

struct SumInDouble {
  using Accumulator = double;
  __device__ static double from(float value) { return value; }
  __device__ static float result(double sum) { return static_cast<float>(sum); }
  __device__ static double identity() { return 0; }
  __device__ static double combine(double a, double b) { return a + b; }
};

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
