// The harness over stages that are wrong on purpose: each has to be judged FAILED.
#include "ladder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "reduce_ladder/errors.hpp"

namespace reduce_ladder {
namespace {

Plan one_pass(Index n, const Shape& shape) {
  return {.passes = {{.n = n, .grid = 1, .block = shape.block, .shared_values = 0, .depth = 10}}};
}

constexpr float kWritesNothing = -1;

// A device that answers what the test tells it to.
class ScriptedDevice final : public Device {
 public:
  explicit ScriptedDevice(std::vector<float> answers) : answers_(std::move(answers)) {}
  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] std::span<const Stage> stages() const override { return {&stage_, 1}; }
  void load(std::span<const float> /*values*/) override {}
  float run(const Stage& /*stage*/, const Plan& /*plan*/, float poison) override {
    if (answers_.empty()) throw SimulatorFault("block 0: somebody waits");
    const float answer = answers_[next_++ % answers_.size()];
    return answer == kWritesNothing ? poison : answer;
  }
  std::optional<Samples> time(const Stage& /*stage*/, const Plan& /*plan*/,
                              const Sampling& /*sampling*/) override {
    return Samples{{3e-6, 1e-6, 2e-6}, 0, true};
  }
  std::optional<CopySamples> time_copy(const Sampling& /*sampling*/) override {
    return CopySamples{1000, {{1e-6}, 0, true}};
  }
  std::optional<ReadSamples> time_read(Index n, const Sampling& /*sampling*/) override {
    return ReadSamples{n * sizeof(float), "scripted", {{1e-6}, 0, true}};
  }
  std::optional<Samples> time_empty_launch(const Sampling& /*sampling*/) override {
    return Samples{{5e-7}, 0, true};
  }
  [[nodiscard]] std::optional<MachineState> state() const override {
    MachineState state;
    state.sm_clock = 1e9;
    return state;
  }

 private:
  DeviceInfo info_;
  std::vector<float> answers_;
  std::size_t next_ = 0;
  Stage stage_{1, "scripted", "-", "-", Determinism::run_to_run, one_pass, nullptr};
};

Climb only_stage_one(unsigned block, unsigned repeats) {
  Climb what;
  what.stages = {1};
  what.block = block;
  what.repeats = repeats;
  return what;
}

Report climb_over(std::vector<float> answers, float value = 2.5F) {
  ScriptedDevice device(std::move(answers));
  Input input;
  input.info.n = 4;
  input.storage = std::make_unique<float[]>(4);
  std::fill_n(input.storage.get(), 4, value);
  return climb(device, input, only_stage_one(256, 4), [](std::string_view) {});
}

TEST(Ladder, FailsAStageThatIsRight) {
  const Report report = climb_over({10.0F});
  EXPECT_TRUE(passed(report));
  ASSERT_TRUE(report.stages[0].time && report.copy && report.read && report.floor);
  EXPECT_TRUE(report.state_before && report.state_after);
  EXPECT_EQ(report.stages[0].time->median, 2e-6);
  EXPECT_EQ(report.stages[0].launches, 1U);
  EXPECT_EQ(report.reference.sum, 10.0);
}

TEST(Ladder, Failure19_KernelThatNeverRanPasses) {
  // Also where the right answer is NaN, which is what the output is poisoned with otherwise.
  for (const float value : {2.5F, std::numeric_limits<float>::quiet_NaN()}) {
    const Report report = climb_over({kWritesNothing}, value);
    EXPECT_EQ(report.stages[0].verification.verdict, Verdict::failed) << value;
    EXPECT_FALSE(passed(report));
  }
}

TEST(Ladder, PassesAStageThatIsWrongInALaterRepeatOnly) {
  const Report report = climb_over({10.0F, 10.0F, 9.9F, 10.0F});
  EXPECT_EQ(report.stages[0].verification.verdict, Verdict::failed);
}

TEST(Ladder, PassesARefutedDeterminismClaim) {
  const Report report = climb_over({10.0F, std::nextafter(10.0F, 11.0F)});
  EXPECT_EQ(report.stages[0].verification.verdict, Verdict::passed);
  EXPECT_EQ(report.stages[0].probe.outcome, Probe::Outcome::refuted);
  EXPECT_FALSE(passed(report));
}

TEST(Ladder, GoesOnOrPassesWhenInterrupted) {
  ScriptedDevice device({10.0F});
  Input input;
  input.info.n = 4;
  input.storage = std::make_unique<float[]>(4);
  const Report report = climb(
      device, input, only_stage_one(256, 4), [](std::string_view) {}, [] { return true; });
  EXPECT_TRUE(report.incomplete);
  EXPECT_TRUE(report.stages.empty());
  EXPECT_FALSE(passed(report));
}

TEST(Ladder, EndsAtASimulatorFault) {
  const Report report = climb_over({});
  EXPECT_EQ(report.stages[0].verification.verdict, Verdict::failed);
  EXPECT_EQ(report.stages[0].verification.note, "block 0: somebody waits");
  EXPECT_FALSE(passed(report));
}

TEST(Ladder, Failure07_MoreBlocksThanTheGridHoldsAreLaunched) {
  const auto device = make_simulated_device(1);
  Input input;
  input.info.n = Index{1} << 40U;
  EXPECT_THROW(climb(*device, input, only_stage_one(32, 1), [](std::string_view) {}), UsageError);
}

}  // namespace
}  // namespace reduce_ladder
