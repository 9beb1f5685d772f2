#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "nvml.hpp"

namespace reduce_ladder {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

// The GPUs of the fake library.
constexpr const char* kGpu = "0000:01:00.0";
constexpr const char* kSilentGpu = "0000:02:00.0";
constexpr const char* kIdleGpu = "0000:03:00.0";
constexpr const char* kGpuWithEveryReason = "0000:04:00.0";
constexpr const char* kGpuWithNewReasons = "0000:05:00.0";
constexpr const char* kNoGpu = "0000:99:00.0";

// Keeps the fake library loaded, so that what it counts outlives an Nvml.
class FakeNvml : public testing::Test {
 protected:
  FakeNvml() : library_(::dlopen(REDUCE_LADDER_FAKE_NVML, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw std::runtime_error(::dlerror());
  }
  ~FakeNvml() override {
    make_init_fail(false);
    ::dlclose(library_);
  }

  [[nodiscard]] int sessions() const {
    return *static_cast<int*>(::dlsym(library_, "fake_nvml_sessions"));
  }
  void make_init_fail(bool fails) {
    *static_cast<bool*>(::dlsym(library_, "fake_nvml_init_fails")) = fails;
  }

 private:
  void* library_;
};

std::optional<MachineState> state_of(const std::string& gpu,
                                     const std::string& library = REDUCE_LADDER_FAKE_NVML) {
  return Nvml(gpu, library).state();
}

TEST(Nvml, TellsSomethingWithoutALibrary) {
  EXPECT_FALSE(state_of(kGpu, "libthere-is-none.so.1").has_value());
}

TEST(Nvml, TakesAnyLibraryForNvml) {
  EXPECT_FALSE(state_of(kGpu, "libc.so.6").has_value());
}

TEST(Nvml, ThrowsWhereTheSystemHasNoLibraryOrNoSuchGpu) {
  EXPECT_NO_THROW(static_cast<void>(Nvml(kNoGpu).state()));
}

TEST_F(FakeNvml, TellsSomethingOfAGpuThatIsNotThere) {
  EXPECT_FALSE(state_of(kNoGpu).has_value());
}

TEST_F(FakeNvml, TellsSomethingThoughNvmlDidNotStart) {
  make_init_fail(true);
  EXPECT_FALSE(state_of(kGpu).has_value());
}

TEST_F(FakeNvml, ReadsAFieldWronglyOrInOtherUnits) {
  const auto state = state_of(kGpu);
  ASSERT_TRUE(state.has_value());
  EXPECT_THAT(state->sm_clock, Optional(DoubleEq(1.980e9)));
  EXPECT_THAT(state->memory_clock, Optional(DoubleEq(3.201e9)));
  EXPECT_THAT(state->power, Optional(DoubleEq(123.456)));
  EXPECT_THAT(state->temperature, Optional(DoubleEq(41)));
  EXPECT_THAT(state->throttle_reasons,
              Optional(ElementsAre("sw power cap", "hw thermal slowdown")));
}

TEST_F(FakeNvml, MakesUpWhatAGpuDoesNotAnswer) {
  const auto state = state_of(kSilentGpu);
  ASSERT_TRUE(state.has_value());
  EXPECT_FALSE(state->sm_clock.has_value());
  EXPECT_FALSE(state->memory_clock.has_value());
  EXPECT_FALSE(state->power.has_value());
  EXPECT_FALSE(state->temperature.has_value());
  EXPECT_FALSE(state->throttle_reasons.has_value());
}

TEST_F(FakeNvml, CallsAnIdleGpuThrottled) {
  const auto state = state_of(kIdleGpu);
  ASSERT_TRUE(state.has_value());
  EXPECT_THAT(state->throttle_reasons, Optional(IsEmpty()));
}

TEST_F(FakeNvml, HasTheWrongWordsForAReason) {
  const auto state = state_of(kGpuWithEveryReason);
  ASSERT_TRUE(state.has_value());
  EXPECT_THAT(state->throttle_reasons,
              Optional(ElementsAre("applications clocks setting", "sw power cap", "hw slowdown",
                                   "sync boost", "sw thermal slowdown", "hw thermal slowdown",
                                   "hw power brake slowdown", "display clock setting")));
}

TEST_F(FakeNvml, HidesReasonsThatItDoesNotKnow) {
  const auto state = state_of(kGpuWithNewReasons);
  ASSERT_TRUE(state.has_value());
  EXPECT_THAT(state->throttle_reasons, Optional(ElementsAre("sw power cap", "0x80010000")));
}

TEST_F(FakeNvml, LosesMoreThanTheFieldWhoseFunctionAnOldLibraryLacks) {
  const auto state = state_of(kGpu, REDUCE_LADDER_FAKE_OLD_NVML);
  ASSERT_TRUE(state.has_value());
  EXPECT_FALSE(state->temperature.has_value());
  EXPECT_TRUE(state->sm_clock.has_value());
  EXPECT_TRUE(state->memory_clock.has_value());
  EXPECT_TRUE(state->power.has_value());
}

TEST_F(FakeNvml, DoesNotAskAnOldLibraryForReasonsUnderTheOldName) {
  const auto state = state_of(kGpu, REDUCE_LADDER_FAKE_OLD_NVML);
  ASSERT_TRUE(state.has_value());
  EXPECT_THAT(state->throttle_reasons,
              Optional(ElementsAre("sw power cap", "hw thermal slowdown")));
}

TEST_F(FakeNvml, StaysInASessionAfterItIsGone) {
  {
    const Nvml first(kGpu, REDUCE_LADDER_FAKE_NVML);
    {
      const Nvml second(kNoGpu, REDUCE_LADDER_FAKE_NVML);
      EXPECT_EQ(sessions(), 2);
    }
    EXPECT_EQ(sessions(), 1);
    EXPECT_TRUE(first.state().has_value());
  }
  EXPECT_EQ(sessions(), 0);
}

TEST_F(FakeNvml, EndsASessionThatNeverBegan) {
  make_init_fail(true);
  { const Nvml nvml(kGpu, REDUCE_LADDER_FAKE_NVML); }
  EXPECT_EQ(sessions(), 0);
}

}  // namespace
}  // namespace reduce_ladder
