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
  return {.passes = {{.n = n,
                      .grid = shape.grid.value_or(1),
                      .block = shape.threads(),
                      .shared_values = 0,
                      .depth = 10}}};
}

// As of a library, which does not say how it launches.
Plan no_shape(Index n, const Shape& /*shape*/) {
  return {.passes = {{.n = n, .grid = 1, .block = 0, .shared_values = 0, .depth = 10}}};
}

Plan must_not_be_planned(Index /*n*/, const Shape& /*shape*/) {
  ADD_FAILURE() << "a stage that cannot run is planned";
  return {};
}

constexpr float kWritesNothing = -1;

// A device that answers what the test tells it to.
class ScriptedDevice final : public Device {
 public:
  explicit ScriptedDevice(std::vector<float> answers) : answers_(std::move(answers)) {}
  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] std::span<const Stage> stages() const override { return stages_; }
  using Device::load;
  void load(std::span<const float> /*values*/, unsigned misalignment) override {
    loaded_at = misalignment;
    ++loads;
  }
  void load(Index /*n*/, const Fill& /*fill*/, unsigned misalignment) override {
    loaded_at = misalignment;
    ++loads;
  }
  float run(const Stage& stage, const Plan& /*plan*/, float poison) override {
    ran.push_back(stage.number);
    if (answers_.empty()) throw SimulatorFault("block 0: somebody waits");
    const float answer = answers_[next_++ % answers_.size()];
    return answer == kWritesNothing ? poison : answer;
  }
  std::vector<LaunchCounters> count(const Stage& /*stage*/, const Plan& /*plan*/) override {
    return {};
  }
  std::optional<Samples> time(const Stage& stage, const Plan& /*plan*/,
                              const Sampling& /*sampling*/) override {
    ran.push_back(stage.number);
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

  void become_a_gpu(int major, int minor) {
    info_.cuda = CudaInfo{};
    info_.cuda->compute_major = major;
    info_.cuda->compute_minor = minor;
  }

  std::vector<int> ran;  // the stage of each run and of each timing
  unsigned loaded_at = 0;
  unsigned loads = 0;

 private:
  DeviceInfo info_;
  std::vector<float> answers_;
  std::size_t next_ = 0;
  std::vector<Stage> stages_ = {
      {1, "scripted", "-", "-", Determinism::run_to_run, one_pass, nullptr},
      {2, "too-new", "-", "-", Determinism::run_to_run, must_not_be_planned, nullptr, 90},
      {3, "library", "-", "-", Determinism::run_to_run, no_shape, nullptr},
      {4, "any-launch", "-", "-", Determinism::gpu_to_gpu, one_pass, nullptr, 0,
       Accumulation::exact}};
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

// The right sum of four values of 2.5, with one repeat.
Report climb_right(ScriptedDevice& device, std::vector<int> stages,
                   std::optional<unsigned> block = {}, std::optional<unsigned> grid = {}) {
  Climb what;
  what.stages = std::move(stages);
  what.block = block;
  what.grid = grid;
  what.repeats = 1;
  Input input;
  input.info.n = 4;
  input.storage = std::make_unique<float[]>(4);
  std::fill_n(input.storage.get(), 4, 2.5F);
  return climb(device, input, what, [](std::string_view) {});
}

TEST(Ladder, FailsAStageThatIsRight) {
  const Report report = climb_over({10.0F});
  EXPECT_TRUE(passed(report));
  ASSERT_TRUE(report.stages[0].time && report.copy && report.read && report.floor);
  EXPECT_TRUE(report.state_before && report.state_after);
  EXPECT_EQ(report.stages[0].time->median, 2e-6);
  EXPECT_EQ(report.stages[0].launches, 1U);
  EXPECT_EQ(report.reference->sum, 10.0);
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

// Two repeats of the stage that promises its bits to any launch and order, over four values. It
// runs over the reversed values, twice, by blocks of 32, 64, 128, 512 and 1024, and by grids of 7
// and 1000. Interrupted after so many questions.
Report climb_any_launch(ScriptedDevice& device, float value = 2.5F, unsigned questions = ~0U) {
  Climb what;
  what.stages = {4};
  what.repeats = 2;
  Input input;
  input.info.n = 4;
  input.storage = std::make_unique<float[]>(4);
  std::fill_n(input.storage.get(), 4, value);
  unsigned asked = 0;
  return climb(
      device, input, what, [](std::string_view) {}, [&] { return asked++ >= questions; });
}

TEST(Ladder, CountsAShapeOfLaunchTwiceOrARunOfAnotherOneAsARepeat) {
  ScriptedDevice device({10.0F});
  const Report report = climb_any_launch(device);
  const Probe& probe = report.stages[0].probe;
  EXPECT_EQ(probe.shapes, 8U);
  EXPECT_EQ(probe.repeats, 2U);
  EXPECT_TRUE(probe.permuted);
  EXPECT_EQ(device.ran.size(), 1U + 2U + 7U + 1U) << "the last one is timed";
}

TEST(Ladder, CallsAFailureInAnotherShapeOrOrderARepeat) {
  const std::pair<std::size_t, const char*> labels[] = {
      {0, " (reversed order)"}, {2, " (repeat 2 of 2)"}, {3, " (block 32)"},
      {7, " (block 1024)"},     {8, " (grid 7)"},        {9, " (grid 1000)"}};
  for (const auto& [run, label] : labels) {
    std::vector<float> answers(10, 10.0F);
    answers[run] = 11.0F;
    ScriptedDevice device(answers);
    const Report report = climb_any_launch(device);
    EXPECT_EQ(report.stages[0].verification.verdict, Verdict::failed) << label;
    EXPECT_THAT(report.stages[0].verification.note, ::testing::EndsWith(label));
    EXPECT_EQ(report.stages[0].probe.distinct, 2U) << label;
  }
}

TEST(Ladder, PassesAStageThatWritesNothingOverReversedValues) {
  for (const float value : {2.5F, std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> answers(10, 4 * value);
    answers[0] = kWritesNothing;
    ScriptedDevice device(answers);
    const Report report = climb_any_launch(device, value);
    EXPECT_EQ(report.stages[0].verification.verdict, Verdict::failed) << value;
  }
}

TEST(Ladder, LoadsAddsOrRunsAfterAnInterruption) {
  for (const unsigned questions : {0U, 1U, 2U, 3U, 4U}) {
    SCOPED_TRACE(questions);
    ScriptedDevice device({10.0F});
    const Report report = climb_any_launch(device, 2.5F, questions);
    EXPECT_TRUE(report.incomplete);
    EXPECT_TRUE(report.stages.empty());
    EXPECT_FALSE(report.copy) << "nothing is measured";
    EXPECT_EQ(device.loads, questions == 0 ? 0U : questions < 4 ? 1U : 2U);
    EXPECT_EQ(report.reference.has_value(), questions >= 2);
    EXPECT_EQ(device.ran.size(), questions < 3 ? 0U : 1U);
  }
}

TEST(Ladder, PlansRunsOrFailsAStageThatCannotRun) {
  ScriptedDevice device({10.0F});
  device.become_a_gpu(8, 9);
  const Report report = climb_right(device, {1, 2, 3});
  EXPECT_THAT(device.ran, ::testing::ElementsAre(1, 1, 3, 3)) << "once, and then timed";
  ASSERT_EQ(report.stages.size(), 3U);
  const StageResult& skipped = report.stages[1];
  EXPECT_EQ(skipped.stage->number, 2);
  EXPECT_FALSE(skipped.ran);
  EXPECT_EQ(skipped.verification.verdict, Verdict::skipped);
  EXPECT_EQ(skipped.verification.note,
            "needs a GPU of compute capability 9.0 or later; this one has 8.9");
  EXPECT_EQ(skipped.probe.outcome, Probe::Outcome::untested);
  EXPECT_EQ(skipped.probe.repeats, 0U);
  EXPECT_FALSE(skipped.time);
  EXPECT_TRUE(report.stages[0].ran && report.stages[2].ran);
  EXPECT_TRUE(passed(report));
}

TEST(Ladder, MisjudgesWhatADeviceCanRun) {
  ScriptedDevice device({10.0F});
  const Stage& anywhere = device.stages()[0];
  const Stage& too_new = device.stages()[1];
  EXPECT_EQ(device.obstacle(anywhere), std::nullopt);
  EXPECT_EQ(device.obstacle(too_new),
            "needs a GPU of compute capability 9.0 or later; this is the simulator");
  for (const auto& [major, minor] : {std::pair(9, 0), {9, 1}, {10, 0}, {12, 1}}) {
    device.become_a_gpu(major, minor);
    EXPECT_EQ(device.obstacle(too_new), std::nullopt) << major << '.' << minor;
  }
}

TEST(Ladder, LosesTheShapeThatWasAskedFor) {
  ScriptedDevice device({10.0F});
  const Report report = climb_right(device, {1}, 64, 7);
  EXPECT_EQ(report.block, 64U);
  EXPECT_EQ(report.grid, 7U);
  EXPECT_EQ(report.stages[0].block, 64U);
  EXPECT_EQ(report.stages[0].grid, 7U);
}

TEST(Ladder, LosesTheMisalignmentThatWasAskedFor) {
  ScriptedDevice device({10.0F});
  EXPECT_EQ(climb_right(device, {1}).input.misalignment, 0U);
  EXPECT_EQ(device.loaded_at, 0U);
  Climb what = only_stage_one(256, 1);
  what.misalignment = 3;
  const Report report =
      climb(device, generate_uniform(4, 42), what, [](std::string_view /*step*/) {});
  EXPECT_EQ(report.input.misalignment, 3U);
  EXPECT_EQ(device.loaded_at, 3U);
}

TEST(Ladder, InventsAShapeThatNobodyAskedForOrThatIsNotKnown) {
  ScriptedDevice device({10.0F});
  const Report report = climb_right(device, {1, 3});
  EXPECT_EQ(report.block, std::nullopt);
  EXPECT_EQ(report.grid, std::nullopt);
  EXPECT_EQ(report.stages[0].block, kDefaultBlock);
  EXPECT_EQ(report.stages[0].grid, 1U);
  const StageResult& library = report.stages[1];
  EXPECT_EQ(library.launches + library.grid + library.block, 0U);
  EXPECT_EQ(library.depth, 10U);
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
