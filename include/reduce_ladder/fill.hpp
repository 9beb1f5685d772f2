// Values that are made where they are needed, and again whenever they are, instead of being held.
#pragma once

#include <algorithm>
#include <functional>
#include <span>

#include "reduce_ladder/stage.hpp"

namespace reduce_ladder {

// Writes the values at positions begin, begin + 1, ... into all of `out`. Called from several
// threads at once.
using Fill = std::function<void(Index begin, std::span<float> out)>;

// Of values that are held; they have to outlive it.
inline Fill fill_from(std::span<const float> values) {
  return [values](Index begin, std::span<float> out) {
    std::ranges::copy(values.subspan(begin, out.size()), out.begin());
  };
}

}  // namespace reduce_ladder
