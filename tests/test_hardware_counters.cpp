#include "hardware_counters.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "devices.hpp"

namespace reduce_ladder {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// What open() says; nothing if it does not throw.
std::string refusal(std::vector<std::string> libraries) {
  try {
    HardwareCounters::open(0, libraries);
  } catch (const CountersUnavailable& error) {
    return error.what();
  }
  return {};
}

std::string refusal_of_fake(int result) {
  void* const fake = ::dlopen(REDUCE_LADDER_FAKE_CUPTI, RTLD_NOW | RTLD_LOCAL);
  if (fake == nullptr) return ::dlerror();
  *static_cast<int*>(::dlsym(fake, "fake_cupti_result")) = result;
  const std::string text = refusal({REDUCE_LADDER_FAKE_CUPTI});
  ::dlclose(fake);
  return text;
}

TEST(HardwareCounters, HidesWhereItLookedForCuptiOrWhatToDo) {
  EXPECT_THAT(refusal({"libthere-is-none.so.1", "/there/is/none.so"}),
              AllOf(StartsWith("no hardware counters: "),
                    HasSubstr("libthere-is-none.so.1, /there/is/none.so"),
                    HasSubstr("LD_LIBRARY_PATH"), Not(HasSubstr("\n"))));
}

TEST(HardwareCounters, TakesAnyLibraryForCupti) {
  EXPECT_THAT(refusal({"libc.so.6"}), HasSubstr("CUDA 12.6 or later"));
}

TEST(HardwareCounters, LooksInTheToolkitBeforeTheSystem) {
  const auto libraries = HardwareCounters::default_libraries();
  ASSERT_GT(libraries.size(), 1U);
  EXPECT_THAT(libraries.front(), StartsWith("libcupti.so."));
  for (const std::string& library : libraries.subspan(1)) {
    EXPECT_THAT(library, AllOf(StartsWith("/"), EndsWith("/" + libraries.front())));
  }
}

TEST(HardwareCounters, DoesNotSayHowToGetThePrivilege) {
  EXPECT_THAT(refusal_of_fake(35),
              AllOf(HasSubstr("cuptiProfilerInitialize: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, more "
                              "permission is needed ("),
                    HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"), Not(HasSubstr("\n"))));
}

TEST(HardwareCounters, DoesNotSuspectAnotherProfiler) {
  EXPECT_THAT(refusal_of_fake(26), HasSubstr("ncu"));  // CUPTI_ERROR_HARDWARE_BUSY
  EXPECT_THAT(refusal_of_fake(39), HasSubstr("ncu"));  // ..._MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
  EXPECT_THAT(refusal_of_fake(999), HasSubstr("profiler"));  // CUPTI_ERROR_UNKNOWN
}

TEST(HardwareCounters, RepeatsTheWordsOfAnError) {
  EXPECT_THAT(refusal_of_fake(39), HasSubstr("cuptiProfilerInitialize: CUPTI_ERROR_OTHER ("));
}

// A GPU over 100,000 ones, whose counters may be read.
class GpuHardwareCounters : public ::testing::Test {
 protected:
  void SetUp() override {
    USE_DEVICE_OR_SKIP(device, DeviceKind::cuda);
    try {
      counters_ = HardwareCounters::open(device.info().cuda->ordinal);
    } catch (const CountersUnavailable& error) {
      GTEST_SKIP() << "SKIPPED, COUNTERS NOT TESTED: " << error.what();
    }
    device_ = &device;
    device.load(values_);
  }

  [[nodiscard]] Plan plan(const Stage& stage) const {
    return stage.plan(values_.size(), {.block = {}, .machine = device_->info().machine});
  }
  [[nodiscard]] const Stage& stage(int number) const {
    return *std::ranges::find(device_->stages(), number, &Stage::number);
  }

  Device* device_ = nullptr;
  std::unique_ptr<HardwareCounters> counters_;

 private:
  std::vector<float> values_ = std::vector<float>(100'000, 1.0F);
};

TEST_F(GpuHardwareCounters, MissesALaunchOrTakesAMemsetForOne) {
  for (const Stage& stage : device_->stages()) {
    if (is_reference(stage) || device_->obstacle(stage)) continue;
    SCOPED_TRACE(stage.name);
    const std::vector<Pass> passes = plan(stage).passes;
    const std::vector<LaunchCounters> launches = device_->count(stage, plan(stage));
    ASSERT_EQ(launches.size(), passes.size());
    for (std::size_t i = 0; i < passes.size(); ++i) {
      EXPECT_EQ(launches[i][Counter::blocks], passes[i].grid);
      EXPECT_EQ(launches[i][Counter::warps], passes[i].grid * (passes[i].block / 32));
      EXPECT_GT(launches[i][Counter::warp_instructions], launches[i][Counter::warps]);
    }
  }
}

TEST_F(GpuHardwareCounters, ChangesWhatAStageGives) {
  for (const int number : {1, 9, 11, 12}) {
    SCOPED_TRACE(number);
    const Plan plan = this->plan(stage(number));
    EXPECT_EQ(device_->run(stage(number), plan), 100'000);
    device_->count(stage(number), plan);
    EXPECT_EQ(device_->run(stage(number), plan), 100'000);
  }
}

TEST_F(GpuHardwareCounters, DropsMoreThanTheMetricThatThereIsNot) {
  const Plan plan = this->plan(stage(3));
  const std::vector<std::string_view> metrics = {"smsp__inst_executed.sum", "there__is_none.sum",
                                                 "sm__ctas_launched.sum"};
  for (const auto replay : {HardwareCounters::Replay::kernels, HardwareCounters::Replay::runs}) {
    const auto launches = counters_->measure(
        metrics, [&] { device_->run(stage(3), plan); }, {}, replay);
    ASSERT_EQ(launches.size(), plan.passes.size());
    EXPECT_TRUE(launches[0][0].has_value());
    EXPECT_FALSE(launches[0][1].has_value());
    EXPECT_EQ(launches[0][2], plan.passes[0].grid);
  }
}

TEST_F(GpuHardwareCounters, LosesLaunchesInSilence) {
  const Plan plan = this->plan(stage(9));
  const std::vector<std::string_view> metrics = {"sm__ctas_launched.sum"};
  const auto launch = [&](std::size_t launches) {
    return [&, launches] {
      for (std::size_t i = 0; i < launches; ++i) device_->run(stage(9), plan);
    };
  };
  constexpr std::size_t kMost = HardwareCounters::kMaxLaunches;
  EXPECT_EQ(counters_->measure(metrics, launch(kMost)).size(), kMost);
  EXPECT_THROW(counters_->measure(metrics, launch(kMost + 1)), CountersUnavailable);
}

TEST_F(GpuHardwareCounters, CannotBeReadAgainAfterTheWorkFailed) {
  const std::vector<std::string_view> metrics = {"sm__ctas_launched.sum"};
  EXPECT_THROW(counters_->measure(metrics, [] { throw std::runtime_error("the work failed"); }),
               std::runtime_error);
  const Plan plan = this->plan(stage(9));
  EXPECT_EQ(counters_->measure(metrics, [&] { device_->run(stage(9), plan); }).size(), 1U);
}

}  // namespace
}  // namespace reduce_ladder
