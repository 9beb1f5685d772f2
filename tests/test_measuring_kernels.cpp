// The kernel that holds a stream, on a GPU.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <chrono>

#include "devices.hpp"
#include "measuring_kernels.hpp"
#include "reduce_ladder/cuda_check.hpp"

namespace reduce_ladder {
namespace {

TEST(GpuHold, KeepsAStreamForeverWhoseHostIsGone) {
  USE_DEVICE_OR_SKIP(device, DeviceKind::cuda);
  ASSERT_EQ(device.info().kind, DeviceKind::cuda);
  unsigned* words = nullptr;
  cuda_check(
      cudaHostAlloc(reinterpret_cast<void**>(&words), 2 * sizeof(unsigned), cudaHostAllocMapped));
  words[0] = words[1] = 0;
  const auto start = std::chrono::steady_clock::now();
  queue_hold(words, words + 1, 7, nullptr);  // and nobody ever releases it
  cuda_check(cudaStreamSynchronize(nullptr));
  const std::chrono::duration<double> held = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(words[1], 7U) << "it does not say that it gave up";
  EXPECT_GT(held.count(), 0.09);
  EXPECT_LT(held.count(), 5);

  // One that is released says nothing and does not wait.
  words[0] = 8;
  queue_hold(words, words + 1, 8, nullptr);
  cuda_check(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(words[1], 7U);
  cuda_check(cudaFreeHost(words));
}

}  // namespace
}  // namespace reduce_ladder
