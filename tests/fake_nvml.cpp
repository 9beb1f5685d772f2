// A management library (NVML) with a few GPUs that never change. Built with FAKE_NVML_IS_OLD it is
// one from before the throttle reasons were renamed, and knows no temperature.
#include <cstring>

namespace {

enum Return : unsigned { kSuccess = 0, kUninitialized = 1, kNotSupported = 3, kNotFound = 6 };

struct Gpu {
  const char* pci_bus_id;
  bool answers;
  unsigned long long reasons;
};

Gpu gpus[] = {
    {.pci_bus_id = "0000:01:00.0", .answers = true, .reasons = 0x044},
    {.pci_bus_id = "0000:02:00.0", .answers = false, .reasons = 0},
    {.pci_bus_id = "0000:03:00.0", .answers = true, .reasons = 0x001},
    {.pci_bus_id = "0000:04:00.0", .answers = true, .reasons = 0x1ff},
    {.pci_bus_id = "0000:05:00.0", .answers = true, .reasons = 0x8001'0004},
};

}  // namespace

extern "C" {

// For the test to read and to set.
int fake_nvml_sessions = 0;
bool fake_nvml_init_fails = false;

Return nvmlInit_v2() {
  if (fake_nvml_init_fails) return kNotSupported;
  ++fake_nvml_sessions;
  return kSuccess;
}

Return nvmlShutdown() {
  --fake_nvml_sessions;
  return kSuccess;
}

Return nvmlDeviceGetHandleByPciBusId_v2(const char* pci_bus_id, Gpu** gpu) {
  if (fake_nvml_sessions <= 0) return kUninitialized;
  for (Gpu& each : gpus) {
    if (std::strcmp(each.pci_bus_id, pci_bus_id) == 0) {
      *gpu = &each;
      return kSuccess;
    }
  }
  return kNotFound;
}

Return nvmlDeviceGetClockInfo(Gpu* gpu, unsigned clock, unsigned* megahertz) {
  if (!gpu->answers || (clock != 1 && clock != 2)) return kNotSupported;
  *megahertz = clock == 1 ? 1980 : 3201;
  return kSuccess;
}

Return nvmlDeviceGetPowerUsage(Gpu* gpu, unsigned* milliwatts) {
  if (!gpu->answers) return kNotSupported;
  *milliwatts = 123'456;
  return kSuccess;
}

Return nvmlDeviceGetCurrentClocksThrottleReasons(Gpu* gpu, unsigned long long* reasons) {
  if (!gpu->answers) return kNotSupported;
#ifdef FAKE_NVML_IS_OLD
  *reasons = gpu->reasons;
#else
  *reasons = 0x010;  // no GPU's: a test sees that the old name was asked
#endif
  return kSuccess;
}

#ifndef FAKE_NVML_IS_OLD
Return nvmlDeviceGetTemperature(Gpu* gpu, unsigned sensor, unsigned* celsius) {
  if (!gpu->answers || sensor != 0) return kNotSupported;
  *celsius = 41;
  return kSuccess;
}

Return nvmlDeviceGetCurrentClocksEventReasons(Gpu* gpu, unsigned long long* reasons) {
  if (!gpu->answers) return kNotSupported;
  *reasons = gpu->reasons;
  return kSuccess;
}
#endif
}
