// The simulator as a device. It has no clock worth trusting.
#include "parallel.hpp"
#include "reduce_ladder/device.hpp"
#include "reduce_ladder/simulator.hpp"

namespace reduce_ladder {
namespace {

// The machine that is simulated. Fixed, so that launch shapes, and with them the bits of the sums,
// do not depend on the host.
constexpr Machine kMachine{
    .multiprocessors = 16, .threads_per_multiprocessor = 2048, .blocks_per_multiprocessor = 32};

class SimulatedDevice final : public Device {
 public:
  explicit SimulatedDevice(std::uint64_t seed) : simulator_(seed, host_cores()) {
    info_.kind = DeviceKind::sim;
    info_.name = "SIMT simulator";
    info_.machine = kMachine;
  }

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] std::span<const Stage> stages() const override { return stages_simulated(); }

  void load(std::span<const float> values) override { values_ = values; }

  float run(const Stage& stage, const Plan& plan, float poison) override {
    workspace_.assign(plan.workspace(), poison);
    float output = poison;
    stage.launch(plan, {values_.data(), workspace_.data(), &output, &simulator_});
    return output;
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
  DeviceInfo info_;
  simt::Simulator simulator_;
  std::span<const float> values_;
  std::vector<float> workspace_;
};

}  // namespace

std::unique_ptr<Device> make_simulated_device(std::uint64_t seed) {
  return std::make_unique<SimulatedDevice>(seed);
}

}  // namespace reduce_ladder
