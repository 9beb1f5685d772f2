// The values to sum: generated from a seed, or read from a file.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "reduce_ladder/results.hpp"

namespace reduce_ladder {

struct Input {
  InputInfo info;
  std::unique_ptr<float[]> storage;  // info.n values

  [[nodiscard]] std::span<const float> values() const { return {storage.get(), info.n}; }
};

// n values uniform in [0, 1), multiples of 2^-24. Value i is a function of seed and i alone, so the
// same on every machine. Throws OutOfMemoryError.
Input generate_uniform(Index n, std::uint64_t seed);

// Reads .npy (NumPy format 1.0 to 3.0, little-endian float32, any shape, either order; values are
// taken in file order) or raw little-endian float32 (.f32, .bin). Throws InputError that names the
// file, what was found and what is allowed, and OutOfMemoryError.
Input read_input(const std::filesystem::path& path);

}  // namespace reduce_ladder
