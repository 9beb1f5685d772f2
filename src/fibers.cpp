#include "fibers.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>

#include "reduce_ladder/errors.hpp"

#ifdef REDUCE_LADDER_BOOST_FIBERS
#include <boost/context/preallocated.hpp>
#else
// Where a new stack begins: calls the function that begin() left for it.
extern "C" void reduce_ladder_begin_stack();

#if defined(__x86_64__)
asm(R"(
.text
.p2align 4
.globl reduce_ladder_switch_stack
.hidden reduce_ladder_switch_stack
.type reduce_ladder_switch_stack, @function
reduce_ladder_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size reduce_ladder_switch_stack, . - reduce_ladder_switch_stack

.p2align 4
.globl reduce_ladder_begin_stack
.hidden reduce_ladder_begin_stack
.type reduce_ladder_begin_stack, @function
reduce_ladder_begin_stack:
  .cfi_startproc
  .cfi_undefined rip
  movq %r12, %rdi
  call *%rbx
  ud2
  .cfi_endproc
.size reduce_ladder_begin_stack, . - reduce_ladder_begin_stack
)");
#elif defined(__aarch64__)
asm(R"(
.text
.p2align 4
.globl reduce_ladder_switch_stack
.hidden reduce_ladder_switch_stack
.type reduce_ladder_switch_stack, %function
reduce_ladder_switch_stack:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size reduce_ladder_switch_stack, . - reduce_ladder_switch_stack

.p2align 4
.globl reduce_ladder_begin_stack
.hidden reduce_ladder_begin_stack
.type reduce_ladder_begin_stack, %function
reduce_ladder_begin_stack:
  .cfi_startproc
  .cfi_undefined x30
  mov x0, x20
  blr x19
  brk #0
  .cfi_endproc
.size reduce_ladder_begin_stack, . - reduce_ladder_begin_stack
)");
#endif
#endif

namespace reduce_ladder::simt {

Fibers::Fibers(Id count, std::function<void()> body)
    : count_(count), running_(count), body_(std::move(body)) {
  void* memory = mmap(nullptr, count * kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw OutOfMemoryError("out of memory for the simulator's stacks");
  // Only the hot end of each stack is touched: with small pages every switch would miss the TLB.
  madvise(memory, count * kStackBytes, MADV_HUGEPAGE);
  stacks_ = static_cast<std::byte*>(memory);
  restart_all();
}

void Fibers::run_body() const {
  body_();
  std::terminate();  // there is nowhere to return to
}

#ifdef REDUCE_LADDER_BOOST_FIBERS

namespace {
// The stacks are one piece of memory; a fiber that ends has nothing to give back.
struct NothingToDeallocate {
  void deallocate(boost::context::stack_context& /*stack*/) const noexcept {}
};
}  // namespace

Fibers::~Fibers() {
  contexts_.clear();  // unwinds what is on the stacks
  munmap(stacks_, count_ * kStackBytes);
}

void Fibers::restart_all() {
  contexts_.clear();
  contexts_.resize(count_ + 1);
}

void Fibers::begin(Id fiber) {
  boost::context::stack_context stack;
  stack.size = kStackBytes;
  stack.sp = stacks_ + (fiber + 1) * kStackBytes;
  contexts_[fiber] = boost::context::fiber(
      std::allocator_arg, boost::context::preallocated(stack.sp, stack.size, stack),
      NothingToDeallocate{}, [this](boost::context::fiber&& from) {
        contexts_[previous_] = std::move(from);
        run_body();
        return boost::context::fiber();
      });
}

void Fibers::switch_to(Id target) {
  if (!contexts_[target]) begin(target);
  previous_ = std::exchange(running_, target);
  boost::context::fiber from = std::move(contexts_[target]).resume();
  contexts_[previous_] = std::move(from);
}

#else

Fibers::~Fibers() {
  munmap(stacks_, count_ * kStackBytes);
}

void Fibers::restart_all() {
  stack_pointers_.assign(count_ + 1, nullptr);
}

void Fibers::enter(Fibers* self) {
  self->run_body();
}

// Makes the stack look as if reduce_ladder_begin_stack had called reduce_ladder_switch_stack.
void Fibers::begin(Id fiber) {
  auto* top = reinterpret_cast<void**>(
      reinterpret_cast<std::uintptr_t>(stacks_ + (fiber + 1) * kStackBytes) / 16 * 16);
#if defined(__x86_64__)
  constexpr int kFrame = 8;  // r15 r14 r13 r12 rbx rbp, the return address, and one to align
  enum { kSelf = 3, kEnter = 4, kReturn = 6 };
#else
  constexpr int kFrame = 20;  // x19 to x30, d8 to d15
  enum { kEnter = 0, kSelf = 1, kReturn = 11 };
#endif
  void** frame = top - kFrame;
  std::fill(frame, top, nullptr);
  frame[kSelf] = this;
  frame[kEnter] = reinterpret_cast<void*>(&Fibers::enter);
  frame[kReturn] = reinterpret_cast<void*>(&reduce_ladder_begin_stack);
  stack_pointers_[fiber] = frame;
}

#endif

}  // namespace reduce_ladder::simt
