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
#include <type_traits>

#include "reduce_ladder/place.hpp"
#include "reduce_ladder/stage.hpp"
#include "reduce_ladder/vector.hpp"

namespace reduce_ladder::simt {

inline constexpr unsigned kWarpSize = 32;

struct Coordinate {
  unsigned x;
};

// Of the simulated thread that runs on this host thread.
inline constinit thread_local Coordinate threadIdx{0};
inline constinit thread_local Coordinate blockIdx{0};
inline constinit thread_local Coordinate blockDim{0};
inline constinit thread_local Coordinate gridDim{0};

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
enum class WarpOperation { barrier, shuffle, ballot };
void meet(WarpOperation operation, unsigned mask, std::uint64_t bits, unsigned source, Place where);
// What the running lane asked for when it last met others: the bits of the lane `source`, or, of a
// ballot, a bit for each lane that met there with bits that are not zero.
std::uint64_t taken();

// __syncwarp, shuffles and ballots: a meeting of lanes that orders their accesses to memory.
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
[[noreturn]] void fault_shared_index(std::size_t index, std::size_t size);

// A word of memory that a thread may read and write.
template <typename T>
class Word {
 public:
  explicit Word(T* address) : address_(address) {}
  Word(const Word&) = default;
  operator T() const {  // NOLINT(google-explicit-constructor): reads like the T& that CUDA gives
    settle();
    return *address_;
  }
  Word& operator=(T value) {
    settle();
    *address_ = value;
    return *this;
  }
  Word& operator=(const Word& other) {  // NOLINT(bugprone-unhandled-self-assignment): harmless here
    *this = static_cast<T>(other);
    return *this;
  }

 private:
  T* address_;
};

// Global memory, where CUDA code has a T*.
template <typename T>
class GlobalArray {
 public:
  GlobalArray(T* base) : base_(base) {}  // NOLINT(google-explicit-constructor): as above

  auto operator[](Index i) const {
    if constexpr (std::is_const_v<T>) {
      settle();
      return base_[i];
    } else {
      return Word<T>(base_ + i);
    }
  }
  GlobalArray operator+(Index i) const { return base_ + i; }
  [[nodiscard]] T* address() const { return base_; }

 private:
  T* base_;
};

[[noreturn]] void fault_misaligned(const void* address);

// The vector at array + i. Throws SimulatorFault unless it lies on a border of its size.
template <typename T>
Vector<std::remove_const_t<T>> load_vector(GlobalArray<T> array, Index i) {
  settle();
  const T* const address = array.address() + i;
  if (reinterpret_cast<std::uintptr_t>(address) % kVectorBytes != 0) fault_misaligned(address);
  Vector<std::remove_const_t<T>> vector;
  std::memcpy(&vector, address, sizeof vector);
  return vector;
}

// Dynamic shared memory as an array of T, bounds checked.
template <typename T>
class SharedArray {
 public:
  SharedArray() : base_(reinterpret_cast<T*>(shared.base)), size_(shared.size / sizeof(T)) {}

  Word<T> operator[](std::size_t i) const {
    if (i >= size_) fault_shared_index(i, size_);
    return Word<T>(base_ + i);
  }

 private:
  T* base_;
  std::size_t size_;
};

template <typename T>
T atomic_add(GlobalArray<T> address, T value) {
  settle();
  return std::atomic_ref<T>(*address.address()).fetch_add(value, std::memory_order_relaxed);
}

// Accesses that threads of different blocks may make at the same time. A thread that looks again
// and again for what another stores gives way to it at each look; that one's block has to have
// begun.
template <typename T>
T fetch_add(GlobalArray<T> word, T value, std::memory_order order) {
  settle();
  return std::atomic_ref<T>(*word.address()).fetch_add(value, order);
}
template <typename T>
void store(GlobalArray<T> word, T value, std::memory_order order) {
  settle();
  std::atomic_ref<T>(*word.address()).store(value, order);
}
void give_way();
template <typename T>
T load(GlobalArray<T> word, std::memory_order order) {
  settle();
  give_way();
  return std::atomic_ref<T>(*word.address()).load(order);
}

[[noreturn]] void fault_shuffle_width(unsigned width);

// The value of the lane `source`.
template <typename T>
T shuffle(unsigned mask, T value, unsigned source, Place where) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = warp_exchange(WarpOperation::shuffle, mask, bits, source, where);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

template <typename T>
T shuffle_down(unsigned mask, T value, unsigned delta, unsigned width, Place where) {
  if (!std::has_single_bit(width) || width > kWarpSize) fault_shuffle_width(width);
  const unsigned lane = threadIdx.x % kWarpSize;
  return shuffle(mask, value, lane % width + delta < width ? lane + delta : lane, where);
}

// Runs launches one after the other. Not for use from several host threads at once.
class Simulator {
 public:
  // `workers` host threads run blocks; with one worker a launch is a function of the seed alone.
  Simulator(std::uint64_t seed, unsigned workers);
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

 private:
  void launch(unsigned grid, unsigned block, std::size_t shared_bytes,
              void (*kernel)(const void* arguments), const void* arguments);
  void launch_cooperative(unsigned grid, unsigned block, std::size_t shared_bytes,
                          void (*kernel)(const void* arguments), const void* arguments);

  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace reduce_ladder::simt
