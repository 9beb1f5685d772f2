#include "fibers.hpp"

#include <sys/mman.h>

#include <boost/context/preallocated.hpp>
#include <exception>

#include "reduce_ladder/errors.hpp"

namespace reduce_ladder::simt {
namespace {

// The odd part keeps the hot ends of the stacks out of each other's cache sets.
constexpr std::size_t kStackBytes = std::size_t{32} * 1024 + 192;

// The stacks are one piece of memory; a fiber that ends has nothing to give back.
struct NothingToDeallocate {
  void deallocate(boost::context::stack_context& /*stack*/) const noexcept {}
};

}  // namespace

Fibers::Fibers(Id count, Use use, std::function<void()> body)
    : count_(count), running_(count), previous_(count), body_(std::move(body)) {
  void* memory = mmap(nullptr, count * kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw OutOfMemoryError("out of memory for the simulator's stacks");
  // Only the hot end of each stack is touched: with small pages every switch would miss the TLB.
  if (use == Use::busy) madvise(memory, count * kStackBytes, MADV_HUGEPAGE);
  stacks_ = static_cast<std::byte*>(memory);
  contexts_.resize(count_ + 1);
}

Fibers::~Fibers() {
  contexts_.clear();
  munmap(stacks_, count_ * kStackBytes);
}

void Fibers::restart_all() {
  for (boost::context::fiber& context : contexts_) context = {};
}

void Fibers::begin(Id fiber) {
  boost::context::stack_context stack;
  stack.size = kStackBytes;
  stack.sp = stacks_ + (fiber + 1) * kStackBytes;
  contexts_[fiber] = boost::context::fiber(
      std::allocator_arg, boost::context::preallocated(stack.sp, stack.size, stack),
      NothingToDeallocate{}, [this](boost::context::fiber&& from) -> boost::context::fiber {
        arrive(std::move(from));
        body_();
        std::terminate();  // there is nothing to return to
      });
}

}  // namespace reduce_ladder::simt
