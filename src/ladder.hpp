// One whole run: every chosen stage executed, judged, probed and, on a device with a clock, timed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence.hpp"
#include "input.hpp"
#include "reduce_ladder/device.hpp"
#include "reduce_ladder/results.hpp"

namespace reduce_ladder {

struct Climb {
  std::vector<int> stages;             // numbers, in the order to run
  std::optional<unsigned> block;       // threads; each stage's own choice if absent
  std::optional<unsigned> grid;        // blocks, of stages whose grid is free; likewise
  unsigned misalignment = 0;           // values that the input begins past a 16-byte border, 0 to 3
  unsigned repeats = 8;                // of the determinism probe, at least 1; all are judged
  std::optional<Thoroughness> verify;  // by known answers, beside the data; absent: not
  Sampling sampling;
  bool counted = false;  // what the stages do, after all of them are timed
  bool timed = true;     // false: no ceilings and no times, as a profiler wants it
};

struct PlannedStage {
  const Stage* stage = nullptr;
  Plan plan;
  std::optional<std::string> obstacle;  // why the stage cannot run here; it has no plan then
};

// The chosen stages over n values. Throws UsageError if one cannot run over so many.
std::vector<PlannedStage> plan_stages(const Device& device, Index n, const Climb& what);

// Called with what is about to happen; for a person who waits.
using Progress = std::function<void(std::string_view)>;

// Asked before every run: whether to stop there, with a report of the stages that are done.
using Interrupted = std::function<bool()>;

// Throws what plan_stages() throws, CudaError, OutOfMemoryError. A SimulatorFault makes its stage
// fail, with the fault as the note.
Report climb(
    Device& device, const Input& input, const Climb& what, const Progress& progress,
    const Interrupted& interrupted = [] { return false; });

// Counts runs of stages: by the simulator, with the launches of the device, and on a GPU also by
// its own counters.
class Counting {
 public:
  // The device, with `input` loaded.
  Counting(Device& device, const Input& input, unsigned misalignment);

  // Of a stage that the device can run. Throws CudaError.
  Evidence count(const Stage& stage, const Plan& plan);
  // Why some are missing, else empty.
  [[nodiscard]] const std::string& note() const { return note_; }
  void add_note(const std::string& text);

 private:
  Device& device_;
  std::unique_ptr<Device> simulator_;  // beside a GPU
  std::string note_;
};

// The chosen stages, and those that they change. Throws what plan_stages() throws.
std::vector<PlannedStage> plan_explanation(const Device& device, Index n, Climb what);

// Counts stages as they are asked for, each once, and says what that shows.
class Explainer {
 public:
  // By what plan_explanation() made for them. The device outlives this; so does `input`, which is
  // loaded. Throws OutOfMemoryError.
  Explainer(Device& device, const Input& input, std::vector<PlannedStage> planned,
            unsigned misalignment, Progress progress);

  // Of a stage that was chosen. Throws CudaError.
  std::string explain(int number, const TextStyle& style);
  // Why counters of a GPU are missing, else empty.
  [[nodiscard]] const std::string& note() const { return counting_.note(); }

 private:
  const Evidence& evidence(int number);

  Device& device_;
  Index n_;
  std::vector<PlannedStage> planned_;
  Progress progress_;
  Counting counting_;
  std::map<int, Evidence> counted_;
};

}  // namespace reduce_ladder
