// Stands in for device_cuda.cpp in a build without CUDA.
#include "reduce_ladder/device.hpp"
#include "reduce_ladder/errors.hpp"

namespace reduce_ladder {

std::unique_ptr<Device> make_cuda_device(int /*ordinal*/) {
  throw NoGpuError("no usable GPU: this reduce-ladder was built without CUDA");
}

}  // namespace reduce_ladder
