// The values to sum: generated from a seed, or read from a file.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "data_kinds.hpp"
#include "reduce_ladder/device.hpp"
#include "reduce_ladder/fill.hpp"
#include "reduce_ladder/results.hpp"

namespace reduce_ladder {

// info.n values, held in memory or made where they are needed.
struct Input {
  InputInfo info;
  std::shared_ptr<float[]> storage;  // of values that are held
  Fill fill;                         // makes values that are not held; else empty
  bool has_prefixes = true;          // the first n values are those of an input of n

  // Of values that are held.
  [[nodiscard]] std::span<const float> values() const { return {storage.get(), info.n}; }
  // The first n values, in the same storage.
  [[nodiscard]] Input first(Index n) const;
};

// Up to so many generated values are held, 1 GiB of them: to make them twice, for the reference and
// for the device, would take longer. More would ask for a host with as much memory as the GPU.
constexpr Index kMostHeld = Index{1} << 28U;

// n values of this kind, the same on every machine; held if they are no more than `most_held`.
// Throws OutOfMemoryError.
Input generate(const DataKind& kind, Index n, std::uint64_t seed, Index most_held = kMostHeld);

// n values uniform in [0, 1), multiples of 2^-24, held. Value i is a function of seed and i alone.
// Throws OutOfMemoryError.
Input generate_uniform(Index n, std::uint64_t seed);

// Makes `input` the input of all later runs; see Device::load(). Or with the last value first.
void load(Device& device, const Input& input, unsigned misalignment);
void load_reversed(Device& device, const Input& input, unsigned misalignment);

// Reads .npy (NumPy format 1.0 to 3.0, little-endian float32, any shape, either order; values are
// taken in file order) or raw little-endian float32 (.f32, .bin). Throws InputError that names the
// file, what was found and what is allowed, and OutOfMemoryError.
Input read_input(const std::filesystem::path& path);

}  // namespace reduce_ladder
