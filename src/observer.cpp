#include "observer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <string>

#include "reduce_ladder/errors.hpp"

namespace reduce_ladder::simt {
namespace {

constexpr std::uint64_t kBanks = 32;
constexpr std::uint64_t kBankBytes = 4;
constexpr std::uint64_t kSectorBytes = 32;

std::string_view name(Access access) {
  switch (access) {
    case Access::load:
      return "load";
    case Access::store:
      return "store";
    case Access::atomic:
      break;
  }
  return "atomic operation";
}

// Different ones among values that come one by one, few or in order.
class Distinct {
 public:
  bool insert(std::uint64_t value) {
    if (count_ > 0 && values_[count_ - 1] == value) return false;
    if (!(count_ > 0 && value > most_)) {
      const std::uint64_t* const end = values_.data() + count_;
      if (std::find<const std::uint64_t*>(values_.data(), end, value) != end) return false;
    }
    most_ = count_ == 0 ? value : std::max(most_, value);
    values_[count_++] = value;
    return true;
  }
  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  std::array<std::uint64_t, std::size_t{4} * kWarpSize> values_;
  std::size_t count_ = 0;
  std::uint64_t most_ = 0;
};

struct Wavefronts {
  std::uint64_t all = 0;
  std::uint64_t conflicts = 0;  // of these, that other addresses would have done without
};

// What shared memory needs for accesses of `bytes` bytes a lane: so many lanes as ask for a word of
// every bank are served together, and of these as often as the bank most asked for has words to
// give. A word goes to all that ask for it.
template <typename Addresses>
Wavefronts wavefronts(std::uint32_t lanes, const Addresses& address, unsigned bytes) {
  const unsigned words = std::max(1U, static_cast<unsigned>(bytes / kBankBytes));
  const unsigned together = kWarpSize / words;
  Wavefronts needed;
  for (unsigned first = 0; first < kWarpSize; first += together) {
    const std::uint32_t group =
        lanes >> first & (together == kWarpSize ? ~0U : (1U << together) - 1);
    if (group == 0) continue;
    std::array<unsigned, kBanks> asked{};
    Distinct different;
    for_each_lane(group, [&](unsigned lane) {
      for (unsigned word = 0; word < words; ++word) {
        const std::uint64_t wanted = address[first + lane] / kBankBytes + word;
        if (different.insert(wanted)) ++asked[wanted % kBanks];
      }
    });
    const unsigned most = *std::ranges::max_element(asked);
    needed.all += most;
    needed.conflicts += most - 1;
  }
  return needed;
}

template <typename Addresses>
std::uint64_t sectors(std::uint32_t lanes, const Addresses& address, unsigned bytes) {
  Distinct different;
  for_each_lane(lanes, [&](unsigned lane) {
    different.insert(address[lane] / kSectorBytes);
    different.insert((address[lane] + bytes - 1) / kSectorBytes);
  });
  return different.size();
}

}  // namespace

void Observer::begin_launch(Observation& observation) {
  observation_ = &observation;
  tallies_ = {};
  sites_.clear();
  site_after_hash_ = {};
  streams_.clear();
  atomic_lanes_.clear();
}

void Observer::begin_block(unsigned threads) {
  warps_ = (threads + kWarpSize - 1) / kWarpSize;
  threads_ = threads;
  meetings_ = {};
  if (!observation_->check) return;
  early_load_.reset();
  shared_words_.resize((shared.size + kBankBytes - 1) / kBankBytes);
  for (SharedWord& word : shared_words_) {
    word.written = false;
    word.last_store = {};
    word.loads.clear();
  }
  // Clocks begin at 1: nobody knows of anything that another one did.
  for (unsigned w = 0; w < warps_; ++w) {
    clocks_[w] = {};
    for (unsigned lane = 0; lane < kWarpSize; ++lane) clocks_[w][lane][lane] = 1;
  }
}

void Observer::end_block(std::uint64_t complete) {
  if (early_load_) report_early_load();
  tally(Counter::blocks) += 1;
  tally(Counter::warps) += warps_;
  tally(Counter::block_barriers) += warps_ * complete;
  for (std::size_t site = 0; site < sites_.size(); ++site) {
    for (unsigned w = 0; w < warps_; ++w) {
      Stream& stream = streams_[site * kWarps + w];
      count_executions(sites_[site], stream);
      stream.barrier = stream.meeting = 0;
    }
  }
}

void Observer::end_launch(LaunchCounters& sum, AtomicLanes& atomic_lanes) const {
  for (std::size_t i = 0; i < kCounters; ++i) {
    if (sum.values[i]) *sum.values[i] += static_cast<double>(tallies_[i]);
  }
  for (const auto& [address, lanes] : atomic_lanes_) atomic_lanes[address] += lanes;
}

void Observer::meet_other_blocks() {
  tally(Counter::global_atomics) += 1;
  tally(Counter::global_atomic_lanes) += 1;
  constexpr std::uint64_t kOfTheGrid = ~std::uint64_t{0};
  ++atomic_lanes_[kOfTheGrid];
}

void Observer::meet(WarpOperation operation, unsigned warp, unsigned lanes) {
  const unsigned there = std::min(kWarpSize, threads_ - warp * kWarpSize);
  if (std::popcount(lanes) == static_cast<int>(there)) ++meetings_[warp];
  switch (operation) {
    case WarpOperation::shuffle:
      tally(Counter::shuffles) += 1;
      return;
    case WarpOperation::wide_shuffle:
      tally(Counter::shuffles) += 2;
      return;
    case WarpOperation::ballot:
      tally(Counter::ballots) += 1;
      return;
    case WarpOperation::barrier:
      break;
  }
  // Shuffles and ballots exchange values, and promise nothing about memory.
  tally(Counter::warp_barriers) += 1;
  if (!observation_->check) return;
  Clocks& clocks = clocks_[warp];
  std::array<unsigned, kWarpSize> known{};
  for_each_lane(lanes, [&](unsigned lane) {
    for (unsigned l = 0; l < kWarpSize; ++l) known[l] = std::max(known[l], clocks[lane][l]);
  });
  for_each_lane(lanes, [&](unsigned lane) {
    clocks[lane] = known;
    ++clocks[lane][lane];
  });
}

void Observer::note(const Observed& site, Access access, const void* address, std::size_t bytes) {
  if (site.space == Space::shared_memory) {
    const auto offset =
        static_cast<std::size_t>(static_cast<const std::byte*>(address) - shared.base);
    if (observation_->check) check_shared(site, access, offset, bytes);
    if (observation_->count) count(site, access, offset, bytes);
    return;
  }
  check_global(site, access, address, bytes);
  if (!observation_->count) return;
  const Observation::Array& array = *site.array;
  const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(address) -
                                                 static_cast<const std::byte*>(array.begin));
  // Arrays lie far from each other, so that no sector is of two.
  constexpr unsigned kArrayBits = 48;
  const auto number = static_cast<std::uint64_t>(&array - observation_->arrays.data());
  count(site, access, (number << kArrayBits) + array.offset + offset, bytes);
}

