// The contract between kernels and harness: what a stage is, how it cuts a problem into launches,
// and what it needs to run. Nothing here knows CUDA or the simulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reduce_ladder {

// Counts and positions of elements; 64 bits, so that arithmetic is safe past 2^32 elements.
using Index = std::uint64_t;

// Block sizes that every stage supports: powers of two from one warp to the hardware's limit.
inline constexpr unsigned kMinBlock = 32;
inline constexpr unsigned kMaxBlock = 1024;
inline constexpr unsigned kDefaultBlock = 256;

// The largest grid that CUDA launches in x.
inline constexpr Index kMaxGrid = std::numeric_limits<std::int32_t>::max();

// What a stage promises about the bits of its result (the vocabulary of CUB's determinism
// guarantees).
enum class Determinism {
  not_guaranteed,  // the order of the additions may change from run to run
  run_to_run,      // same bits on the same device with the same launch shape
  gpu_to_gpu,      // same bits whatever the launch shape or the device
};

// What a stage adds in, which decides how far off its result may be.
enum class Accumulation {
  fp32,         // float32
  fp64,         // double, rounded to float32 once
  compensated,  // float32, with the error of every addition beside it (FastTwoSum)
  exact,        // nothing is rounded but the result
};

// What a stage pays less of than the one that it changes; what each means is in src/evidence.cpp.
enum class Cost {
  none,  // nothing that is counted
  blocks,
  block_barriers,
  shared_instructions,
  bank_conflicts,
  instructions,
  load_instructions,
  atomics,
  launches,
};

// How much of the machine one launch can occupy; all that launch geometry needs to know of a
// device.
struct Machine {
  unsigned multiprocessors = 1;
  unsigned threads_per_multiprocessor = kMaxBlock;  // resident at once
  unsigned blocks_per_multiprocessor = 1;           // resident at once
};

// What the user and the device give a stage to plan with.
struct Shape {
  std::optional<unsigned> block;  // threads a block; the stage's choice if absent
  Machine machine;
  std::optional<unsigned> grid = std::nullopt;  // blocks, for stages whose grid is free; likewise

  [[nodiscard]] unsigned threads() const { return block.value_or(kDefaultBlock); }
};

// A word of device memory that blocks of one launch share: counters, flags.
using ControlWord = unsigned long long;  // NOLINT(google-runtime-int): CUDA's type for atomics

// One kernel launch: reduces `n` values to `grid` partials.
struct Pass {
  Index n = 0;
  unsigned grid = 1;           // blocks
  unsigned block = 0;          // threads a block
  unsigned shared_values = 0;  // values of dynamic shared memory a block
  Index depth = 0;             // additions that round, on the longest path from input to partial
};

// All launches of one run, in order. The first pass reads the input and the last one leaves one
// value.
struct Plan {
  std::vector<Pass> passes;
  // Additions that the last pass makes by atomicAdd, one after the other in any order. A GPU
  // flushes subnormal operands and results of these to zero (PTX ISA, atom.add.f32 on global
  // memory).
  Index atomic_depth = 0;
  // Values of scratch beside the partials.
  Index scratch = 0;
  // Words that are zero before the first run and that every run leaves at zero.
  std::size_t control = 0;

  // h of the error bound: additions on the longest path of the whole tree.
  [[nodiscard]] Index depth() const;
  // Values that the partials of all passes and the scratch need.
  [[nodiscard]] Index workspace() const;
};

// Device addresses for one run. `input` holds n values at any address that suits one of them,
// `workspace` at least Plan::workspace() values and `control` Plan::control words, both at an
// address that suits anything. `queue` is the backend's own: a cudaStream_t, or the simulator. The
// result goes to *output.
template <typename T>
struct Problem {
  const T* input = nullptr;
  T* workspace = nullptr;
  T* output = nullptr;
  ControlWord* control = nullptr;
  void* queue = nullptr;
};

// A sum that the ladder is held against, not one of its rungs, has this instead of a number.
inline constexpr int kReferenceNumber = std::numeric_limits<int>::max();

// One rung of the ladder, as a sum of float32. `launch` only queues work; everything that must be
// zeroed is queued there too, so that it is part of the stage's time.
struct Stage {
  int number = 0;            // unique, ascending in the table
  std::string_view name;     // as typed after --stages
  std::string_view idea;     // the one thing that this rung does differently
  std::string_view removes;  // the cost of the rung before that is gone
  Determinism determinism = Determinism::run_to_run;
  // Throws UsageError past kMaxGrid, or for a grid that cannot be.
  Plan (*plan)(Index n, const Shape& shape) = nullptr;
  void (*launch)(const Plan& plan, const Problem<float>& problem) = nullptr;
  // 10 x major + minor of the lowest compute capability that runs it; 0: the simulator does, too.
  int compute_capability = 0;
  Accumulation accumulation = Accumulation::fp32;
  Cost cost = Cost::none;  // that it removes, as counters see it
  int changes = -1;        // the number of the stage that it changes; -1: the one before
};

// The nine rungs that everybody knows; the rest of the table is the modern part.
constexpr bool is_classic(const Stage& stage) {
  return stage.number >= 1 && stage.number <= 9;
}
constexpr bool is_reference(const Stage& stage) {
  return stage.number == kReferenceNumber;
}

// The table of stages in reading order, once for each backend. stages_cuda() exists only in a build
// with CUDA.
std::span<const Stage> stages_cuda();
std::span<const Stage> stages_simulated();
// The simulator's once more, of kernels that can be counted and checked.
std::span<const Stage> stages_observed();

// Of the CUB that the reference stage is made of, "3.0.1". Only in a build with CUDA.
std::string cub_version();

}  // namespace reduce_ladder
