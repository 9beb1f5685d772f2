// The devices that tests run on. Tests of a GPU are named Gpu/..., labelled gpu, and skipped loudly
// where there is none, unless REQUIRE_GPU=1 makes that a failure.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "reduce_ladder/device.hpp"
#include "reduce_ladder/errors.hpp"

namespace reduce_ladder::testing {

inline bool gpu_required() {
  const char* required = std::getenv("REQUIRE_GPU");
  return required != nullptr && std::string_view(required) == "1";
}

// What tests of a kind of device are called.
inline std::string kind_name(const ::testing::TestParamInfo<DeviceKind>& info) {
  return info.param == DeviceKind::cuda ? "Cuda" : "Simulated";
}

// One device of each kind a process: a CUDA context takes longer to make than most tests to run.
// Null, with `why` filled in, where there is none.
inline Device* shared_device(DeviceKind kind, std::string& why) {
  static std::unique_ptr<Device> devices[2];
  auto& device = devices[kind == DeviceKind::cuda ? 1 : 0];
  if (!device) {
    try {
      device = kind == DeviceKind::cuda ? make_cuda_device(0) : make_simulated_device(7);
    } catch (const NoGpuError& error) {
      why = error.what();
    }
  }
  return device.get();
}

}  // namespace reduce_ladder::testing

// Declares `device` for the rest of the test, or skips it.
#define USE_DEVICE_OR_SKIP(device, kind)                                           \
  std::string why_no_device;                                                       \
  Device* const device##_pointer = testing::shared_device(kind, why_no_device);    \
  if (device##_pointer == nullptr) {                                               \
    if (testing::gpu_required()) FAIL() << "REQUIRE_GPU=1, but " << why_no_device; \
    GTEST_SKIP() << "SKIPPED, NOT TESTED ON A GPU: " << why_no_device;             \
  }                                                                                \
  Device& device = *device##_pointer
