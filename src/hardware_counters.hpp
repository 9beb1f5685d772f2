// The hardware counters of a GPU, as CUPTI's range profiler reads them. Only in a build with CUDA.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reduce_ladder/counters.hpp"

namespace reduce_ladder {

// Counts what the launches of one GPU do. CUPTI comes with the toolkit, not with the driver, and is
// looked for at run time, so that no program needs it. It profiles only while measure() or count()
// runs: work beside them is not slowed down.
class HardwareCounters {
 public:
  // More than every plan has. A further launch makes measure() and count() throw.
  static constexpr std::size_t kMaxLaunches = 64;

  using Work = std::function<void()>;

  // The hardware counts a few things at a time. What is run again until all are counted: each
  // kernel by itself, on memory that CUPTI restores, or all of `run`, which has to do the same
  // again.
  enum class Replay { kernels, runs };

  // The counters of the GPU whose context is current, which must be the one of this ordinal. Takes
  // the first of `libraries` that can be loaded. Throws CountersUnavailable.
  static std::unique_ptr<HardwareCounters> open(
      int ordinal, std::span<const std::string> libraries = default_libraries());
  ~HardwareCounters();
  HardwareCounters(const HardwareCounters&) = delete;
  HardwareCounters& operator=(const HardwareCounters&) = delete;

  // libcupti where the system looks for it, and then in the toolkit that built this program.
  static std::span<const std::string> default_libraries();

  // The counters of each kernel that `run` launches, in their order; copies and memsets are none.
  // `prepare`, if any, comes before each time that `run` is called, and is not counted. Throws
  // CountersUnavailable, and what the two throw. As counters.hpp has them, but that
  //  - block_barriers has all instructions of the unit that runs them, less loads of constants:
  //  also
  //    reads of special registers (S2UR, S2R) but of the index of a thread, as ../bench/opcodes
  //    shows; on an H200, in rungs 1 to 9, two a warp and up to one a block;
  //  - shuffles has also votes, and takes 32 lanes for each;
  //  - global_loads and their sectors have no bulk copies;
  //  - wavefronts follow from the addresses, conflicts were met: more, as README.md says;
  //  - global_load_sectors and global_store_sectors are those asked of L1, global_atomics has
  //    reductions, too;
  //  - the counters of DRAM have what other clients of the GPU move meanwhile.
  // Nothing counts warp barriers, ballots or lanes.
  std::vector<LaunchCounters> count(const Work& run, const Work& prepare = {});

  // The same for metrics by CUPTI's names ("smsp__inst_executed.sum"): a row for each launch, with
  // one value for each metric. Nothing for a metric that this GPU does not have.
  std::vector<std::vector<std::optional<double>>> measure(std::span<const std::string_view> metrics,
                                                          const Work& run, const Work& prepare = {},
                                                          Replay replay = Replay::kernels);

 private:
  class Cupti;
  class Session;
  class Host;
  class RangeProfiler;

  HardwareCounters(std::unique_ptr<Cupti> cupti, int ordinal);
  [[nodiscard]] std::vector<std::string> known(std::span<const std::string_view> metrics) const;

  std::unique_ptr<Cupti> cupti_;
  void* context_ = nullptr;  // CUcontext, opaque
  std::string chip_;
  std::vector<std::uint8_t> availability_;  // which counters this machine lets its users have
};

}  // namespace reduce_ladder
