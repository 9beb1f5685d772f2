// A simulator of the SIMT machine: blocks spread over the host's cores, every thread of a block a
// fiber.
//
// A thread does not stop at a block barrier: it counts it, runs on, and stops before its next
// access to memory or its next meeting with lanes of its warp, until its whole block has arrived.
// Nothing in between can tell the difference, and a thread that only walks from barrier to barrier
// costs next to nothing. Every access of a kernel to memory therefore goes through the array types
// below.
//
// Stricter than a GPU: a thread that ends without coming to a barrier that others of its block come
// to is a fault, and so are barriers of one block at different places of the source. A kernel may
// use 32 KiB of stack.
//
// Scheduling is drawn from a seed: the order of blocks in a launch, and the order in which the
// threads of a block begin. Threads of one block never run at the same time; blocks do.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "reduce_ladder/counters.hpp"
#include "reduce_ladder/place.hpp"
#include "reduce_ladder/stage.hpp"
#include "reduce_ladder/vector.hpp"

namespace reduce_ladder::simt {

// Lanes that one mask names. A warp may have twice as many; it is then two halves, and the masks
// that a thread gives are of the half that it is in.
inline constexpr unsigned kWarpSize = 32;
inline constexpr unsigned kWideWarpSize = 64;

struct Coordinate {
  unsigned x;
};

// Of the simulated thread that runs on this host thread.
inline constinit thread_local Coordinate threadIdx{0};
inline constinit thread_local Coordinate blockIdx{0};
inline constinit thread_local Coordinate blockDim{0};
inline constinit thread_local Coordinate gridDim{0};
inline constinit thread_local unsigned warpSize = kWarpSize;

// A thread may run this many barriers ahead of its block before it has to wait.
inline constexpr std::size_t kBarriersAhead = 32;

// The block barriers of the running block, and how far the running thread has come.
struct Barriers {
  std::uint64_t reached = 0;   // that the running thread has come to
  std::uint64_t complete = 0;  // that all threads of its block are known to have come to
  std::uint64_t furthest = 0;  // that any other thread of its block has come to
  // Where in the source barrier b stands, at b % kBarriersAhead.
  std::array<Place, kBarriersAhead> places;
};
inline constinit thread_local Barriers barriers;

// Suspends the running thread until its block has come to all barriers that the thread has come to.
// Throws SimulatorFault that names the waiting threads if that can never happen.
void wait_for_block();

// Called before every access to memory.
inline void settle() {
  if (barriers.reached != barriers.complete) wait_for_block();
}

// Notes the place of the next barrier. Throws SimulatorFault if another thread came to a different
// one.
void note_place(const Place& where);

// __syncthreads. Throws SimulatorFault where threads of the block come to different barriers.
inline void block_barrier(Place where) {
  Barriers& state = barriers;
  if (state.reached - state.complete >= kBarriersAhead) wait_for_block();
  if (state.places[state.reached % kBarriersAhead] != where) note_place(where);
  ++state.reached;
}

// One more than the number of the barrier at which a thread of the running block last voted yes,
// for the votes at barrier b at b modulo the size. No thread is so far ahead that it meets an older
// one.
inline constinit thread_local std::array<std::uint64_t, 2 * kBarriersAhead> votes{};

// __syncthreads_or: whether any thread of the block voted yes. Waits for all of them.
inline bool block_barrier_or(bool vote, Place where) {
  const std::uint64_t barrier = barriers.reached;
  std::uint64_t& yes = votes[barrier % votes.size()];
  if (vote) yes = barrier + 1;
  block_barrier(where);
  settle();
  return yes == barrier + 1;
}

// A barrier of all blocks of a cooperative launch. Throws SimulatorFault in any other, or if some
// blocks end without coming to it.
void wait_for_other_blocks();
inline void grid_barrier(Place where) {
  block_barrier(where);
  settle();
  if (threadIdx.x == 0) wait_for_other_blocks();
  block_barrier(where);
  settle();
}

// Waits until all lanes of `mask` that still run meet, each with `bits` for the others to take.
// Throws SimulatorFault where lanes disagree about what they do, or ask for a lane that is not
// there.
enum class WarpOperation { barrier, shuffle, wide_shuffle, ballot };
void meet(WarpOperation operation, unsigned mask, std::uint64_t bits, unsigned source, Place where);
// What the running lane asked for when it last met others: the bits of the lane `source`, or, of a
// ballot, a bit for each lane that met there with bits that are not zero.
std::uint64_t taken();

// __syncwarp, shuffles and ballots: a meeting of lanes. It puts their accesses to memory in an
// order, which CUDA promises of __syncwarp alone.
inline std::uint64_t warp_exchange(WarpOperation operation, unsigned mask, std::uint64_t bits,
                                   unsigned source, Place where) {
  settle();
  meet(operation, mask, bits, source, where);
  return taken();
}

// The running block's dynamic shared memory, `size` bytes. Poisoned with NaN when the block begins.
struct SharedMemory {
  std::byte* base = nullptr;
  std::size_t size = 0;
};
inline constinit thread_local SharedMemory shared;
[[noreturn]] void fault_shared_index(std::size_t index, std::size_t size, std::size_t bytes,
                                     const Place& where);

// Whether accesses to memory are observed is an argument of the array types below, so that where
// they are not, they cost nothing more. An observer counts them, or checks them, or both.
enum class Space : unsigned char { global_memory, shared_memory };
enum class Access : unsigned char { load, store, atomic };

// What is to be observed, and what was seen. Global memory that is none of the arrays must not be
// touched.
struct Observation {
  struct Array {
    std::string name;
    const void* begin = nullptr;
    std::size_t bytes = 0;
    std::size_t offset = 0;  // of `begin` behind a 256-byte border of the simulated memory
    // For every 4 bytes, whether something was written there; empty where all is written before.
    std::vector<unsigned char> written = {};
  };
  bool count = false;
  bool check = false;
  std::vector<Array> arrays = {};
  std::vector<LaunchCounters> launches = {};  // counted, in the order in which they ran
};

struct Unobserved {
  struct Extent {
    Extent(const void* /*base*/) {}  // NOLINT(google-explicit-constructor): costs nothing
  };
  Unobserved(Space /*space*/, Extent /*extent*/, const Place& /*where*/) {}
  void note(Access /*access*/, const void* /*address*/, std::size_t /*bytes*/) const {}
};

struct Observed {
  // The array that a pointer belongs to; nothing belongs to the one past its end.
  struct Extent {
    Observation::Array* array = nullptr;
    Extent(const void* base);  // NOLINT(google-explicit-constructor): as CUDA's pointers
  };
  Space space;
  Observation::Array* array;
  Place where;

