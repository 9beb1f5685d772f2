// Rungs 1, 3 and 8 as CUDA's own manuals would have them, on pointers and an array in shared
// memory, beside the rungs themselves: check_plain_rungs wants the same code of both.
#include "backend_cuda.cuh"

#include "01_interleaved_modulo.cuh"
#include "03_sequential.cuh"
#include "08_warp_shuffle.cuh"

namespace plain {

using Index = unsigned long;

__global__ void interleaved_modulo(const float* in, Index n, float* partials) {
  extern __shared__ float scratch[];
  const unsigned t = threadIdx.x;
  const Index i = Index{blockIdx.x} * blockDim.x + t;
  scratch[t] = i < n ? in[i] : 0.0F;
  __syncthreads();
  for (unsigned s = 1; s < blockDim.x; s *= 2) {
    if (t % (2 * s) == 0) scratch[t] = scratch[t] + scratch[t + s];
    __syncthreads();
  }
  if (t == 0) partials[blockIdx.x] = scratch[0];
}

__global__ void sequential(const float* in, Index n, float* partials) {
  extern __shared__ float scratch[];
  const unsigned t = threadIdx.x;
  const Index i = Index{blockIdx.x} * blockDim.x + t;
  scratch[t] = i < n ? in[i] : 0.0F;
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
    if (t < s) scratch[t] = scratch[t] + scratch[t + s];
    __syncthreads();
  }
  if (t == 0) partials[blockIdx.x] = scratch[0];
}

__global__ void warp_shuffle(const float* in, Index n, float* partials) {
  extern __shared__ float scratch[];
  constexpr unsigned kBlock = 256;
  const unsigned t = threadIdx.x;
  float sum = 0;
  const Index stride = Index{gridDim.x} * 2 * kBlock;
  for (Index i = Index{blockIdx.x} * 2 * kBlock + t; i < n; i += stride) {
    const float first = in[i];
    const float second = i + kBlock < n ? in[i + kBlock] : 0.0F;
    sum = sum + (first + second);
  }
  for (unsigned s = 16; s > 0; s /= 2) {
    sum = sum + __shfl_down_sync(0xffffffff, sum, s, 32);
  }
  if (t % 32 == 0) scratch[t / 32] = sum;
  __syncthreads();
  if (t < 32) {
    sum = t < kBlock / 32 ? scratch[t] : 0.0F;
    for (unsigned s = 16; s > 0; s /= 2) {
      sum = sum + __shfl_down_sync(0xffffffff, sum, s, 32);
    }
    if (t == 0) partials[blockIdx.x] = sum;
  }
}

}  // namespace plain

namespace reduce_ladder {

template __global__ void interleaved_modulo<float, Sum<float>>(const float*, Index, float*);
template __global__ void sequential<float, Sum<float>>(const float*, Index, float*);
template __global__ void warp_shuffle<float, Sum<float>, 256>(const float*, Index, float*);

}  // namespace reduce_ladder
