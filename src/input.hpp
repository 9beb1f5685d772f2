// The values to sum: generated from a seed, or read from a file.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "data_kinds.hpp"
#include "reduce_ladder/results.hpp"

namespace reduce_ladder {

struct Input {
  InputInfo info;
  std::shared_ptr<float[]> storage;  // info.n values
  bool has_prefixes = true;          // the first n values are those of an input of n

  [[nodiscard]] std::span<const float> values() const { return {storage.get(), info.n}; }
  // The first n values, in the same storage.
  [[nodiscard]] Input first(Index n) const;
};

// n values of this kind, the same on every machine. Throws OutOfMemoryError.
Input generate(const DataKind& kind, Index n, std::uint64_t seed);

// n values uniform in [0, 1), multiples of 2^-24. Value i is a function of seed and i alone. Throws
// OutOfMemoryError.
Input generate_uniform(Index n, std::uint64_t seed);

// Reads .npy (NumPy format 1.0 to 3.0, little-endian float32, any shape, either order; values are
// taken in file order) or raw little-endian float32 (.f32, .bin). Throws InputError that names the
// file, what was found and what is allowed, and OutOfMemoryError.
Input read_input(const std::filesystem::path& path);

}  // namespace reduce_ladder
