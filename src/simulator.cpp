#include "reduce_ladder/simulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "fibers.hpp"
#include "observer.hpp"
#include "reduce_ladder/errors.hpp"
#include "splitmix.hpp"

namespace reduce_ladder::simt {
namespace {

// Dynamic shared memory that CUDA gives a block without being asked twice.
constexpr std::size_t kMaxSharedBytes = std::size_t{48} * 1024;

// Blocks that a worker claims at a time, where not all of them run at once.
constexpr Index kBlocksAtATime = 16;

// What all workers share while one launch runs.
struct Launch {
  Index grid = 0;
  unsigned block = 0;
  unsigned warp_size = kWarpSize;
  std::size_t shared_bytes = 0;
  void (*kernel)(const void* arguments) = nullptr;
  const void* arguments = nullptr;
  std::uint64_t seed = 0;
  // Position p of the order runs block (multiplier * p + offset) mod grid: a permutation, since the
  // multiplier has no factor in common with the grid.
  Index multiplier = 1;
  Index offset = 0;
  std::atomic<Index> next_position{0};
  bool cooperative = false;  // all blocks run at once
  Observation* observation = nullptr;
  std::string name;  // of the kernel
  std::atomic<bool> failed{false};
  std::mutex mutex;  // of what follows
  std::exception_ptr failure;
  LaunchCounters counters;
  AtomicLanes atomic_lanes;
  // The barrier of a cooperative launch: how often it was complete, and blocks that wait there or
  // have ended.
  std::condition_variable barrier_complete;
  Index barriers = 0;
  Index waiting = 0;
  Index ended = 0;

  void fail(std::exception_ptr error) {
    const std::scoped_lock lock(mutex);
    fail_locked(std::move(error));
  }

  void wait_for_other_blocks() {
    std::unique_lock lock(mutex);
    ++waiting;
    check_barrier();
    const Index before = barriers;
    if (waiting == grid) {
      waiting = 0;
      ++barriers;
      barrier_complete.notify_all();
    } else {
      barrier_complete.wait(lock, [&] { return barriers != before || failed; });
    }
    if (barriers == before) throw SimulatorFault("given up, since another block failed");
  }

  void end_block() {
    const std::scoped_lock lock(mutex);
    ++ended;
    check_barrier();
  }

 private:
  void fail_locked(std::exception_ptr error) {
    if (!failure) failure = std::move(error);
    failed = true;
    next_position = grid;
    barrier_complete.notify_all();
  }
  void check_barrier() {
    if (failed || waiting == 0 || ended == 0 || waiting + ended < grid) return;
    fail_locked(std::make_exception_ptr(SimulatorFault(
        fmt::format("the barrier of the grid is reached by {} of {} blocks; the others have ended",
                    waiting, grid))));
  }
};

// "threads 0-127, 130" of those for which the predicate holds; empty where there is none.
template <typename Predicate>
std::string thread_ranges(unsigned threads, Predicate predicate) {
  std::string text;
  unsigned listed = 0;
  for (unsigned t = 0; t < threads; ++t) {
    if (!predicate(t)) continue;
    const unsigned first = t;
    while (t + 1 < threads && predicate(t + 1)) ++t;
    text += text.empty() ? "threads " : ", ";
    text += first == t ? fmt::format("{}", first) : fmt::format("{}-{}", first, t);
    if (++listed == 8) return text + ", ...";
  }
  return text;
}

// A queue of fibers. Every fiber is in one queue at most, so that the links are shared by all of
// them.
using FiberLinks = std::array<Fibers::Id, kMaxBlock>;
struct FiberQueue {
  static constexpr Fibers::Id kNone = kMaxBlock;
  Fibers::Id front = kNone;
  Fibers::Id back = kNone;

