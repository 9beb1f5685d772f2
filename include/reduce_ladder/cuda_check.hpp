// CUDA's error codes as exceptions.
#pragma once

#include <cuda_runtime_api.h>

#include <source_location>
#include <string>

#include "reduce_ladder/errors.hpp"

namespace reduce_ladder {

// Throws OutOfMemoryError or CudaError that says what failed and where, and clears the runtime's
// last error, so that the next call does not report it again.
inline void cuda_check(cudaError_t status,
                       const std::source_location where = std::source_location::current()) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  const std::string path = where.file_name();
  const std::string text =
      std::string(cudaGetErrorName(status)) + " (" + cudaGetErrorString(status) + ") at " +
      path.substr(path.find_last_of('/') + 1) + ":" + std::to_string(where.line());
  if (status == cudaErrorMemoryAllocation) throw OutOfMemoryError("out of memory: " + text);
  throw CudaError("CUDA error " + text);
}

}  // namespace reduce_ladder
