// One addition of the compensated sum, alone, for its machine code to be read.
#include "backend_cuda.cuh"

// Of the backend above.
#include "15_compensated.cuh"

using reduce_ladder::CompensatedSum;
using reduce_ladder::FloatAndError;

extern "C" __global__ void combine(FloatAndError* sums) {
  sums[0] = CompensatedSum::combine(sums[0], sums[1]);
}