  [[nodiscard]] bool empty() const { return front == kNone; }
  void push(Fibers::Id fiber, FiberLinks& links) {
    links[fiber] = kNone;
    (empty() ? front : links[back]) = fiber;
    back = fiber;
  }
  Fibers::Id pop(const FiberLinks& links) { return std::exchange(front, links[front]); }
  // Moves all of `others` to the end of this queue.
  void append(FiberQueue& others, FiberLinks& links) {
    if (others.empty()) return;
    (empty() ? front : links[back]) = others.front;
    back = others.back;
    others.front = kNone;
  }
};

// One host thread's share of a launch: runs one block at a time.
class Worker {
 public:
  explicit Worker(Fibers::Use use) : fibers_(kMaxBlock, use, [this] { run_threads(); }) {}

  // Runs blocks of `launch` until none is left or one fails.
  void run(Launch& launch);

  void wait_for_block();
  void wait_for_other_blocks();
  void give_way();
  void meet(WarpOperation operation, unsigned mask, std::uint64_t bits, unsigned source,
            Place where);
  [[nodiscard]] std::uint64_t taken() const;
  [[nodiscard]] Observer* observer() { return observer_; }

 private:
  // Lanes that meet under one mask, kept at the lowest lane of the mask.
  struct Meeting {
    unsigned mask = 0;
    unsigned arrived = 0;
    WarpOperation operation = WarpOperation::barrier;
    Place where;
  };

  struct Warp {
    unsigned lanes = 0;  // that the block has in this warp
    unsigned ended = 0;  // of these, at the end of the kernel
    unsigned meetings_open = 0;
    std::array<Meeting, kWarpSize> meetings;
    std::array<std::uint64_t, kWarpSize> left;
    std::array<std::uint64_t, kWarpSize> taken;
    std::array<unsigned, kWarpSize> source;
    std::array<Fibers::Id, kWarpSize> fiber;
  };

  bool begin_next_block();
  void run_threads();
  void run_one_thread();
  void note_progress();
  [[nodiscard]] unsigned present(const Warp& warp) const;
  static Meeting& find_meeting(Warp& warp, unsigned mask);
  void conclude_complete(Warp& warp);
  void end_thread();
  void suspend();
  void switch_to(Fibers::Id target);
  Fibers::Id idle_fiber();
  void conclude(Warp& warp, Meeting& meeting);
  // Kept out of the way of the code that finds them.
  [[noreturn, gnu::cold]] static void fault_mask(unsigned mask, const Place& where);
  [[noreturn, gnu::cold]] static void fault_meeting(const Meeting& meeting, const Place& where);
  [[noreturn, gnu::cold]] void fault_source(const Warp& warp, const Meeting& meeting,
                                            unsigned lane) const;
  [[noreturn, gnu::cold]] void fault_stuck() const;

  Launch* launch_ = nullptr;
  std::unique_ptr<Observer> own_observer_;  // made when it is needed
  Observer* observer_ = nullptr;            // of the running launch; nullptr: nobody looks
  void (*kernel_)(const void* arguments) = nullptr;
  const void* arguments_ = nullptr;
  Index position_ = 0;      // in the launch's order of blocks
  Index position_end_ = 0;  // of the blocks claimed

  unsigned threads_ = 0;  // of the running block
  unsigned begun_ = 0;
  unsigned ended_ = 0;
  unsigned first_thread_ = 0;
  bool descending_ = false;
  // barriers.reached of the running thread when it last stopped, and of every thread. For each
  // count of barriers, modulo the size of the arrays: how many threads have stopped at just that
  // count, and which fibers wait until all threads have come to it.
  std::uint64_t noted_ = 0;
  std::array<std::uint64_t, kMaxBlock> reached_{};
  static constexpr std::size_t kLevels = 2 * kBarriersAhead;
  std::array<unsigned, kLevels> threads_at_{};
  std::array<FiberQueue, kLevels> waiting_at_;
  std::array<Warp, kMaxBlock / kWarpSize> warps_{};
  unsigned meetings_open_ = 0;  // of all warps
  std::vector<std::byte> shared_;
  bool failed_ = false;

