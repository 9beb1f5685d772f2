// The few names that rungs use beyond CUDA's own. A rung that is included after this file runs on a
// GPU.
#pragma once

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cuda/atomic>
#include <type_traits>

#include "reduce_ladder/cuda_check.hpp"
#include "reduce_ladder/stage.hpp"
#include "reduce_ladder/vector.hpp"

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

// Values from `array` to the next 16-byte border.
template <typename T>
__device__ unsigned values_before_border(T* array) {
  return (0U - static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(array))) % kVectorBytes /
         sizeof(T);
}

// The vector that begins at array[i], which lies on a 16-byte border.
template <typename T>
__device__ Vector<std::remove_const_t<T>> load_vector(T* array, Index i) {
  return *reinterpret_cast<const Vector<std::remove_const_t<T>>*>(array + i);
}

using cuda::memory_order_acq_rel;
using cuda::memory_order_relaxed;

// Atomic accesses that all blocks of a launch see; fetch_add returns what was there before.
__device__ inline ControlWord fetch_add(ControlWord* word, ControlWord value,
                                        cuda::memory_order order) {
  return cuda::atomic_ref<ControlWord, cuda::thread_scope_device>(*word).fetch_add(value, order);
}
__device__ inline ControlWord load(ControlWord* word, cuda::memory_order order) {
  return cuda::atomic_ref<ControlWord, cuda::thread_scope_device>(*word).load(order);
}
__device__ inline void store(ControlWord* word, ControlWord value, cuda::memory_order order) {
  cuda::atomic_ref<ControlWord, cuda::thread_scope_device>(*word).store(value, order);
}

// A barrier of all blocks of a cooperative launch, which orders their accesses to memory.
__device__ inline void wait_for_grid() {
  cooperative_groups::this_grid().sync();
}

// Queues one launch of a kernel over values of type T.
template <typename T, typename... Parameters>
void launch(void (*kernel)(Parameters...), const Pass& pass, void* queue,
            std::type_identity_t<Parameters>... arguments) {
  kernel<<<pass.grid, pass.block, pass.shared_values * sizeof(T),
           static_cast<cudaStream_t>(queue)>>>(arguments...);
  cuda_check(cudaGetLastError());
}

// Likewise, with all blocks resident at once.
template <typename T, typename... Parameters>
void launch_cooperative(void (*kernel)(Parameters...), const Pass& pass, void* queue,
                        std::type_identity_t<Parameters>... arguments) {
  void* addresses[] = {&arguments...};
  cuda_check(cudaLaunchCooperativeKernel(kernel, pass.grid, pass.block, addresses,
                                         pass.shared_values * sizeof(T),
                                         static_cast<cudaStream_t>(queue)));
}

// Zeroes `count` values, in order with the launches.
template <typename T>
void zero(T* values, std::size_t count, void* queue) {
  cuda_check(cudaMemsetAsync(values, 0, count * sizeof(T), static_cast<cudaStream_t>(queue)));
}

// cub::DeviceReduce::Sum of this build's CUDA Toolkit, as a stage.
Plan plan_cub(Index n, const Shape& shape);
void launch_cub(const Plan& plan, const Problem<float>& problem);

}  // namespace reduce_ladder::inline cuda_backend

#include "bulk_copies.cuh"