  Observed(Space space_, Extent extent, const Place& where_)
      : space(space_), array(extent.array), where(where_) {}
  // Throws SimulatorFault for an access that must not be.
  void note(Access access, const void* address, std::size_t bytes) const;
};

// Before a launch or between two: the host has written there.
void note_written(const void* begin, std::size_t bytes);

// An index, and where in the source it is used.
struct Subscript {
  Index i;
  Place where;
  Subscript(Index index, Place place = Place::here())  // NOLINT(google-explicit-constructor)
      : i(index), where(place) {}
};

// A word of memory that a thread may read and write.
template <typename T, typename Observer>
class Word {
 public:
  Word(T* address, Observer observer) : address_(address), observer_(observer) {}
  Word(const Word&) = default;
  operator T() const {  // NOLINT(google-explicit-constructor): reads like the T& that CUDA gives
    settle();
    observer_.note(Access::load, address_, sizeof(T));
    return *address_;
  }
  Word& operator=(T value) {
    settle();
    observer_.note(Access::store, address_, sizeof(T));
    *address_ = value;
    return *this;
  }
  Word& operator=(const Word& other) {  // NOLINT(bugprone-unhandled-self-assignment): harmless here
    *this = static_cast<T>(other);
    return *this;
  }

 private:
  T* address_;
  [[no_unique_address]] Observer observer_;
};

// Global memory, where CUDA code has a T*.
template <typename T, typename Observer = Unobserved>
class GlobalArray {
 public:
  GlobalArray(T* base) : base_(base), extent_(base) {}  // NOLINT(google-explicit-constructor)

  auto operator[](Subscript at) const {
    const Observer observer(Space::global_memory, extent_, at.where);
    if constexpr (std::is_const_v<T>) {
      settle();
      observer.note(Access::load, base_ + at.i, sizeof(T));
      return base_[at.i];
    } else {
      return Word<T, Observer>(base_ + at.i, observer);
    }
  }
  GlobalArray operator+(Index i) const { return {base_ + i, extent_}; }
  [[nodiscard]] T* address() const { return base_; }
  // Before an access that is none by subscript.
  void note(Access access, std::size_t bytes, const Place& where) const {
    settle();
    Observer(Space::global_memory, extent_, where).note(access, base_, bytes);
  }

 private:
  GlobalArray(T* base, typename Observer::Extent extent) : base_(base), extent_(extent) {}

  T* base_;
  [[no_unique_address]] typename Observer::Extent extent_;
};

[[noreturn]] void fault_misaligned(const void* address, const Place& where);

// The vector at array + i. Throws SimulatorFault unless it lies on a border of its size.
template <typename T, typename Observer>
Vector<std::remove_const_t<T>> load_vector(GlobalArray<T, Observer> array, Index i,
                                           Place where = Place::here()) {
  const T* const address = array.address() + i;
  if (reinterpret_cast<std::uintptr_t>(address) % kVectorBytes != 0) {
    fault_misaligned(address, where);
  }
  (array + i).note(Access::load, kVectorBytes, where);
  Vector<std::remove_const_t<T>> vector;
  std::memcpy(&vector, address, sizeof vector);
  return vector;
}

// Dynamic shared memory as an array of T, bounds checked.
template <typename T, typename Observer = Unobserved>
class SharedArray {
 public:
  static_assert(sizeof(T) >= 4, "shared memory is observed by words of a bank");
  SharedArray() : base_(reinterpret_cast<T*>(shared.base)), size_(shared.size / sizeof(T)) {}

