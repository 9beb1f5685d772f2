// Stacks that take turns on one host thread.
//
// Boost.Context switches stacks on any architecture. But it leaves a stack by a call and enters the
// next one by a jump, and so puts the processor's return predictor out of step: every return after
// a switch is mispredicted, which costs more than the switch itself. Where a switch of our own
// exists, which enters by a return, it is used instead; REDUCE_LADDER_BOOST_FIBERS asks for Boost
// all the same.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#if !defined(__x86_64__) && !defined(__aarch64__) && !defined(REDUCE_LADDER_BOOST_FIBERS)
#define REDUCE_LADDER_BOOST_FIBERS
#endif

#ifdef REDUCE_LADDER_BOOST_FIBERS
#include <boost/context/fiber.hpp>
#endif

namespace reduce_ladder::simt {

// A fixed number of fibers that all run the same body, which never returns and lets no exception
// out. Made, used and destroyed on one host thread.
class Fibers {
 public:
  using Id = unsigned;

  Fibers(Id count, std::function<void()> body);
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  // The stack of the host thread itself.
  [[nodiscard]] Id home() const { return count_; }
  [[nodiscard]] Id running() const { return running_; }

  // Leaves the running fiber and runs `target`, from its beginning if it has not begun yet. Returns
  // when another fiber switches back.
  void switch_to(Id target);

  // Fetches the hot end of a stack that will be switched to soon.
  void prefetch(Id fiber) const;

  // Called at home: forgets where every fiber is; each begins its body anew. What a fiber that was
  // in the middle of its body owns there may be lost.
  void restart_all();

 private:
  static constexpr std::size_t kStackBytes = std::size_t{32} * 1024 + 192;
  void begin(Id fiber);
  [[noreturn]] void run_body() const;

  Id count_;
  Id running_;
  std::function<void()> body_;
  std::byte* stacks_;
#ifdef REDUCE_LADDER_BOOST_FIBERS
  Id previous_;
  std::vector<boost::context::fiber> contexts_;
#else
  static void enter(Fibers* self);
  std::vector<void*> stack_pointers_;  // of fibers that do not run; null where none has begun
#endif
};

#ifdef REDUCE_LADDER_BOOST_FIBERS

inline void Fibers::prefetch(Id /*fiber*/) const {}

#else

// Saves what a call must preserve on the running stack, leaves the stack pointer at *from, and
// returns on the stack `to`, which was left in the same way.
extern "C" void reduce_ladder_switch_stack(void** from, void* to);

inline void Fibers::switch_to(Id target) {
  if (stack_pointers_[target] == nullptr) begin(target);
  const Id from = running_;
  running_ = target;
  reduce_ladder_switch_stack(&stack_pointers_[from], stack_pointers_[target]);
}

inline void Fibers::prefetch(Id fiber) const {
  const auto* stack = static_cast<const std::byte*>(stack_pointers_[fiber]);
  for (std::size_t line = 0; line < 4; ++line) __builtin_prefetch(stack + 64 * line);
}

#endif

}  // namespace reduce_ladder::simt
