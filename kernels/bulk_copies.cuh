// Copies to shared memory by the GPU's copy engine, of compute capability 9.0 and later. Code for
// earlier ones is there to be compiled, and never to run.
#pragma once

#include <cstdint>

#include "reduce_ladder/stage.hpp"

namespace reduce_ladder::inline cuda_backend {

inline constexpr bool kHasBulkCopies = true;

// A barrier in shared memory (an mbarrier) that one thread arrives at and that then waits for the
// bytes announced to it. See "mbarrier" and "cp.async.bulk" in the PTX ISA.
using CopyBarrier = ControlWord;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define REDUCE_LADDER_BULK_COPY(instruction, ...) asm volatile(instruction __VA_ARGS__)
#else
#define REDUCE_LADDER_BULK_COPY(instruction, ...) __trap()
#endif

__device__ inline std::uint32_t shared_address(const void* address) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(address));
}

// Barriers in the shared memory from `begin` on, which lies on an 8-byte border.
template <typename T>
__device__ CopyBarrier* copy_barriers(T* begin) {
  return reinterpret_cast<CopyBarrier*>(begin);
}

__device__ inline void make_copy_barrier(CopyBarrier& barrier) {
  REDUCE_LADDER_BULK_COPY("mbarrier.init.shared::cta.b64 [%0], 1;", ::"r"(shared_address(&barrier))
                          : "memory");
}

// Makes barriers that this thread has made known to the copy engine. Other threads of the block
// have to wait for this one before they use them.
__device__ inline void publish_copy_barriers(CopyBarrier* /*barriers*/) {
  REDUCE_LADDER_BULK_COPY("fence.proxy.async.shared::cta;", ::: "memory");
}

// Asks for `bytes` bytes, a multiple of 16, from one 16-byte border to another. They are there when
// the barrier's phase is complete.
__device__ inline void copy_to_shared(void* to, const void* from, std::uint32_t bytes,
                                      CopyBarrier& barrier) {
  REDUCE_LADDER_BULK_COPY("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;",
                          ::"r"(shared_address(&barrier)), "r"(bytes)
                          : "memory");
  REDUCE_LADDER_BULK_COPY(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];",
      ::"r"(shared_address(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes),
      "r"(shared_address(&barrier))
      : "memory");
}

// Waits for the phase with this parity; the first one of a barrier has parity 0.
__device__ inline void wait_for_copy(CopyBarrier& barrier, unsigned parity) {
  unsigned complete = 0;
  while (complete == 0) {
    REDUCE_LADDER_BULK_COPY(
        "{ .reg .pred done;"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;"
        "selp.u32 %0, 1, 0, done; }",
        : "=r"(complete)
        : "r"(shared_address(&barrier)), "r"(parity)
        : "memory");
  }
}

#undef REDUCE_LADDER_BULK_COPY

}  // namespace reduce_ladder::inline cuda_backend
