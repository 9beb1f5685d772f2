// Small pieces of the texts for a person.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "reduce_ladder/stage.hpp"

namespace reduce_ladder {

// "16,777,216"
inline std::string with_separators(Index n) {
  std::string digits = fmt::format("{}", n);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

// The shortest decimal that reads back as `value`. NaN has a sign bit, which means nothing here.
template <typename T>
std::string shortest(T value) {
  return std::isnan(value) ? "nan" : fmt::format("{}", value);
}

// Nothing for 0, which stands for what is not known.
inline std::string known(unsigned value) {
  return value > 0 ? fmt::to_string(value) : "";
}

// "3 values past a 16-byte border"
inline std::string past_border(unsigned misalignment) {
  return fmt::format("{} {} past a 16-byte border", misalignment,
                     misalignment == 1 ? "value" : "values");
}

// A stage's number, or "ref".
inline std::string number_of(const Stage& stage) {
  return is_reference(stage) ? "ref" : fmt::format("{}", stage.number);
}

inline std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace reduce_ladder
