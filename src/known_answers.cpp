#include "known_answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "host_memory.hpp"
#include "parallel.hpp"
#include "reduce_ladder/errors.hpp"
#include "reference.hpp"
#include "splitmix.hpp"
#include "verify.hpp"

namespace reduce_ladder {
namespace {

constexpr std::uint64_t kSeed = 2024;
constexpr Index kStructuralSize = 70'001;  // more than one block everywhere, and odd
constexpr Index kFewerSize = 4099;

// Makes values of a function of the position.
template <typename Value>
Fill fill_with(Value value) {
  return [value](Index begin, std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = value(begin + i);
  };
}

// Data and the one right sum.
struct Question {
  std::string name;
  Index n = 0;
  Fill fill;
  std::optional<float> right = std::nullopt;  // absent: of the reference, once that is computed
  // Only for stages that promise more than float32 does, and judged by what they promise.
  bool beyond_float32 = false;
  std::optional<Reference> reference = std::nullopt;
};

// Asks all stages, and collects their answers.
class Examiner {
 public:
  Examiner(Device& device, std::span<const PlannedStage> planned, const Progress& progress,
           const Interrupted& interrupted)
      : device_(device),
        planned_(planned),
        progress_(progress),
        interrupted_(interrupted),
        answers_(planned.size()) {}

  // `shape` is what the launches are planned by. False if interrupted.
  bool ask(Question& question, const Shape& shape, unsigned misalignment) {
    if (std::ranges::none_of(planned_,
                             [&](const PlannedStage& p) { return concerns(question, p); })) {
      return true;
    }
    // First, since values that have no room on the device would take long to add.
    load_padded(question, misalignment);
    if (!question.right) {
      question.reference = question.n > kMostHeld
                               ? compute_reference(question.n, question.fill)
                               : compute_reference(std::span<const float>(held_.get(), question.n));
      question.right = question.reference->sum_as_float;
    }
    for (std::size_t i = 0; i < planned_.size(); ++i) {
      if (interrupted_()) return false;
      const Stage& stage = *planned_[i].stage;
      if (!concerns(question, planned_[i])) continue;
      progress_(fmt::format("stage {}: known answer, {}", stage.name, question.name));
      const std::string wrong = answer(stage, question, shape);
      ++answers_[i].runs;
      if (wrong.empty()) continue;
      if (answers_[i].wrong++ == 0) {
        answers_[i].first_wrong = fmt::format(
            "{} of {}{}{}: {}", question.name, question.n,
            shape.block ? fmt::format(", block {}", *shape.block) : "",
            misalignment > 0 ? fmt::format(", base {} past a border", misalignment) : "", wrong);
      }
    }
    return true;
  }

  [[nodiscard]] std::vector<KnownAnswers> answers() && { return std::move(answers_); }

 private:
  static bool concerns(const Question& question, const PlannedStage& planned) {
    return !planned.obstacle &&
           !(question.beyond_float32 && planned.stage->accumulation == Accumulation::fp32);
  }

  // With NaN behind the last value, where the values are held.
  void load_padded(const Question& question, unsigned misalignment) {
    const Index n = question.n;
    if (n > kMostHeld) {
      device_.load(n, question.fill, misalignment);
      return;
    }
    constexpr Index kPadding = Index{2} * kMaxBlock;
    held_.reset();  // before there are others beside them
    held_ = allocate_values(n + kPadding);
    const std::span<float> padded(held_.get(), n + kPadding);
    fill_in_parallel(question.fill, 0, padded.first(n));
    std::ranges::fill(padded.subspan(n), Device::kNan);
    device_.load(padded, misalignment);
  }

  // What is wrong with the answer; empty if nothing is.
  std::string answer(const Stage& stage, const Question& question, const Shape& shape) {
    try {
      const Plan plan = stage.plan(question.n, shape);
      const float right = question.right.value_or(0);
      const float result = device_.run(stage, plan, std::isnan(right) ? 0.0F : Device::kNan);
      if (question.beyond_float32) {
        return verify(std::span(&result, 1), *question.reference, stage, plan).note;
      }
      const bool same = std::isnan(right) ? std::isnan(result) : result == right;
      return same ? "" : fmt::format("{:.9g} where {:.9g} is right", result, right);
    } catch (const SimulatorFault& fault) {
      return fault.what();
    }
  }

