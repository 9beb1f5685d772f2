// Stacks that take turns on one host thread, by Boost.Context.
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace reduce_ladder::simt {

// A fixed number of fibers that all run the same body, which must not return.
// Made, used and destroyed on one host thread.
class Fibers {
 public:
  using Id = unsigned;
  // Thrown through a body by restart_all() and the destructor; must not be caught for good.
  using Unwinding = boost::context::detail::forced_unwind;

  // Large pages are quicker to run on; small ones take less memory where few stacks are in use.
  enum class Use { busy, spare };

  Fibers(Id count, Use use, std::function<void()> body);
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  // The stack of the host thread itself.
  [[nodiscard]] Id home() const { return count_; }
  [[nodiscard]] Id running() const { return running_; }

  // Leaves the running fiber and runs `target`, from its beginning if it has not begun yet. Returns
  // when another fiber switches back.
  void switch_to(Id target) {
    if (!contexts_[target]) begin(target);
    previous_ = std::exchange(running_, target);
    arrive(std::move(contexts_[target]).resume());
  }

  // Called at home: unwinds all stacks; every fiber begins its body anew.
  void restart_all();

 private:
  void begin(Id fiber);
  // The first thing on a stack that runs again: keeps the context of the stack that was left for
  // it.
  void arrive(boost::context::fiber&& from) { contexts_[previous_] = std::move(from); }

  Id count_;
  Id running_;
  Id previous_;
  std::function<void()> body_;
  std::byte* stacks_;
  std::vector<boost::context::fiber>
      contexts_;  // of fibers that do not run; empty before they begin
};

}  // namespace reduce_ladder::simt
