// The words that the text report and the JSON share.
#pragma once

#include <string_view>

#include "reduce_ladder/results.hpp"

namespace reduce_ladder {

constexpr std::string_view to_word(Determinism determinism) {
  switch (determinism) {
    case Determinism::not_guaranteed:
      return "not_guaranteed";
    case Determinism::run_to_run:
      return "run_to_run";
    case Determinism::gpu_to_gpu:
      break;
  }
  return "gpu_to_gpu";
}

constexpr std::string_view to_word(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed:
      return "passed";
    case Verdict::failed:
      return "failed";
    case Verdict::skipped:
      break;
  }
  return "skipped";
}

constexpr std::string_view to_word(Probe::Outcome outcome) {
  switch (outcome) {
    case Probe::Outcome::held:
      return "held";
    case Probe::Outcome::refuted:
      return "refuted";
    case Probe::Outcome::unclaimed:
      return "unclaimed";
    case Probe::Outcome::untested:
      break;
  }
  return "untested";
}

constexpr std::string_view to_word(Accumulation accumulation) {
  switch (accumulation) {
    case Accumulation::fp32:
      return "fp32";
    case Accumulation::fp64:
      return "fp64";
    case Accumulation::compensated:
      return "compensated";
    case Accumulation::exact:
      break;
  }
  return "exact";
}

constexpr std::string_view to_word(Thoroughness thoroughness) {
  return thoroughness == Thoroughness::quick ? "quick" : "full";
}

constexpr std::string_view to_word(CacheMode cache) {
  return cache == CacheMode::cold ? "cold" : "warm";
}

}  // namespace reduce_ladder
