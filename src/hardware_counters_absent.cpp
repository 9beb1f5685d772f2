// Stands in for hardware_counters.cpp where the toolkit has no range profiler.
#include "hardware_counters.hpp"
#include "reduce_ladder/errors.hpp"

namespace reduce_ladder {

class HardwareCounters::Cupti {};

std::unique_ptr<HardwareCounters> HardwareCounters::open(
    int /*ordinal*/, std::span<const std::string> /*libraries*/) {
  throw CountersUnavailable(
      "no hardware counters: this reduce-ladder was built without CUPTI's range profiler (build it "
      "with a toolkit of CUDA 12.6 or later, CUPTI included)");
}
HardwareCounters::~HardwareCounters() = default;

std::span<const std::string> HardwareCounters::default_libraries() {
  return {};
}

std::vector<LaunchCounters> HardwareCounters::count(const Work& /*run*/, const Work& /*prepare*/) {
  return {};
}

std::vector<std::vector<std::optional<double>>> HardwareCounters::measure(
    std::span<const std::string_view> /*metrics*/, const Work& /*run*/, const Work& /*prepare*/,
    Replay /*replay*/) {
  return {};
}

}  // namespace reduce_ladder
