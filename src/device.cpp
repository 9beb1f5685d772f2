#include "reduce_ladder/device.hpp"

#include <fmt/format.h>

namespace reduce_ladder {

std::optional<std::string> Device::obstacle(const Stage& stage) const {
  const int needed = stage.compute_capability;
  const std::optional<CudaInfo>& cuda = info().cuda;
  const int there = cuda ? 10 * cuda->compute_major + cuda->compute_minor : 0;
  if (there >= needed) return std::nullopt;
  return fmt::format(
      "needs a GPU of compute capability {}.{} or later; {}", needed / 10, needed % 10,
      cuda ? fmt::format("this one has {}.{}", there / 10, there % 10) : "this is the simulator");
}

}  // namespace reduce_ladder