  // The thread that a fiber runs, and the barriers that it has reached, while another fiber runs.
  // Kept here and not on the fiber's stack: the less a waiting thread leaves on its stack, the more
  // stacks stay in the cache.
  struct Suspended {
    Coordinate thread{0};
    std::uint64_t reached = 0;
  };
  std::array<Suspended, kMaxBlock + 1> suspended_;
  FiberLinks links_;
  FiberQueue ready_;  // suspended, with nothing left to wait for
  FiberQueue idle_;   // with no thread to run
  Fibers::Id begun_fibers_ = 0;
  Fibers fibers_;
};

constinit thread_local Worker* current_worker = nullptr;
// Where pointers that become arrays on this host thread are looked up.
constinit thread_local Observation* current_observation = nullptr;
constinit thread_local std::string_view kernel_name;

Fibers::Id Worker::idle_fiber() {
  return idle_.empty() ? begun_fibers_++ : idle_.pop(links_);
}

// The target's thread becomes the running one before its stack does, so that nothing of a thread
// has to be kept on its stack.
inline void Worker::switch_to(Fibers::Id target) {
  suspended_[fibers_.running()] = {simt::threadIdx, simt::barriers.reached};
  simt::threadIdx = suspended_[target].thread;
  simt::barriers.reached = noted_ = suspended_[target].reached;
  fibers_.switch_to(target);
}

// Leaves the running thread until somebody puts its fiber into the ready queue.
inline void Worker::suspend() {
  if (begun_ < threads_) {
    switch_to(idle_fiber());
  } else if (!ready_.empty()) {
    switch_to(ready_.pop(links_));
  } else {
    fault_stuck();
  }
}

void Worker::run(Launch& launch) {
  current_worker = this;
  launch_ = &launch;
  kernel_ = launch.kernel;
  arguments_ = launch.arguments;
  position_ = position_end_ = 0;
  shared_.resize(launch.shared_bytes);
  simt::shared = {shared_.data(), shared_.size()};
  simt::blockDim.x = launch.block;
  simt::gridDim.x = static_cast<unsigned>(launch.grid);
  simt::warpSize = launch.warp_size;
  current_observation = launch.observation;
  kernel_name = launch.name;
  observer_ = nullptr;
  if (launch.observation != nullptr) {
    if (!own_observer_) own_observer_ = std::make_unique<Observer>();
    observer_ = own_observer_.get();
    observer_->begin_launch(*launch.observation);
  }
  if (!begin_next_block()) return;
  switch_to(idle_fiber());
  if (observer_ != nullptr) {
    const std::scoped_lock lock(launch.mutex);
    observer_->end_launch(launch.counters, launch.atomic_lanes);
  }
  if (!failed_) return;
  fibers_.restart_all();
  begun_fibers_ = 0;
  idle_ = ready_ = {};
  threads_at_ = {};
  waiting_at_ = {};
  warps_ = {};
  meetings_open_ = 0;
  simt::barriers = {};
  failed_ = false;
}

bool Worker::begin_next_block() {
  if (position_ == position_end_) {
    const Index claimed = launch_->cooperative ? 1 : kBlocksAtATime;
    position_ = launch_->next_position.fetch_add(claimed);
    if (position_ >= launch_->grid) {
      position_end_ = position_;
      return false;
    }
    position_end_ = std::min(position_ + claimed, launch_->grid);
  }
  const Index order = position_++;
  simt::blockIdx.x =
      static_cast<unsigned>((launch_->multiplier * order + launch_->offset) % launch_->grid);
  threads_ = launch_->block;
  begun_ = ended_ = 0;
  const std::uint64_t draw = splitmix64(launch_->seed + simt::blockIdx.x);
  first_thread_ = static_cast<unsigned>((draw >> 1U) % threads_);
  descending_ = (draw & 1U) != 0;
  threads_at_[simt::barriers.complete % kLevels] = 0;
  threads_at_[0] = threads_;
  std::fill_n(reached_.begin(), threads_, 0);
  simt::barriers.complete = simt::barriers.furthest = 0;
  for (unsigned first = 0; first < threads_; first += kWarpSize) {
    Warp& warp = warps_[first / kWarpSize];
    const unsigned lanes = std::min(kWarpSize, threads_ - first);
    warp.lanes = lanes == kWarpSize ? ~0U : (1U << lanes) - 1;
    warp.ended = 0;
  }
  simt::votes = {};
  // All bits set is a NaN in every floating-point type.
  std::fill(shared_.begin(), shared_.end(), std::byte{0xff});
  if (observer_ != nullptr) observer_->begin_block(threads_);
  return true;
}

// The body of every fiber: runs threads from their beginning, one after the other. A thread that
// has to wait keeps this fiber, and another fiber goes on with the rest.
void Worker::run_threads() {
  for (;;) {
    if (failed_) {
      switch_to(fibers_.home());
    } else if (begun_ < threads_) {
      run_one_thread();
    } else if (!ready_.empty()) {
      idle_.push(fibers_.running(), links_);
      switch_to(ready_.pop(links_));
    } else if (!begin_next_block()) {
      idle_.push(fibers_.running(), links_);
      switch_to(fibers_.home());
    }
  }
}

void Worker::run_one_thread() {
  const unsigned order = begun_++;
  const unsigned turn = first_thread_ + (descending_ ? threads_ - 1 - order : order);
  simt::threadIdx.x = turn < threads_ ? turn : turn - threads_;
  simt::barriers.reached = noted_ = 0;
  try {
    kernel_(arguments_);
    end_thread();
  } catch (const Fibers::Unwinding&) {
    throw;
  } catch (...) {
    launch_->fail(std::current_exception());
    failed_ = true;
  }
}

// Counts the running thread where it has come to now, and lets those run on that waited for it.
void Worker::note_progress() {
  Barriers& state = simt::barriers;
  if (noted_ == state.reached) return;
  --threads_at_[noted_ % kLevels];
  ++threads_at_[state.reached % kLevels];
  noted_ = reached_[simt::threadIdx.x] = state.reached;
  state.furthest = std::max(state.furthest, noted_);
  while (threads_at_[state.complete % kLevels] == 0) {
    ready_.append(waiting_at_[++state.complete % kLevels], links_);
    if (meetings_open_ == 0) continue;
    for (unsigned w = 0; w * kWarpSize < threads_; ++w) conclude_complete(warps_[w]);
  }
}

// Lanes that a meeting has to wait for. A lane that has run to the end of the kernel is there as
// long as it would still stand at a barrier of its block.
unsigned Worker::present(const Warp& warp) const {
  unsigned gone = 0;
  const auto first = static_cast<unsigned>(&warp - warps_.data()) * kWarpSize;
  for_each_lane(warp.ended, [&](unsigned lane) {
    if (reached_[first + lane] <= simt::barriers.complete) gone |= 1U << lane;
  });
  return warp.lanes & ~gone;
}

// Concludes the meetings for which the last missing lane is gone.
void Worker::conclude_complete(Warp& warp) {
  if (warp.meetings_open == 0 || warp.ended == 0) return;
  const unsigned lanes = present(warp);
  for (Meeting& meeting : warp.meetings) {
    if (meeting.arrived != 0 && meeting.arrived == (meeting.mask & lanes)) conclude(warp, meeting);
  }
}

void Worker::end_thread() {
  note_progress();
  const unsigned t = simt::threadIdx.x;
  Warp& warp = warps_[t / kWarpSize];
  warp.ended |= 1U << t % kWarpSize;
  conclude_complete(warp);
  if (++ended_ == threads_) {
    // A barrier that only part of the block came to is a fault even if nobody waits there.
    if (simt::barriers.furthest != simt::barriers.complete) fault_stuck();
    if (observer_ != nullptr) observer_->end_block(simt::barriers.complete);
    if (launch_->cooperative) launch_->end_block();
  } else if (begun_ == threads_ && ready_.empty()) {
    fault_stuck();
  }
}

void Worker::wait_for_block() {
  note_progress();
  if (simt::barriers.reached == simt::barriers.complete) return;
  waiting_at_[simt::barriers.reached % kLevels].push(fibers_.running(), links_);
  suspend();
}

void Worker::wait_for_other_blocks() {
  if (!launch_->cooperative) fault("a barrier of the grid in a launch that is not cooperative");
  if (observer_ != nullptr) observer_->meet_other_blocks();
  launch_->wait_for_other_blocks();
}

void Worker::give_way() {
  if (launch_->failed) fault("given up, since another block failed");
  std::this_thread::yield();
  if (begun_ == threads_ && ready_.empty()) return;  // to nobody: all others wait or have ended
  ready_.push(fibers_.running(), links_);
  suspend();
}

void Worker::meet(WarpOperation operation, unsigned mask, std::uint64_t bits, unsigned source,
                  Place where) {
  const unsigned lane = simt::threadIdx.x % kWarpSize;
  Warp& warp = warps_[simt::threadIdx.x / kWarpSize];
  if ((mask >> lane & 1U) == 0) fault_mask(mask, where);
  Meeting& meeting = find_meeting(warp, mask);
  if (meeting.arrived == 0) {
    meeting = {mask, 0, operation, where};
    ++warp.meetings_open;
    ++meetings_open_;
  } else if (meeting.operation != operation) {
    fault_meeting(meeting, where);
  }
  meeting.arrived |= 1U << lane;
  warp.left[lane] = bits;
  warp.source[lane] = source;
  warp.fiber[lane] = fibers_.running();
  if (meeting.arrived == (mask & (warp.ended == 0 ? warp.lanes : present(warp)))) {
    conclude(warp, meeting);
  } else {
    suspend();
  }
}

// The open meeting under this mask, or a place for it.
Worker::Meeting& Worker::find_meeting(Warp& warp, unsigned mask) {
  Meeting* place = &warp.meetings[static_cast<unsigned>(std::countr_zero(mask))];
  if (warp.meetings_open == 0 || (place->arrived != 0 && place->mask == mask)) return *place;
  for (Meeting& meeting : warp.meetings) {
    if (meeting.arrived != 0 && meeting.mask == mask) return meeting;
    if (place->arrived != 0 && meeting.arrived == 0) place = &meeting;
  }
  return *place;
}

std::uint64_t Worker::taken() const {
  return warps_[simt::threadIdx.x / kWarpSize].taken[simt::threadIdx.x % kWarpSize];
}

// Hands every lane of a complete meeting what it asked for, and lets the waiting ones run on.
void Worker::conclude(Warp& warp, Meeting& meeting) {
  std::uint64_t votes = 0;
  if (meeting.operation == WarpOperation::ballot) {
    for_each_lane(meeting.arrived, [&](unsigned lane) {
      if (warp.left[lane] != 0) votes |= std::uint64_t{1} << lane;
    });
  }
  for_each_lane(meeting.arrived, [&](unsigned lane) {
    const unsigned source = warp.source[lane];
    if ((meeting.arrived >> source & 1U) == 0) fault_source(warp, meeting, lane);
    warp.taken[lane] = meeting.operation == WarpOperation::ballot ? votes : warp.left[source];
    if (warp.fiber[lane] != fibers_.running()) ready_.push(warp.fiber[lane], links_);
  });
  if (observer_ != nullptr) {
    observer_->meet(meeting.operation, static_cast<unsigned>(&warp - warps_.data()),
                    meeting.arrived);
  }
  meeting.arrived = 0;
  --warp.meetings_open;
  --meetings_open_;
}

void Worker::fault_mask(unsigned mask, const Place& where) {
  fault(fmt::format("lane {} is not in the mask {:#010x} that it gives at {}",
                    simt::threadIdx.x % kWarpSize, mask, where.text()));
}

void Worker::fault_meeting(const Meeting& meeting, const Place& where) {
  fault(
      fmt::format("the warp operation at {} meets another one at {}, under the same mask {:#010x}",
                  where.text(), meeting.where.text(), meeting.mask));
}

void Worker::fault_source(const Warp& warp, const Meeting& meeting, unsigned lane) const {
  const auto thread = static_cast<unsigned>(&warp - warps_.data()) * kWarpSize + lane;
  throw SimulatorFault(fmt::format(
      "{}, thread {}: the shuffle at {} reads lane {}, which is outside its mask {:#010x} "
      "or has ended",
      running_block(), thread, meeting.where.text(), warp.source[lane], meeting.mask));
}

void Worker::fault_stuck() const {
  const std::uint64_t complete = simt::barriers.complete;
  const bool at_barrier = simt::barriers.furthest > complete;
  std::string text = running_block() + ": ";
  if (at_barrier) {
    const auto came = [&](unsigned t) { return reached_[t] > complete; };
    const auto runs = [&](unsigned t) {
      return (warps_[t / kWarpSize].ended >> t % kWarpSize & 1U) == 0;
    };
    const Place& place = simt::barriers.places[complete % kBarriersAhead];
    text += fmt::format("the __syncthreads() at {} is reached by {}", place.text(),
                        thread_ranges(threads_, came));
    const std::string ended =
        thread_ranges(threads_, [&](unsigned t) { return !came(t) && !runs(t); });
    const std::string elsewhere =
        thread_ranges(threads_, [&](unsigned t) { return !came(t) && runs(t); });
    if (!ended.empty()) text += fmt::format("; never by {}, which ended", ended);
    if (!elsewhere.empty()) text += fmt::format("; never by {}, which wait elsewhere", elsewhere);
  }
  const char* separator = at_barrier ? "; " : "";
  for (unsigned w = 0; w * kWarpSize < threads_; ++w) {
    for (const Meeting& meeting : warps_[w].meetings) {
      if (meeting.arrived == 0) continue;
      text += fmt::format("{}warp {}: lanes {:#010x} wait at {} for the rest of mask {:#010x}",
                          separator, w, meeting.arrived, meeting.where.text(), meeting.mask);
      separator = "; ";
    }
  }
  throw SimulatorFault(text);
}

}  // namespace

std::string running_block() {
  return kernel_name.empty() ? fmt::format("block {}", blockIdx.x)
                             : fmt::format("kernel {}, block {}", kernel_name, blockIdx.x);
}

void fault(std::string_view what) {
  throw SimulatorFault(fmt::format("{}, thread {}: {}", running_block(), threadIdx.x, what));
}

Observed::Extent::Extent(const void* base) {
  if (current_observation == nullptr) return;
  const auto address = reinterpret_cast<std::uintptr_t>(base);
  for (Observation::Array& candidate : current_observation->arrays) {
    const auto begin = reinterpret_cast<std::uintptr_t>(candidate.begin);
    if (address >= begin && address - begin < candidate.bytes) array = &candidate;
  }
}

void Observed::note(Access access, const void* address, std::size_t bytes) const {
  if (Observer* const observer = current_worker->observer()) {
    observer->note(*this, access, address, bytes);
  }
}

void note_written(const void* begin, std::size_t bytes) {
  const Observed::Extent extent(begin);
  if (extent.array == nullptr || extent.array->written.empty()) return;
  const auto first = static_cast<std::size_t>(static_cast<const std::byte*>(begin) -
                                              static_cast<const std::byte*>(extent.array->begin));
  std::fill_n(extent.array->written.begin() + static_cast<std::ptrdiff_t>(first / 4), bytes / 4, 1);
}

void wait_for_block() {
  current_worker->wait_for_block();
}

void wait_for_other_blocks() {
  current_worker->wait_for_other_blocks();
}

void give_way() {
  current_worker->give_way();
}

void note_place(const Place& where) {
  const std::uint64_t next = simt::barriers.reached;
  Place& noted = simt::barriers.places[next % kBarriersAhead];
  if (next < simt::barriers.furthest) {
    fault(fmt::format("comes to the __syncthreads() at {} while others of its block come to {}",
                      where.text(), noted.text()));
  }
  noted = where;
}

void meet(WarpOperation operation, unsigned mask, std::uint64_t bits, unsigned source,
          Place where) {
  current_worker->meet(operation, mask, bits, source, where);
}

std::uint64_t taken() {
  return current_worker->taken();
}

void fault_shuffle_width(unsigned width) {
  fault(fmt::format("a shuffle of width {}: must be a power of two up to {}", width, warpSize));
}

void fault_other_half(unsigned source, const Place& where) {
  fault(
      fmt::format("the shuffle at {} reads lane {} of the warp, which is outside its mask: a mask "
                  "names lanes of one half of a warp of {}",
                  where.text(), source, warpSize));
}

void fault_misaligned(const void* address, const Place& where) {
  fault(fmt::format("a load of {} bytes from {}, which is no multiple of that, at {}", kVectorBytes,
                    address, where.text()));
}

void fault_shared_index(std::size_t index, std::size_t size, std::size_t bytes,
                        const Place& where) {
  fault(fmt::format("outside of shared memory: word {} of {}, {} bytes at byte {}, at {}", index,
                    size, bytes, index * bytes, where.text()));
}

namespace {

// Host threads that wait for launches, each with a worker of its own.
class Pool {
 public:
  explicit Pool(Fibers::Use use) : use_(use) {}

