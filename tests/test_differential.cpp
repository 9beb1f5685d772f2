// Random cases, each judged against the exact sum. What fails is printed as a command that replays
// it. REDUCE_LADDER_CASES and REDUCE_LADDER_SEED choose other ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "devices.hpp"
#include "input.hpp"
#include "reference.hpp"
#include "splitmix.hpp"
#include "verify.hpp"

namespace reduce_ladder {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

struct Case {
  const Stage* stage = nullptr;
  const DataKind* data = nullptr;
  Index n = 0;
  std::optional<unsigned> block;
  unsigned misalignment = 0;
  std::uint64_t seed = 0;

  [[nodiscard]] std::string command(DeviceKind kind) const {
    return fmt::format(
        "reduce-ladder --stages {} --n {}{} --data {} --seed {} --misalign {} --device {}",
        stage->name, n, block ? fmt::format(" --block {}", *block) : "", data->name, seed,
        misalignment, kind == DeviceKind::cuda ? "cuda" : "sim");
  }
};

Case draw(std::span<const Stage* const> stages, std::uint64_t seed, std::uint64_t number) {
  std::uint64_t position = splitmix64(seed) + 16 * number;
  const auto random = [&position](std::uint64_t below) { return splitmix64(position++) % below; };
  constexpr std::array<std::optional<unsigned>, 7> kBlocks = {std::nullopt, 32,  64,  128,
                                                              256,          512, 1024};
  Case drawn;
  drawn.stage = stages[random(stages.size())];
  drawn.data = &data_kinds()[random(data_kinds().size())];
  // As often between 2^k and 2^(k + 1) for every k, and once in a while larger.
  const Index most = Index{1} << (random(64) == 0 ? 18 : random(15) + 1);
  drawn.n = random(most);
  drawn.block = kBlocks[random(kBlocks.size())];
  drawn.misalignment = static_cast<unsigned>(random(4));
  drawn.seed = random(1'000'000);
  return drawn;
}

class Differential : public ::testing::TestWithParam<DeviceKind> {};

TEST_P(Differential, AStageIsOutsideItsBoundOrOffByABitOfWhatIsExact) {
  USE_DEVICE_OR_SKIP(device, GetParam());
  std::vector<const Stage*> stages;
  for (const Stage& stage : device.stages()) {
    if (!device.obstacle(stage)) stages.push_back(&stage);
  }
  const std::uint64_t cases = from_environment("REDUCE_LADDER_CASES", 10'000);
  const std::uint64_t seed = from_environment("REDUCE_LADDER_SEED", 1);
  std::uint64_t passed = 0;
  for (std::uint64_t number = 0; number < cases; ++number) {
    const Case drawn = draw(stages, seed, number);
    const Input input = generate(*drawn.data, drawn.n, drawn.seed);
    const Reference reference = compute_reference(input);
    load(device, input, drawn.misalignment);
    const Plan plan = drawn.stage->plan(drawn.n, {drawn.block, device.info().machine});
    // The output of a stage that writes nothing must not look right.
    const float result =
        device.run(*drawn.stage, plan, std::isnan(reference.sum) ? 0 : Device::kNan);
    const Verification verification = verify(std::span(&result, 1), reference, *drawn.stage, plan);
    passed += verification.verdict == Verdict::passed ? 1 : 0;
    EXPECT_NE(verification.verdict, Verdict::failed)
        << verification.note << "\ncase " << number << " of seed " << seed << ", replayed by\n  "
        << drawn.command(GetParam());
  }
  EXPECT_GE(passed, cases / 10 * 9) << "too few cases say anything";
  std::printf("%llu of %llu cases within their bounds, the others without one\n",
              static_cast<unsigned long long>(passed), static_cast<unsigned long long>(cases));
}

INSTANTIATE_TEST_SUITE_P(Simulator, Differential, ::testing::Values(DeviceKind::sim),
                         testing::kind_name);
INSTANTIATE_TEST_SUITE_P(Gpu, Differential, ::testing::Values(DeviceKind::cuda),
                         testing::kind_name);

}  // namespace
}  // namespace reduce_ladder