std::size_t Observer::find_site(const Observed& site, Access access, std::size_t bytes) {
  const auto same = [&](const Site& other) {
    return other.where == site.where && other.space == site.space && other.access == access &&
           other.bytes == bytes;
  };
  std::uint16_t& after =
      site_after_hash_[(site.where.line * 8U + static_cast<unsigned>(site.space) * 4U +
                        static_cast<unsigned>(access)) %
                       site_after_hash_.size()];
  if (after > 0 && same(sites_[after - 1U])) return after - 1U;
  auto found = std::ranges::find_if(sites_, same);
  if (found == sites_.end()) {
    sites_.push_back({site.where, site.space, access, static_cast<unsigned>(bytes)});
    streams_.resize(sites_.size() * kWarps);
    found = sites_.end() - 1;
  }
  const auto index = static_cast<std::size_t>(found - sites_.begin());
  after = static_cast<std::uint16_t>(index + 1);
  return index;
}

void Observer::count(const Observed& site, Access access, std::uint64_t address,
                     std::size_t bytes) {
  const std::size_t index = find_site(site, access, bytes);
  const unsigned warp = threadIdx.x / kWarpSize;
  Stream& stream = streams_[index * kWarps + warp];
  if (stream.barrier != barriers.reached || stream.meeting != meetings_[warp]) {
    count_executions(sites_[index], stream);
    stream.barrier = barriers.reached;
    stream.meeting = meetings_[warp];
  }
  const unsigned lane = threadIdx.x % kWarpSize;
  const std::uint32_t execution = stream.of_lane[lane]++;
  if (execution == stream.executions.size()) stream.executions.emplace_back();
  stream.executions[execution].lanes |= 1U << lane;
  stream.executions[execution].address[lane] = address;
}