  // Makes workers until there are `wanted`, or no more can be had; their number.
  std::size_t grow(std::size_t wanted) {
    try {
      while (threads_.size() < wanted) {
        threads_.emplace_back(
            [this, i = threads_.size()](const std::stop_token& stop) { work(stop, i); });
      }
    } catch (const std::system_error&) {
      // As many as there are.
    }
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return started_ == threads_.size(); });
    if (failure_) std::rethrow_exception(failure_);
    return threads_.size();
  }

  // Runs the launch on so many workers, of those that are there.
  void run(Launch& launch, std::size_t invited) {
    std::unique_lock lock(mutex_);
    launch_ = &launch;
    invited_ = busy_ = invited;
    ++generation_;
    wake_.notify_all();
    done_.wait(lock, [this] { return busy_ == 0; });
    launch_ = nullptr;
  }

 private:
  void work(const std::stop_token& stop, std::size_t index) {
    // Made here, so that the fibers live and end on the thread that runs them.
    std::unique_ptr<Worker> worker;
    std::exception_ptr failure;
    try {
      worker = std::make_unique<Worker>(use_);
    } catch (...) {
      failure = std::current_exception();
    }
    std::uint64_t seen = 0;
    {
      const std::scoped_lock lock(mutex_);
      if (failure) failure_ = failure;
      seen = generation_;
      ++started_;
      done_.notify_one();
    }
    if (!worker) return;
    for (;;) {
      Launch* launch = nullptr;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, stop, [&] { return generation_ != seen; });
        if (stop.stop_requested()) return;
        seen = generation_;
        if (index >= invited_) continue;
        launch = launch_;
      }
      try {
        worker->run(*launch);
      } catch (...) {
        launch->fail(std::current_exception());
      }
      const std::scoped_lock lock(mutex_);
      if (--busy_ == 0) done_.notify_one();
    }
  }

  Fibers::Use use_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::condition_variable done_;
  Launch* launch_ = nullptr;
  std::uint64_t generation_ = 0;
  std::size_t invited_ = 0;     // workers that take part in the launch
  std::size_t busy_ = 0;        // of these, still at work
  std::size_t started_ = 0;     // workers that are there, or have failed to be
  std::exception_ptr failure_;  // of one that has
  std::vector<std::jthread> threads_;
};

}  // namespace

