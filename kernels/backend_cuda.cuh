// The few names that rungs use beyond CUDA's own. A rung that is included after this file runs on a
// GPU.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "reduce_ladder/cuda_check.hpp"
#include "reduce_ladder/stage.hpp"

#define REDUCE_LADDER_BACKEND cuda_backend

namespace reduce_ladder::inline cuda_backend {

template <typename T>
using GlobalArray = T*;
template <typename T>
using SharedArray = T*;

// The block's dynamic shared memory. One untyped array, since CUDA allows an extern array one type
// only.
template <typename T>
__device__ SharedArray<T> shared_memory() {
  extern __shared__ __align__(16) unsigned char reduce_ladder_shared[];
  return reinterpret_cast<T*>(reduce_ladder_shared);
}

// Queues one launch of a kernel over values of type T.
template <typename T, typename... Parameters>
void launch(void (*kernel)(Parameters...), const Pass& pass, void* queue,
            std::type_identity_t<Parameters>... arguments) {
  kernel<<<pass.grid, pass.block, pass.shared_values * sizeof(T),
           static_cast<cudaStream_t>(queue)>>>(arguments...);
  cuda_check(cudaGetLastError());
}

// Zeroes `count` values, in order with the launches.
template <typename T>
void zero(T* values, std::size_t count, void* queue) {
  cuda_check(cudaMemsetAsync(values, 0, count * sizeof(T), static_cast<cudaStream_t>(queue)));
}

}  // namespace reduce_ladder::inline cuda_backend
