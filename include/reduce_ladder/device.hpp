// A device that can hold an input, run stages over it and, if it has a clock worth trusting, time
// them.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reduce_ladder/counters.hpp"
#include "reduce_ladder/fill.hpp"
#include "reduce_ladder/stage.hpp"

namespace reduce_ladder {

enum class DeviceKind { cuda, sim };

// Facts about a CUDA device that the report shows. Bytes, and bytes per second.
struct CudaInfo {
  int ordinal = 0;
  int compute_major = 0;
  int compute_minor = 0;
  std::size_t memory_bytes = 0;
  std::size_t l2_bytes = 0;
  double theoretical_bandwidth =
      0;                // 2 x memory clock x bus width / 8; 0 where the driver hides it
  std::string driver;   // the display driver's version where known, else its CUDA version
  std::string runtime;  // CUDA runtime, "13.0"
  std::string cub;      // of the toolkit that built this program, "3.0.1"
};

struct DeviceInfo {
  DeviceKind kind = DeviceKind::sim;
  std::string name;
  Machine machine;
  std::optional<CudaInfo> cuda;  // absent on the simulator
};

// Values, the most that an input can begin past a 16-byte border.
constexpr unsigned kMaxMisalignment = 3;

// What L2 holds when a run begins.
enum class CacheMode {
  cold,  // other data, clean
  warm,  // what the run before left
};

// How to sample. Sampling ends when both minima are met and the noise of the median is low enough,
// or at the time-out.
struct Sampling {
  CacheMode cache = CacheMode::cold;
  unsigned warmups = 3;
  unsigned min_samples = 50;
  double min_seconds = 0.02;      // wall time spent sampling
  double max_noise = 0.005;       // see noise() in statistics.hpp
  double timeout_seconds = 0.25;  // wall time spent sampling
};

// Times of single runs.
struct Samples {
  std::vector<double> seconds;  // in the order they were taken
  unsigned discarded = 0;       // taken, but with host time inside
  bool stable = false;          // the noise came below Sampling::max_noise
};

// Device-to-device copies of `bytes` bytes; each moves 2 x bytes (read and written).
struct CopySamples {
  std::size_t bytes = 0;
  Samples samples;
};

// Plain reads of `bytes` bytes by the fastest of a few shapes.
struct ReadSamples {
  std::size_t bytes = 0;
  std::string shape;  // in words
  Samples samples;
};

// What the driver says of the GPU at one moment. Hertz, watts, degrees Celsius; absent where it
// does not say.
struct MachineState {
  std::optional<double> sm_clock;
  std::optional<double> memory_clock;
  std::optional<double> power;
  std::optional<double> temperature;
  std::optional<std::vector<std::string>> throttle_reasons;  // empty: none
};

class Device {
 public:
  static constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  [[nodiscard]] virtual const DeviceInfo& info() const = 0;
  [[nodiscard]] virtual std::span<const Stage> stages() const = 0;

  // Why `stage` cannot run here, in words; nothing where it can.
  [[nodiscard]] std::optional<std::string> obstacle(const Stage& stage) const;

  // Makes `values` the input of all later runs, `misalignment` values (0 to 3) past a 16-byte
  // border. The caller keeps them alive until the next load. Throws OutOfMemoryError.
  virtual void load(std::span<const float> values, unsigned misalignment) = 0;
  // The same of the n values that `fill` makes, without a need for host memory for all of them on a
  // device with a memory of its own. `fill` is not called if there is no room for them.
  virtual void load(Index n, const Fill& fill, unsigned misalignment) = 0;
  void load(std::span<const float> values) { load(values, 0); }

  // One run over the loaded input, of a stage that obstacle() says nothing of. The output holds
  // `poison` before, so that this is what a stage returns that writes nothing. `plan` must be the
  // stage's own for at most the loaded n. Throws CudaError or SimulatorFault.
  virtual float run(const Stage& stage, const Plan& plan, float poison) = 0;
  float run(const Stage& stage, const Plan& plan) { return run(stage, plan, kNan); }

  // One run, counted launch by launch. Throws CountersUnavailable.
  virtual std::vector<LaunchCounters> count(const Stage& stage, const Plan& plan) = 0;

  // Times single runs, with no host launch time inside. Nothing on a device without a clock worth
  // trusting.
  virtual std::optional<Samples> time(const Stage& stage, const Plan& plan,
                                      const Sampling& sampling) = 0;

  // Ceilings and floor, by the same protocol as time(): a large copy, reads of as many bytes as n
  // values have, and an empty launch.
  virtual std::optional<CopySamples> time_copy(const Sampling& sampling) = 0;
  virtual std::optional<ReadSamples> time_read(Index n, const Sampling& sampling) = 0;
  virtual std::optional<Samples> time_empty_launch(const Sampling& sampling) = 0;

  // Nothing where no driver can be asked.
  [[nodiscard]] virtual std::optional<MachineState> state() const = 0;
};

// The simulator, always available. `seed` draws the order in which blocks and threads run.
std::unique_ptr<Device> make_simulated_device(std::uint64_t seed);

// The CUDA device with this ordinal. Throws NoGpuError that says why none is usable: built without
// CUDA, no driver, no device, no such ordinal, or no code for its architecture.
std::unique_ptr<Device> make_cuda_device(int ordinal);

}  // namespace reduce_ladder
