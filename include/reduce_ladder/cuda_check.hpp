// CUDA's error codes as exceptions.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "reduce_ladder/errors.hpp"
#include "reduce_ladder/place.hpp"

namespace reduce_ladder {

// Throws OutOfMemoryError or CudaError that says what failed and where, and clears the runtime's
// last error, so that the next call does not report it again.
inline void cuda_check(cudaError_t status, Place where = Place::here()) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  const std::string text = std::string(cudaGetErrorName(status)) + " (" +
                           cudaGetErrorString(status) + ") at " + where.text();
  if (status == cudaErrorMemoryAllocation) throw OutOfMemoryError("out of memory: " + text);
  throw CudaError("CUDA error " + text);
}

}  // namespace reduce_ladder
