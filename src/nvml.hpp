// The GPU's clocks, power and temperature, as the driver's management library (NVML) tells them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "reduce_ladder/device.hpp"

namespace reduce_ladder {

// Reads the state of one GPU and changes none of it. NVML comes with the driver and is looked for
// at run time, so that no build needs it; where it, one of its functions or an answer is missing,
// so is what it would have told, and nothing is thrown.
class Nvml {
 public:
  // `pci_bus_id` as cudaDeviceGetPCIBusId() gives it: "0000:17:00.0".
  explicit Nvml(const std::string& pci_bus_id, const std::string& library = "libnvidia-ml.so.1");
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  // Nothing where NVML or the GPU was not found. An idle GPU is not throttled: its throttle reasons
  // are empty.
  [[nodiscard]] std::optional<MachineState> state() const;

 private:
  struct Unload {
    void operator()(void* library) const noexcept;
  };

  std::unique_ptr<void, Unload> library_;
  bool initialized_ = false;
  void* device_ = nullptr;  // nvmlDevice_t, opaque
};

}  // namespace reduce_ladder