  Device& device_;
  std::span<const PlannedStage> planned_;
  const Progress& progress_;
  const Interrupted& interrupted_;
  std::unique_ptr<float[]> held_;  // what the device has loaded
  std::vector<KnownAnswers> answers_;
};

Question whole_numbers(Index n) {
  return {.name = "whole numbers", .n = n, .fill = exact_integers(n, kSeed)};
}

// Over two sizes, of three seeds each: rounding errors may cancel, too, and a bound grows with n
// faster than they do, so that once in a while a sum in float32 is right.
bool ask_cancelling(Examiner& examiner, Index most, const Shape& shape, unsigned misalignment) {
  for (const Index n : std::set<Index>{std::min(most, kFewerSize), most}) {
    for (std::uint64_t seed = kSeed; seed < kSeed + 3; ++seed) {
      Question question = {.name = "cancelling numbers",
                           .n = n,
                           .fill = cancelling_integers(n, seed),
                           .beyond_float32 = true};
      if (!examiner.ask(question, shape, misalignment)) return false;
    }
  }
  return true;
}

// One value that is not like the others.
Question odd_one_out(Index n, std::string_view what, Index place, float others, float odd,
                     float right) {
  return {.name = fmt::format("one {}, at {},", what, place),
          .n = n,
          .fill = fill_with([=](Index i) { return i == place ? odd : others; }),
          .right = right};
}

// Places from 0 to n - 1, of those that one may lose.
std::set<Index> places(Index n, unsigned block, Thoroughness thoroughness) {
  std::set<Index> all = {0, n / 2, n - 1};
  if (thoroughness == Thoroughness::full) all.insert({1, 31, 32, block - 1, block, n - 2});
  all.erase(all.lower_bound(n), all.end());
  return all;
}

// One value that counts, at ends and borders. False if interrupted.
bool ask_structural(Examiner& examiner, Index n, const Shape& shape, Thoroughness thoroughness) {
  const std::set<Index> all = places(n, shape.threads(), thoroughness);
  for (unsigned misalignment = 0; misalignment <= kMaxMisalignment; ++misalignment) {
    for (const Index place : all) {
      constexpr float kNan = Device::kNan;
      Question one = odd_one_out(n, "1", place, 0, 1, 1);
      Question nan = odd_one_out(n, "NaN", place, 1, kNan, kNan);
      if (!examiner.ask(one, shape, misalignment) || !examiner.ask(nan, shape, misalignment)) {
        return false;
      }
    }
  }
  return true;
}

bool ask_all(Examiner& examiner, const Shape& shape, Index n, unsigned asked_misalignment,
             Thoroughness thoroughness) {
  Question whole = whole_numbers(n);
  if (!examiner.ask(whole, shape, asked_misalignment)) return false;
  if (n > 0) {
    const Index small = (std::min(n, kStructuralSize) - 1) | 1U;  // odd, so that there is a tail
    if (!ask_structural(examiner, small, shape, Thoroughness::quick)) return false;
    if (!ask_cancelling(examiner, small, shape, asked_misalignment)) return false;
  }
  if (thoroughness == Thoroughness::quick) return true;

  for (unsigned misalignment = 0; misalignment <= kMaxMisalignment; ++misalignment) {
    if (misalignment == asked_misalignment) continue;
    if (!examiner.ask(whole, shape, misalignment)) return false;
  }
  for (unsigned block = kMinBlock; block <= kMaxBlock; block *= 2) {
    const Shape other{.block = block, .machine = shape.machine};
    if (!examiner.ask(whole, other, 0)) return false;
    for (const Index size : {Index{1}, Index{2}, Index{31}, Index{33}, Index{block} - 1,
                             Index{block} + 1, Index{2} * block + 1}) {
      if (!ask_structural(examiner, size, other, Thoroughness::full)) return false;
    }
    for (const Index size : {kFewerSize, kStructuralSize}) {
      if (!ask_structural(examiner, size, other, Thoroughness::quick)) return false;
    }
    if (!ask_cancelling(examiner, kStructuralSize, other, 1)) return false;
  }
  return true;
}

}  // namespace

Fill exact_integers(Index n, std::uint64_t seed) {
  constexpr double kExact = 0x1p24;
  const double most =
      std::floor(kExact / (8 * std::sqrt(static_cast<double>(std::max<Index>(n, 1)))));
  const auto m = static_cast<std::uint64_t>(std::max(most, 1.0));
  const std::uint64_t key = splitmix64(seed);
  return fill_with([=](Index i) {
    const std::uint64_t bits = splitmix64(key + i);
    const auto magnitude = static_cast<float>((bits >> 1U) % m + 1);
    return (bits & 1U) != 0 ? magnitude : -magnitude;
  });
}

Fill cancelling_integers(Index n, std::uint64_t seed) {
  constexpr std::uint64_t kOneOf = 256;  // pairs, of which one leaves something
  const std::uint64_t key = splitmix64(seed);
  return fill_with([=](Index i) {
    const Index mirrored = n - 1 - i;
    if (i == mirrored) return 1.0F;
    const std::uint64_t bits = splitmix64(key + std::min(i, mirrored));
    const auto small = static_cast<float>(bits % 8);
    if (bits / 8 % kOneOf == 0) return i < mirrored ? small : 0.0F;
    const auto large = static_cast<float>(bits >> 40U);
    return i < mirrored ? large : -large;
  });
}

std::vector<KnownAnswers> check_known_answers(Device& device, std::span<const PlannedStage> planned,
                                              Index n, const Climb& what, const Progress& progress,
                                              const Interrupted& interrupted) {
  Examiner examiner(device, planned, progress, interrupted);
  const Shape shape{.block = what.block, .machine = device.info().machine, .grid = what.grid};
  const Thoroughness thoroughness = what.verify.value_or(Thoroughness::quick);
  if (!ask_all(examiner, shape, n, what.misalignment, thoroughness)) return {};
  return std::move(examiner).answers();
}

}  // namespace reduce_ladder
