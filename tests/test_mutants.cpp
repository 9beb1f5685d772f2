// The whole judge over sums that are wrong: one that passes is a hole in it.
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>

#include "devices.hpp"
#include "input.hpp"
#include "ladder.hpp"
#include "mutants.hpp"
#include "other_stages.hpp"

namespace reduce_ladder {
namespace {

std::span<const Stage> mutants(DeviceKind kind) {
#ifdef REDUCE_LADDER_TESTS_CUDA
  if (kind == DeviceKind::cuda) return testing::mutants_cuda();
#endif
  static_cast<void>(kind);
  return testing::mutants_simulated();
}

class Mutants : public ::testing::TestWithParam<DeviceKind> {
 protected:
  // Over values whose number is a multiple of the block, so that the timed data have no tail.
  static Report judge(Device& device, const Stage& mutant, Thoroughness thoroughness) {
    testing::OtherStages wrong(device, mutants(GetParam()));
    const Input input = generate_uniform(1U << 18U, 42);
    Climb what;
    what.stages = {mutant.number};
    what.repeats = 3;
    what.verify = thoroughness;
    what.sampling = {.warmups = 1, .min_samples = 3, .min_seconds = 0, .timeout_seconds = 0.01};
    return climb(wrong, input, what, [](std::string_view) {});
  }
};

TEST_P(Mutants, PassAQuickVerification) {
  // A device of its own: some leave the words that blocks share as they must not.
  USE_DEVICE_OR_SKIP(shared, GetParam());
  static_cast<void>(shared);
  for (const Stage& mutant : mutants(GetParam())) {
    const std::unique_ptr<Device> device =
        GetParam() == DeviceKind::cuda ? make_cuda_device(0) : make_simulated_device(5);
    const Report report = judge(*device, mutant, Thoroughness::quick);
    ASSERT_EQ(report.stages.size(), 1U);
    const Verification& verification = report.stages.front().verification;
    if (mutant.number == 0) {
      EXPECT_EQ(verification.verdict, Verdict::passed) << verification.note;
    } else {
      EXPECT_EQ(verification.verdict, Verdict::failed) << mutant.name << " gets through";
      EXPECT_NE(verification.note, "") << mutant.name;
    }
  }
}

TEST_P(Mutants, PromiseTheSameBitsForAnyShapeAndKeepItNot) {
  USE_DEVICE_OR_SKIP(device, GetParam());
  Stage boastful = mutants(GetParam()).front();
  boastful.determinism = Determinism::gpu_to_gpu;
  testing::OtherStages other(device, std::span(&boastful, 1));
  const Input input = generate_uniform(1U << 18U, 42);
  Climb what;
  what.stages = {boastful.number};
  const Report report = climb(other, input, what, [](std::string_view) {});
  EXPECT_EQ(report.stages.front().probe.outcome, Probe::Outcome::refuted);
  EXPECT_FALSE(passed(report));
}

INSTANTIATE_TEST_SUITE_P(Simulator, Mutants, ::testing::Values(DeviceKind::sim),
                         testing::kind_name);
#ifdef REDUCE_LADDER_TESTS_CUDA
INSTANTIATE_TEST_SUITE_P(Gpu, Mutants, ::testing::Values(DeviceKind::cuda), testing::kind_name);
#endif

}  // namespace
}  // namespace reduce_ladder
