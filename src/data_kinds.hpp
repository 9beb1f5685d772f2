// The kinds of values that can be generated: easy ones, and ones on which sums go wrong.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "reduce_ladder/stage.hpp"

namespace reduce_ladder {

// What values are drawn from.
struct Draw {
  std::uint64_t seed = 0;
  Index n = 0;
};

// Values are made of bits and of whole numbers that float32 holds, without a rounding and without
// the functions of the C library, so that they are the same on every machine.
struct DataKind {
  std::string_view name;    // as --data takes it
  std::string_view source;  // the name with its meaning, as reports show it; up to 50 characters
  // Writes the values at positions begin, begin + 1, ... below draw.n, in whatever pieces they are
  // asked for. May be called from several threads.
  void (*fill)(const Draw& draw, Index begin, std::span<float> out);
  // Value i is a function of the seed, n and i; otherwise of the seed and i alone, so that a
  // shorter input is the beginning of a longer one.
  bool depends_on_n = false;
};

// All of them, the default first.
std::span<const DataKind> data_kinds();

// The kind of this name; null where there is none.
const DataKind* find_data_kind(std::string_view name);

}  // namespace reduce_ladder