void Observer::count_executions(const Site& site, Stream& stream) {
  if (stream.executions.empty()) return;
  const bool store = site.access == Access::store;
  for (const Execution& execution : stream.executions) {
    const auto lanes = static_cast<std::uint64_t>(std::popcount(execution.lanes));
    if (site.access == Access::atomic) {
      tally(Counter::global_atomics) += 1;
      tally(Counter::global_atomic_lanes) += lanes;
      for_each_lane(execution.lanes,
                    [&](unsigned lane) { ++atomic_lanes_[execution.address[lane]]; });
    } else if (site.space == Space::shared_memory) {
      tally(store ? Counter::shared_stores : Counter::shared_loads) += 1;
      tally(store ? Counter::shared_store_lanes : Counter::shared_load_lanes) += lanes;
      const auto [all, conflicts] = wavefronts(execution.lanes, execution.address, site.bytes);
      tally(store ? Counter::shared_store_wavefronts : Counter::shared_load_wavefronts) += all;
      tally(store ? Counter::shared_store_conflicts : Counter::shared_load_conflicts) += conflicts;
    } else {
      tally(store ? Counter::global_stores : Counter::global_loads) += 1;
      tally(store ? Counter::global_store_lanes : Counter::global_load_lanes) += lanes;
      tally(store ? Counter::global_store_bytes : Counter::global_load_bytes) += lanes * site.bytes;
      tally(store ? Counter::global_store_sectors : Counter::global_load_sectors) +=
          sectors(execution.lanes, execution.address, site.bytes);
    }
  }
  stream.executions.clear();
  stream.of_lane = {};
}

void Observer::check_global(const Observed& site, Access access, const void* address,
                            std::size_t bytes) const {
  if (site.array == nullptr) {
    fault(fmt::format("{} of {} bytes at {}, which is global memory of nobody's, at {}",
                      name(access), bytes, address, site.where.text()));
  }
  Observation::Array& array = *site.array;
  const auto offset =
      static_cast<const std::byte*>(address) - static_cast<const std::byte*>(array.begin);
  if (offset < 0 || static_cast<std::size_t>(offset) + bytes > array.bytes) {
    fault(fmt::format("{} of {} bytes at byte {} of {}, which has {} bytes, at {}", name(access),
                      bytes, offset, array.name, array.bytes, site.where.text()));
  }
  if (!observation_->check || array.written.empty()) return;
  for (std::size_t word = static_cast<std::size_t>(offset) / kBankBytes;
       word * kBankBytes < static_cast<std::size_t>(offset) + bytes; ++word) {
    // Blocks on other host threads may look at their words next to it.
    const std::atomic_ref<unsigned char> written(array.written[word]);
    if (access != Access::store && written.load(std::memory_order_relaxed) == 0) {
      fault(fmt::format("{} of {} bytes at byte {} of {}, where nobody wrote before, at {}",
                        name(access), bytes, offset, array.name, site.where.text()));
    }
    if (access != Access::load) written.store(1, std::memory_order_relaxed);
  }
}

// Whether an access by another thread is known to lie before what the running thread does now.
bool Observer::ordered(const Stamp& before) const {
  const unsigned thread = threadIdx.x;
  if (before.barrier < barriers.reached || before.thread == thread) return true;
  if (before.thread / kWarpSize != thread / kWarpSize) return false;
  return clocks_[thread / kWarpSize][thread % kWarpSize][before.thread % kWarpSize] >= before.clock;
}

void Observer::report_early_load() {
  const auto [stamp, offset, bytes] = *early_load_;
  throw SimulatorFault(
      fmt::format("{}, thread {}: load of {} bytes at byte {} of shared memory, where nobody wrote "
                  "before, at {}",
                  running_block(), stamp.thread, bytes, offset, stamp.where.text()));
}

void Observer::check_shared(const Observed& site, Access access, std::size_t offset,
                            std::size_t bytes) {
  const unsigned thread = threadIdx.x;
  const unsigned lane = thread % kWarpSize;
  const Stamp now{.barrier = barriers.reached,
                  .thread = thread,
                  .clock = clocks_[thread / kWarpSize][lane][lane],
                  .where = site.where};
  const auto refuse_unordered = [&](const Stamp& before, Access other) {
    if (ordered(before)) return;
    fault(
        fmt::format("race: {} of {} bytes at byte {} of shared memory, at {}, after the {} by "
                    "thread {} at {}, with no barrier between them",
                    name(access), bytes, offset, site.where.text(), name(other), before.thread,
                    before.where.text()));
  };
  if (early_load_ && early_load_->stamp.barrier < now.barrier) report_early_load();
  for (std::size_t w = offset / kBankBytes; w * kBankBytes < offset + bytes; ++w) {
    SharedWord& word = shared_words_[w];
    if (!word.loads.empty() && word.loads.front().barrier < now.barrier) word.loads.clear();
    if (word.written) refuse_unordered(word.last_store, Access::store);
    if (access == Access::load) {
      if (!word.written && !early_load_) early_load_ = {now, offset, bytes};
      const auto mine = std::ranges::find(word.loads, thread, &Stamp::thread);
      if (mine == word.loads.end()) {
        word.loads.push_back(now);
      } else {
        *mine = now;
      }
    } else {
      for (const Stamp& before : word.loads) refuse_unordered(before, Access::load);
      word.written = true;
      word.last_store = now;
      word.loads.clear();
    }
  }
}

}  // namespace reduce_ladder::simt
