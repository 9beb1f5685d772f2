// The kernels that timing needs beside the stages.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>

#include "reduce_ladder/stage.hpp"

namespace reduce_ladder {

// cudaSuccess if this build holds code that the current device can run.
cudaError_t check_kernels_load();

// Holds `stream` until the host writes `ticket` to *released. Gives up after a tenth of a second
// and says so by writing it to *expired: a host that is not back by then has lost the processor.
// Both words are host memory that the device can see.
void queue_hold(const volatile unsigned* released, volatile unsigned* expired, unsigned ticket,
                cudaStream_t stream);

// A kernel that does nothing: one block, one thread.
void queue_nothing(cudaStream_t stream);

// Fills L2 with `bytes` bytes of other data, which are only read, so that they leave nothing to
// write back. `data` and `sink` as for queue_read().
void queue_fill_l2(const void* data, std::size_t bytes, unsigned* sink, const Machine& machine,
                   cudaStream_t stream);

// A way to read memory: so many 16-byte loads in flight a thread, so many threads a block, and the
// machine filled so many times over.
struct ReadShape {
  unsigned loads = 4;
  unsigned block = 512;
  unsigned waves = 1;
};
// Those worth trying for the fastest.
std::span<const ReadShape> read_shapes();

// Reads `bytes` bytes, of which those beyond the last multiple of 16 are left out, at a 16-byte
// address. Writes next to nothing: *sink only where the bits read happen to fold to one certain
// word.
void queue_read(const void* data, std::size_t bytes, unsigned* sink, const ReadShape& shape,
                const Machine& machine, cudaStream_t stream);

}  // namespace reduce_ladder
