// Every load went through the registers of the thread that waited for it.
// Here one thread asks the copy engine for whole tiles ahead of time, and they arrive in a ring of
// shared memory while the block adds the tile before.
#pragma once

#include "11_last_block.cuh"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

inline constexpr unsigned kSlots = 4;          // of the ring
inline constexpr unsigned kTileVectors = 512;  // 8 KiB

template <typename T, typename Op, unsigned kBlock>
__global__ void __launch_bounds__(kBlock)
    bulk_copy(GlobalArray<const T> in, Index n, GlobalArray<T> partials,
              GlobalArray<ControlWord> tickets, GlobalArray<T> result) {
  constexpr unsigned kTile = kTileVectors * kLanes<T>;
  SharedArray<T> ring = shared_memory<T>();
  SharedArray<T> scratch = ring + kSlots * kTile;
  auto* const arrived = copy_barriers(scratch + 32);

  const unsigned t = threadIdx.x;
  const Index thread = Index{blockIdx.x} * kBlock + t;
  const Index before = values_before_border(in);
  const Index head = before < n ? before : n;
  const Index vectors = (n - head) / kLanes<T>;
  const Index tail = head + vectors * kLanes<T>;
  const Index tiles = (vectors + kTileVectors - 1) / kTileVectors;
  const auto size_of = [&](Index tile) {
    const Index left = vectors - tile * kTileVectors;
    return static_cast<unsigned>(left < kTileVectors ? left : kTileVectors);
  };
  const auto ask_for = [&](Index tile, unsigned slot) {
    if (tile < tiles) {
      copy_to_shared(ring + slot * kTile, in + head + tile * kTile, size_of(tile) * kVectorBytes,
                     arrived[slot]);
    }
  };

  if (t == 0) {
    for (unsigned slot = 0; slot < kSlots; ++slot) make_copy_barrier(arrived[slot]);
    publish_copy_barriers(arrived);
    for (unsigned slot = 0; slot < kSlots; ++slot) {
      ask_for(blockIdx.x + Index{slot} * gridDim.x, slot);
    }
  }
  T sum = thread < head ? in[thread] : Op::identity();
  if (tail + thread < n) sum = Op::combine(sum, in[tail + thread]);
  __syncthreads();
  unsigned slot = 0;
  unsigned turn = 0;  // of the ring, modulo 2
  for (Index tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    wait_for_copy(arrived[slot], turn);
    for (unsigned v = t; v < size_of(tile); v += kBlock) {
      sum = Op::combine(sum, lane_tree<Op>(load_vector(ring + slot * kTile, v * kLanes<T>)));
    }
    __syncthreads();  // all have read the slot
    if (t == 0) ask_for(tile + Index{kSlots} * gridDim.x, slot);
    slot = (slot + 1) % kSlots;
    if (slot == 0) turn ^= 1U;
  }

  sum = block_tree<Op, kBlock>(sum, scratch);
  bool last = false;
  if (t == 0) {
    partials[blockIdx.x] = sum;
    last = fetch_add(tickets, ControlWord{1}, memory_order_acq_rel) == gridDim.x - 1;
  }
  if (!__syncthreads_or(last)) return;
  sum = block_tree<Op, kBlock>(fold_partials<Op, kBlock>(partials), scratch);
  if (t == 0) {
    result[0] = sum;
    tickets[0] = 0;
  }
}

template <typename T>
Plan bulk_copy_plan(Index n, const Shape& shape) {
  constexpr Index kTile = Index{kTileVectors} * kLanes<T>;
  constexpr Index kBlocksAMultiprocessor = 4;  // 128 KiB of rings
  const Index most = std::min(shape.machine.multiprocessors * kBlocksAMultiprocessor,
                              resident_vector_blocks(shape.threads(), shape.machine));
  const Index tiles = rounds(n, kTile);
  const Index grid = shape.grid.value_or(static_cast<unsigned>(std::clamp<Index>(tiles, 1, most)));
  const unsigned block = shape.threads();
  const Pass pass{
      .n = n,
      .grid = static_cast<unsigned>(grid),
      .block = block,
      // The ring, a value a warp, and the barriers of the slots.
      .shared_values =
          static_cast<unsigned>(kSlots * kTile + 32 + kSlots * sizeof(ControlWord) / sizeof(T)),
      .depth = 1 + tree_depth(kLanes<T>) + rounds(tiles, grid) * rounds(kTileVectors, block) +
               tree_depth(block) + rounds(grid, block) + tree_depth(block)};
  return {.passes = {pass}, .scratch = pass.grid, .control = 1};
}

template <typename T, typename Op>
void launch_bulk_copy(const Plan& plan, const Problem<T>& problem) {
  if constexpr (kHasBulkCopies) {
    const Pass& pass = plan.passes.front();
    with_constant_block(pass.block, [&](auto block) {
      launch<T>(bulk_copy<T, Op, block>, pass, problem.queue, problem.input, pass.n,
                problem.workspace, problem.control, problem.output);
    });
  }
}

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