class Simulator::Implementation {
 public:
  Implementation(std::uint64_t seed, unsigned workers, unsigned warp_size)
      : random_(seed), warp_size_(warp_size) {
    // Fewer workers than cores will do.
    workers_ = pool_.grow(std::max(1U, workers));
    if (workers_ == 0) {
      throw OutOfMemoryError("the simulator cannot start a single thread");
    }
  }

  void name_kernels(std::string_view name) { name_ = name; }

  void observe(Observation* observation) { observation_ = current_observation = observation; }

  void launch(unsigned grid, unsigned block, std::size_t shared_bytes,
              void (*kernel)(const void* arguments), const void* arguments) {
    Launch launch;
    prepare(launch, grid, block, shared_bytes, kernel, arguments);
    const Index useful = (launch.grid + kBlocksAtATime - 1) / kBlocksAtATime;
    pool_.run(launch, std::min<Index>(useful, workers_));
    finish(launch);
  }

  void launch_cooperative(unsigned grid, unsigned block, std::size_t shared_bytes,
                          void (*kernel)(const void* arguments), const void* arguments) {
    Launch launch;
    prepare(launch, grid, block, shared_bytes, kernel, arguments);
    launch.cooperative = true;
    if (const std::size_t workers = cooperative_pool_.grow(grid); workers < grid) {
      throw OutOfMemoryError(
          fmt::format("the simulator needs a thread for each of the {} blocks of a cooperative "
                      "launch, and cannot start more than {}",
                      grid, workers));
    }
    cooperative_pool_.run(launch, grid);
    finish(launch);
  }

