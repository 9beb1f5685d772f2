// A device that runs stages of a test in the place of the ladder.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "reduce_ladder/device.hpp"

namespace reduce_ladder::testing {

class OtherStages : public Device {
 public:
  OtherStages(Device& device, std::span<const Stage> stages) : device_(device), stages_(stages) {}

  [[nodiscard]] const DeviceInfo& info() const override { return device_.info(); }
  [[nodiscard]] std::span<const Stage> stages() const override { return stages_; }
  using Device::load;
  void load(std::span<const float> values, unsigned misalignment) override {
    device_.load(values, misalignment);
  }
  void load(Index n, const Fill& fill, unsigned misalignment) override {
    device_.load(n, fill, misalignment);
  }
  float run(const Stage& stage, const Plan& plan, float poison) override {
    return device_.run(stage, plan, poison);
  }
  std::vector<LaunchCounters> count(const Stage& stage, const Plan& plan) override {
    return device_.count(stage, plan);
  }
  std::optional<Samples> time(const Stage& stage, const Plan& plan,
                              const Sampling& sampling) override {
    return device_.time(stage, plan, sampling);
  }
  std::optional<CopySamples> time_copy(const Sampling& sampling) override {
    return device_.time_copy(sampling);
  }
  std::optional<ReadSamples> time_read(Index n, const Sampling& sampling) override {
    return device_.time_read(n, sampling);
  }
  std::optional<Samples> time_empty_launch(const Sampling& sampling) override {
    return device_.time_empty_launch(sampling);
  }
  [[nodiscard]] std::optional<MachineState> state() const override { return device_.state(); }

 private:
  Device& device_;
  std::span<const Stage> stages_;
};

}  // namespace reduce_ladder::testing
