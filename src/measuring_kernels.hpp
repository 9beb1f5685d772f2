// The kernels that timing needs beside the stages.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "reduce_ladder/stage.hpp"

namespace reduce_ladder {

// cudaSuccess if this build holds code that the current device can run.
cudaError_t check_kernels_load();

// Holds `stream` until the host writes `ticket` to *released. Gives up after a tenth of a second
// and says so by writing it to *expired: a host that is not back by then has lost the processor.
// Both words are host memory that the device can see.
void queue_hold(const volatile unsigned* released, volatile unsigned* expired, unsigned ticket,
                cudaStream_t stream);

// Reads `bytes` bytes, a multiple of 16 at a 16-byte address, and writes nothing as long as all of
// them are zero; otherwise *sink.
void queue_read(const std::byte* data, std::size_t bytes, unsigned* sink, const Machine& machine,
                cudaStream_t stream);

}  // namespace reduce_ladder