 private:
  void prepare(Launch& launch, unsigned grid, unsigned block, std::size_t shared_bytes,
               void (*kernel)(const void* arguments), const void* arguments) {
    if (grid == 0 || block == 0 || block > kMaxBlock || shared_bytes > kMaxSharedBytes) {
      throw SimulatorFault(
          fmt::format("a launch of {} blocks of {} threads with {} bytes of shared memory: at "
                      "least one block, 1 to "
                      "{} threads and at most {} bytes are allowed",
                      grid, block, shared_bytes, kMaxBlock, kMaxSharedBytes));
    }
    launch.grid = grid;
    launch.block = block;
    launch.warp_size = warp_size_;
    launch.shared_bytes = shared_bytes;
    launch.kernel = kernel;
    launch.arguments = arguments;
    launch.seed = random_();
    launch.offset = random_() % launch.grid;
    do {
      launch.multiplier = 1 + random_() % launch.grid;
    } while (std::gcd(launch.multiplier, launch.grid) != 1);
    launch.observation = observation_;
    launch.name = name_;
    for (const Counter counter : kSimulatedCounters) launch.counters[counter] = 0;
  }

  void finish(Launch& launch) {
    if (launch.failure) std::rethrow_exception(launch.failure);
    if (observation_ == nullptr || !observation_->count) return;
    std::uint64_t most = 0;
    for (const auto& [address, lanes] : launch.atomic_lanes) most = std::max(most, lanes);
    launch.counters[Counter::global_atomic_lanes_at_one] = static_cast<double>(most);
    observation_->launches.push_back(launch.counters);
  }

  std::mt19937_64 random_;
  unsigned warp_size_;
  Observation* observation_ = nullptr;
  std::string name_;
  Pool pool_{Fibers::Use::busy};
  std::size_t workers_ = 0;
  // Many that mostly wait; made when they are needed.
  Pool cooperative_pool_{Fibers::Use::spare};
};

Simulator::Simulator(std::uint64_t seed, unsigned workers, unsigned warp_size)
    : implementation_(std::make_unique<Implementation>(seed, workers, warp_size)) {}

Simulator::~Simulator() = default;

void Simulator::name_kernels(std::string_view name) {
  implementation_->name_kernels(name);
}

void Simulator::observe(Observation* observation) {
  implementation_->observe(observation);
}

void Simulator::launch(unsigned grid, unsigned block, std::size_t shared_bytes,
                       void (*kernel)(const void* arguments), const void* arguments) {
  implementation_->launch(grid, block, shared_bytes, kernel, arguments);
}

void Simulator::launch_cooperative(unsigned grid, unsigned block, std::size_t shared_bytes,
                                   void (*kernel)(const void* arguments), const void* arguments) {
  implementation_->launch_cooperative(grid, block, shared_bytes, kernel, arguments);
}

}  // namespace reduce_ladder::simt
