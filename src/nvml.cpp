#include "nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdint>
#include <ratio>
#include <string_view>
#include <type_traits>
#include <vector>

namespace reduce_ladder {
namespace {

// What nvml.h would declare, with its names beside. Its enumerations are as wide as unsigned.
using Return = unsigned;                 // nvmlReturn_t
using Handle = void*;                    // nvmlDevice_t, a pointer to something opaque
using Mask = std::uint64_t;              // unsigned long long
constexpr Return kSuccess = 0;           // NVML_SUCCESS
constexpr unsigned kClockSm = 1;         // nvmlClockType_t: NVML_CLOCK_SM
constexpr unsigned kClockMemory = 2;     // nvmlClockType_t: NVML_CLOCK_MEM
constexpr unsigned kTemperatureGpu = 0;  // nvmlTemperatureSensors_t: NVML_TEMPERATURE_GPU
constexpr Mask kGpuIdle = 0x1;           // nvmlClocksEventReasonGpuIdle

struct Reason {
  Mask bit;
  std::string_view words;
};
// nvmlClocksEventReason..., nvmlClocksThrottleReason...
constexpr Reason kReasons[] = {
    {0x002, "applications clocks setting"},
    {0x004, "sw power cap"},
    {0x008, "hw slowdown"},
    {0x010, "sync boost"},
    {0x020, "sw thermal slowdown"},
    {0x040, "hw thermal slowdown"},
    {0x080, "hw power brake slowdown"},
    {0x100, "display clock setting"},
};

// Calls the function of this name. False where there is none, or where it fails. The parameters
// cannot be deduced: they have to be written out, as nvml.h has them.
template <typename... Parameters>
bool call(void* library, const char* name, std::type_identity_t<Parameters>... arguments) {
  auto* const function = reinterpret_cast<Return (*)(Parameters...)>(::dlsym(library, name));
  return function != nullptr && function(arguments...) == kSuccess;
}

// What the function of this name tells through its last parameter.
template <typename Answer, typename... Parameters>
std::optional<Answer> ask(void* library, const char* name,
                          std::type_identity_t<Parameters>... arguments) {
  Answer answer{};
  if (!call<Parameters..., Answer*>(library, name, arguments..., &answer)) return std::nullopt;
  return answer;
}

// Multiplies and divides, rather than scale by a factor: 0.001 is no double.
template <typename Unit>
std::optional<double> from(std::optional<unsigned> value) {
  if (!value) return std::nullopt;
  return *value * static_cast<double>(Unit::num) / static_cast<double>(Unit::den);
}

std::optional<Mask> ask_throttle_reasons(void* library, Handle device) {
  const auto reasons = ask<Mask, Handle>(library, "nvmlDeviceGetCurrentClocksEventReasons", device);
  // Its name in older drivers.
  return reasons ? reasons
                 : ask<Mask, Handle>(library, "nvmlDeviceGetCurrentClocksThrottleReasons", device);
}

std::optional<std::vector<std::string>> in_words(std::optional<Mask> reasons) {
  if (!reasons) return std::nullopt;
  std::vector<std::string> words;
  // A GPU without work lowers its clocks because nobody needs them, not because something holds
  // them down. Between two runs that is so of every GPU.
  Mask rest = *reasons & ~kGpuIdle;
  for (const Reason& reason : kReasons) {
    if ((rest & reason.bit) != 0) words.emplace_back(reason.words);
    rest &= ~reason.bit;
  }
  if (rest != 0) words.push_back(fmt::format("{:#x}", rest));
  return words;
}

}  // namespace

void Nvml::Unload::operator()(void* library) const noexcept {
  ::dlclose(library);
}

Nvml::Nvml(const std::string& pci_bus_id, const std::string& library)
    : library_(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  initialized_ = library_ != nullptr && call<>(library_.get(), "nvmlInit_v2");
  if (!initialized_) return;
  device_ = ask<Handle, const char*>(library_.get(), "nvmlDeviceGetHandleByPciBusId_v2",
                                     pci_bus_id.c_str())
                .value_or(nullptr);
}

Nvml::~Nvml() {
  // NVML counts its users: others in this process keep it.
  if (initialized_) call<>(library_.get(), "nvmlShutdown");
}

std::optional<MachineState> Nvml::state() const {
  if (device_ == nullptr) return std::nullopt;
  void* const nvml = library_.get();
  return MachineState{
      .sm_clock = from<std::mega>(
          ask<unsigned, Handle, unsigned>(nvml, "nvmlDeviceGetClockInfo", device_, kClockSm)),
      .memory_clock = from<std::mega>(
          ask<unsigned, Handle, unsigned>(nvml, "nvmlDeviceGetClockInfo", device_, kClockMemory)),
      .power = from<std::milli>(ask<unsigned, Handle>(nvml, "nvmlDeviceGetPowerUsage", device_)),
      .temperature = ask<unsigned, Handle, unsigned>(nvml, "nvmlDeviceGetTemperature", device_,
                                                     kTemperatureGpu),
      .throttle_reasons = in_words(ask_throttle_reasons(nvml, device_))};
}

}  // namespace reduce_ladder
