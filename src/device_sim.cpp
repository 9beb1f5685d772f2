// The simulator as a device. It has no clock worth trusting.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "host_memory.hpp"
#include "parallel.hpp"
#include "reduce_ladder/device.hpp"
#include "reduce_ladder/errors.hpp"
#include "reduce_ladder/simulator.hpp"
#include "reduce_ladder/vector.hpp"

namespace reduce_ladder {
namespace {

// The machine that is simulated. Fixed, so that launch shapes, and with them the bits of the sums,
// do not depend on the host. Few blocks, since each one of a cooperative launch takes a thread of
// the host.
constexpr Machine kMachine{
    .multiprocessors = 16, .threads_per_multiprocessor = 2048, .blocks_per_multiprocessor = 8};

class SimulatedDevice final : public Device {
 public:
  explicit SimulatedDevice(const Simulation& simulation)
      : simulator_(simulation.seed, host_cores(), simulation.warp_size),
        checked_(simulation.checked) {
    info_.kind = DeviceKind::sim;
    info_.name = "SIMT simulator";
    if (simulation.warp_size != simt::kWarpSize) {
      info_.name += fmt::format(", warps of {} lanes", simulation.warp_size);
    }
    if (checked_) info_.name += ", checked";
    info_.machine = kMachine;
  }

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] std::span<const Stage> stages() const override {
    return checked_ ? stages_observed() : stages_simulated();
  }

  using Device::load;
  void load(std::span<const float> values, unsigned misalignment) override {
    const std::uintptr_t wanted = misalignment * sizeof(float);
    if (reinterpret_cast<std::uintptr_t>(values.data()) % kVectorBytes == wanted) {
      values_ = values.data();
      misalignment_ = misalignment;
      copy_.reset();
      return;
    }
    load(values.size(), fill_from(values), misalignment);
  }
  // The simulated memory is the host's.
  void load(Index n, const Fill& fill, unsigned misalignment) override {
    static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ % kVectorBytes == 0);
    copy_.reset();  // before there are others beside them
    copy_ = allocate_values(misalignment + n);
    std::fill_n(copy_.get(), misalignment, kNan);
    float* const values = copy_.get() + misalignment;
    fill_in_parallel(fill, 0, {values, n});
    values_ = values;
    misalignment_ = misalignment;
  }

  float run(const Stage& stage, const Plan& plan, float poison) override {
    Observation observation{.check = true};
    return run(stage, plan, poison, checked_ ? &observation : nullptr);
  }

  std::vector<LaunchCounters> count(const Stage& stage, const Plan& plan) override {
    const auto observed = std::ranges::find(stages_observed(), stage.number, &Stage::number);
    Observation observation{.count = true};
    run(*observed, plan, kNan, &observation);
    return std::move(observation.launches);
  }

  std::optional<Samples> time(const Stage& /*stage*/, const Plan& /*plan*/,
                              const Sampling& /*sampling*/) override {
    return std::nullopt;
  }
  std::optional<CopySamples> time_copy(const Sampling& /*sampling*/) override {
    return std::nullopt;
  }
  std::optional<ReadSamples> time_read(Index /*n*/, const Sampling& /*sampling*/) override {
    return std::nullopt;
  }
  std::optional<Samples> time_empty_launch(const Sampling& /*sampling*/) override {
    return std::nullopt;
  }
  [[nodiscard]] std::optional<MachineState> state() const override { return std::nullopt; }

 private:
  using Observation = simt::Observation;

  float run(const Stage& stage, const Plan& plan, float poison, Observation* observation) {
    workspace_.assign(plan.workspace(), poison);
    if (control_.size() < plan.control) control_.resize(plan.control);
    float output = poison;
    if (observation != nullptr) {
      observation->arrays = {
          {"the input",
           values_,
           plan.passes.front().n * sizeof(float),
           misalignment_ * sizeof(float),
           {}},
          {"the partials", workspace_.data(), workspace_.size() * sizeof(float), 0,
           std::vector<unsigned char>(workspace_.size())},
          {"the control words", control_.data(), plan.control * sizeof(ControlWord), 0, {}},
          {"the result", &output, sizeof output, 0, {0}},
      };
    }
    simulator_.observe(observation);
    simulator_.name_kernels(stage.name);
    try {
      stage.launch(plan, {values_, workspace_.data(), &output, control_.data(), &simulator_});
    } catch (...) {
      simulator_.observe(nullptr);
      std::ranges::fill(control_, 0);  // an abandoned launch leaves them as they are
      throw;
    }
    simulator_.observe(nullptr);
    if (observation != nullptr && observation->check &&
        observation->arrays.back().written[0] == 0) {
      throw SimulatorFault("the result is never written");
    }
    return output;
  }

  DeviceInfo info_;
  simt::Simulator simulator_;
  bool checked_;
  const float* values_ = nullptr;
  unsigned misalignment_ = 0;
  std::unique_ptr<float[]> copy_;  // of values that are not held where they were asked for
  std::vector<float> workspace_;
  std::vector<ControlWord> control_;
};

}  // namespace

std::unique_ptr<Device> make_simulated_device(const Simulation& simulation) {
  return std::make_unique<SimulatedDevice>(simulation);
}

}  // namespace reduce_ladder