  Word<T, Observer> operator[](Subscript at) const {
    if (at.i >= size_) fault_shared_index(at.i, size_, sizeof(T), at.where);
    return {base_ + at.i, Observer(Space::shared_memory, nullptr, at.where)};
  }

 private:
  T* base_;
  std::size_t size_;
};

template <typename T, typename Observer>
T atomic_add(GlobalArray<T, Observer> address, T value, Place where) {
  address.note(Access::atomic, sizeof(T), where);
  return std::atomic_ref<T>(*address.address()).fetch_add(value, std::memory_order_relaxed);
}

// Accesses that threads of different blocks may make at the same time. A thread that looks again
// and again for what another stores gives way to it at each look; that one's block has to have
// begun.
template <typename T, typename Observer>
T fetch_add(GlobalArray<T, Observer> word, T value, std::memory_order order,
            Place where = Place::here()) {
  word.note(Access::atomic, sizeof(T), where);
  return std::atomic_ref<T>(*word.address()).fetch_add(value, order);
}
template <typename T, typename Observer>
void store(GlobalArray<T, Observer> word, T value, std::memory_order order,
           Place where = Place::here()) {
  word.note(Access::store, sizeof(T), where);
  std::atomic_ref<T>(*word.address()).store(value, order);
}
void give_way();
template <typename T, typename Observer>
T load(GlobalArray<T, Observer> word, std::memory_order order, Place where = Place::here()) {
  settle();
  give_way();
  word.note(Access::load, sizeof(T), where);
  return std::atomic_ref<T>(*word.address()).load(order);
}

[[noreturn]] void fault_shuffle_width(unsigned width);
[[noreturn]] void fault_other_half(unsigned source, const Place& where);

// The value of the lane `source` of the warp.
template <typename T>
T shuffle(unsigned mask, T value, unsigned source, Place where) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  constexpr WarpOperation kind =
      sizeof(T) > 4 ? WarpOperation::wide_shuffle : WarpOperation::shuffle;  // two instructions
  if (source / kWarpSize != threadIdx.x % warpSize / kWarpSize) fault_other_half(source, where);
  bits = warp_exchange(kind, mask, bits, source % kWarpSize, where);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

template <typename T>
T shuffle_down(unsigned mask, T value, unsigned delta, unsigned width, Place where) {
  if (!std::has_single_bit(width) || width > warpSize) fault_shuffle_width(width);
  const unsigned lane = threadIdx.x % warpSize;
  return shuffle(mask, value, lane % width + delta < width ? lane + delta : lane, where);
}

// Runs launches one after the other. Not for use from several host threads at once.
class Simulator {
 public:
  // `workers` host threads run blocks; with one worker a launch is a function of the seed alone.
  // Warps have 32 or 64 lanes.
  Simulator(std::uint64_t seed, unsigned workers, unsigned warp_size = kWarpSize);
  ~Simulator();
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  // Calls `kernel` once for every thread of `grid` blocks of `block` threads (1 to kMaxBlock) and
  // returns when all have ended. Throws the first SimulatorFault; the launch is abandoned then.
  template <typename Kernel>
  void launch(unsigned grid, unsigned block, std::size_t shared_bytes, const Kernel& kernel) {
    launch(
        grid, block, shared_bytes,
        [](const void* arguments) { (*static_cast<const Kernel*>(arguments))(); }, &kernel);
  }

  // Likewise, with all blocks running at once, each on a host thread of its own. Throws
  // OutOfMemoryError where so many cannot be had.
  template <typename Kernel>
  void launch_cooperative(unsigned grid, unsigned block, std::size_t shared_bytes,
                          const Kernel& kernel) {
    launch_cooperative(
        grid, block, shared_bytes,
        [](const void* arguments) { (*static_cast<const Kernel*>(arguments))(); }, &kernel);
  }

  // What faults call the kernels of all launches until the next call; empty: they do not.
  void name_kernels(std::string_view name);

  // Observes all launches until the next call, of kernels whose arrays are observed; nullptr:
  // none. Arrays are to be known before a kernel's arguments are made.
  void observe(Observation* observation);

 private:
  void launch(unsigned grid, unsigned block, std::size_t shared_bytes,
              void (*kernel)(const void* arguments), const void* arguments);
  void launch_cooperative(unsigned grid, unsigned block, std::size_t shared_bytes,
                          void (*kernel)(const void* arguments), const void* arguments);

  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace reduce_ladder::simt
