// The simulator as a device. It has no clock worth trusting.
#include <algorithm>
#include <cstdint>
#include <memory>

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
  explicit SimulatedDevice(std::uint64_t seed) : simulator_(seed, host_cores()) {
    info_.kind = DeviceKind::sim;
    info_.name = "SIMT simulator";
    info_.machine = kMachine;
  }

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] std::span<const Stage> stages() const override { return stages_simulated(); }

  using Device::load;
  void load(std::span<const float> values, unsigned misalignment) override {
    const std::uintptr_t wanted = misalignment * sizeof(float);
    if (reinterpret_cast<std::uintptr_t>(values.data()) % kVectorBytes == wanted) {
      values_ = values.data();
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
  }

  float run(const Stage& stage, const Plan& plan, float poison) override {
    workspace_.assign(plan.workspace(), poison);
    if (control_.size() < plan.control) control_.resize(plan.control);
    float output = poison;
    try {
      stage.launch(plan, {values_, workspace_.data(), &output, control_.data(), &simulator_});
    } catch (...) {
      std::ranges::fill(control_, 0);  // an abandoned launch leaves them as they are
      throw;
    }
    return output;
  }

  std::vector<LaunchCounters> count(const Stage& /*stage*/, const Plan& /*plan*/) override {
    throw CountersUnavailable("the simulator does not count yet");
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
  const float* values_ = nullptr;
  std::unique_ptr<float[]> copy_;  // of values that are not held where they were asked for
  std::vector<float> workspace_;
  std::vector<ControlWord> control_;
};

}  // namespace

std::unique_ptr<Device> make_simulated_device(std::uint64_t seed) {
  return std::make_unique<SimulatedDevice>(seed);
}

}  // namespace reduce_ladder
