// Whatever the precision, a sum that is rounded on the way depends on the order of the additions.
// Here nothing is rounded until the end: a thread adds values of like size to a bin of their own in
// fp64, which is exact for a while; then bins become whole numbers, which all blocks add to
// counters by integer atomics, and the last block carries and rounds once.
#pragma once

#include "11_last_block.cuh"

namespace reduce_ladder::inline REDUCE_LADDER_BACKEND {

// A value belongs to the bin that the upper four bits of its exponent name. The values of bin b are
// whole multiples of its unit 2^(16b - 150), and smaller than 2^39 of it; so 2^13 of them add up to
// 2^52 units, and fp64 adds them without rounding. The last bin also takes infinities and NaN.
inline constexpr unsigned kBins = 16;
inline constexpr unsigned kBitsABin = 16;
inline constexpr int kLowestUnit = -150;
// Rounds of loads until bins are emptied: less than 2^13 values a thread, with what is left over.
inline constexpr unsigned kRoundsExact = 480;
// Threads of a block that have bins, which take 128 bytes each. More threads stand by.
inline constexpr unsigned kMostWithBins = 256;
template <unsigned kBlock>
inline constexpr unsigned kThreadsWithBins = std::min(kBlock, kMostWithBins);

// The words that all blocks share. A bin has two counters, of the lower and the upper 32 bits of
// what blocks add, so that neither overflows before 2^31 additions.
inline constexpr unsigned kTicket = 0;
inline constexpr unsigned kCounters = 1;
inline constexpr unsigned kSpecials = kCounters + 2 * kBins;  // threads that met +inf, -inf, NaN
inline constexpr unsigned kExactWords = kSpecials + 3;

// The whole sum is a number of digits to the base 2^16, a lane each; a counter of bin b begins at
// digit b. 2^40 values of any size, the most there can be, need 20 digits, and the one on top has
// the sign.
inline constexpr unsigned kTopDigit = 21;

__device__ inline double power_of_two(int exponent) {
  return same_bits<double>(static_cast<ControlWord>(1023 + exponent) << 52U);
}

__device__ inline unsigned bin_of(float value) {
  return same_bits<unsigned>(value) >> 27U & (kBins - 1);
}

// Adds the bins of all threads to the counters. `used` says which ones this thread has written. All
// threads of the block call it.
template <unsigned kBlock>
__device__ void empty_bins(SharedArray<double> bins, unsigned used,
                           GlobalArray<ControlWord> words) {
  constexpr unsigned kThreads = kThreadsWithBins<kBlock>;
  const SharedArray<unsigned> masks = shared_memory<unsigned>();
  constexpr unsigned kMasks = 2 * kThreads * kBins;  // behind the bins, in words of half their size
  const unsigned t = threadIdx.x;
  const unsigned lane = t % 32;
  unsigned any = used;
  for (unsigned s = 16; s > 0; s /= 2) any |= shuffle_down(any, s);
  if (lane == 0) masks[kMasks + t / 32] = any;
  __syncthreads();
  any = 0;
  for (unsigned warp = 0; warp < kThreads / 32; ++warp) any |= masks[kMasks + warp];
  unsigned missing = t < kThreads ? any & ~used : 0;
  while (missing != 0) {
    const auto bin = static_cast<unsigned>(31 - __clz(static_cast<int>(missing)));
    bins[bin * kThreads + t] = 0;
    missing ^= 1U << bin;
  }
  __syncthreads();
  for (unsigned bin = t / 32; bin < kBins; bin += kBlock / 32) {
    if ((any >> bin & 1U) == 0) continue;
    const double units = power_of_two(-kLowestUnit - static_cast<int>(kBitsABin * bin));
    long long sum = 0;  // NOLINT(google-runtime-int): as wide as the words
    for (unsigned i = lane; i < kThreads; i += 32) {
      const double value = bins[bin * kThreads + i];
      if (value - value == 0) {
        sum += static_cast<long long>(value * units);  // NOLINT(google-runtime-int): likewise
      } else {
        const unsigned kind = value > 0 ? 0 : value < 0 ? 1 : 2;
        fetch_add(words + kSpecials + kind, ControlWord{1}, memory_order_relaxed);
      }
    }
    for (unsigned s = 16; s > 0; s /= 2) sum += shuffle_down(sum, s);
    if (lane == 0 && sum != 0) {
      const GlobalArray<ControlWord> counters = words + (kCounters + 2 * bin);
      fetch_add(counters, static_cast<ControlWord>(sum) & 0xffffffffU, memory_order_relaxed);
      fetch_add(counters + 1, static_cast<ControlWord>(sum >> 32), memory_order_relaxed);
    }
  }
  __syncthreads();
}

// Carries until every digit but the one on top lies from 0 to 2^16 - 1. A whole warp calls it, each
// lane with its digit.
__device__ inline int carried(int digit) {
  const unsigned lane = threadIdx.x % 32;
  bool settled = false;
  while (!settled) {
    const int carry = lane < kTopDigit ? digit >> 16 : 0;
    const int from_below = __shfl_sync(0xffffffff, carry, (lane + 31) % 32);
    digit -= carry * 65536;
    if (lane > 0) digit += from_below;
    settled = __ballot_sync(0xffffffff, lane < kTopDigit && digit >> 16 != 0) == 0;
  }
  return digit;
}

// The number of these digits in units of the lowest one, rounded once, to nearest, ties to even.
__device__ inline float rounded(int digit) {
  const unsigned lane = threadIdx.x % 32;
  digit = carried(digit);
  const bool negative = __shfl_sync(0xffffffff, digit, kTopDigit) < 0;
  if (negative) digit = carried(-digit);
  const unsigned used = __ballot_sync(0xffffffff, lane <= kTopDigit && digit != 0);
  if (used == 0) return 0;
  // The upper three digits have more bits than a float32. Whether anything follows them decides
  // between two neighbours, and one bit tells it.
  const int top = 31 - __clz(static_cast<int>(used));
  ControlWord upper = 0;
  for (int i = top; i > top - 3; --i) {
    const int next = __shfl_sync(0xffffffff, digit, static_cast<unsigned>(i) % 32);
    upper = upper << kBitsABin | (i < 0 ? 0U : static_cast<unsigned>(next));
  }
  if (top > 2 && (used & ((1U << static_cast<unsigned>(top - 2)) - 1)) != 0) upper |= 1U;
  const double magnitude = static_cast<double>(upper) *
                           power_of_two(kLowestUnit + static_cast<int>(kBitsABin) * (top - 2));
  return static_cast<float>(negative ? -magnitude : magnitude);
}

// The sum that the counters hold; they are zero afterwards. A whole warp calls it.
__device__ inline float sum_of(GlobalArray<ControlWord> words) {
  const unsigned lane = threadIdx.x % 32;
  ControlWord lower = 0;
  ControlWord upper = 0;
  bool met = false;
  if (lane < kBins) {
    lower = words[kCounters + 2 * lane];
    upper = words[kCounters + 2 * lane + 1];
    words[kCounters + 2 * lane] = 0;
    words[kCounters + 2 * lane + 1] = 0;
  }
  if (lane < 3) {
    met = words[kSpecials + lane] != 0;
    words[kSpecials + lane] = 0;
  }
  // Each counter falls into four digits, the uppermost of the upper one with its sign. 32 bits are
  // two digits, so the upper counter begins two digits higher.
  int digit = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const ControlWord from_lower = __shfl_sync(0xffffffff, lower, (lane - i) % 32);
    const ControlWord from_upper = __shfl_sync(0xffffffff, upper, (lane - i - 2) % 32);
    const auto part = [i](ControlWord counter) {
      return static_cast<int>(counter >> (kBitsABin * i) & 0xffffU);
    };
    if (lane >= i && lane - i < kBins) digit += part(from_lower);
    if (lane >= i + 2 && lane - i - 2 < kBins) {
      digit += i < 3 ? part(from_upper) : (part(from_upper) ^ 0x8000) - 0x8000;
    }
  }
  const unsigned specials = __ballot_sync(0xffffffff, met);
  if (specials == 0) return rounded(digit);
  constexpr unsigned kInfinity = 0x7f800000;
  constexpr unsigned kNan = 0x7fc00000;
  return same_bits<float>(specials == 1   ? kInfinity
                          : specials == 2 ? kInfinity | 0x80000000U
                                          : kNan);
}

template <unsigned kBlock>
__global__ void __launch_bounds__(kBlock, least_resident_blocks(kBlock))
    exact_sum(GlobalArray<const float> in, Index n, GlobalArray<ControlWord> words,
              GlobalArray<float> result) {
  constexpr unsigned kThreads = kThreadsWithBins<kBlock>;
  SharedArray<double> bins = shared_memory<double>();  // [bin][thread]: lanes never meet in a bank
  const unsigned t = threadIdx.x;
  unsigned used = 0;  // a bit for each bin that has been written
  const auto add = [&](float value, double sum) {
    const unsigned bin = bin_of(value);
    const unsigned at = bin * kThreads + t;
    bins[at] = (used >> bin & 1U) == 0 ? sum : bins[at] + sum;
    used |= 1U << bin;
  };
  const auto take = [&](unsigned /*k*/, const auto& loaded) {
    if constexpr (sizeof(loaded) == sizeof(float)) {
      add(loaded, loaded);
    } else {
      const auto& x = loaded.lane;
      const unsigned bin = bin_of(x[0]);
      if (bin_of(x[1]) == bin && bin_of(x[2]) == bin && bin_of(x[3]) == bin) {
        add(x[0], (double{x[0]} + x[1]) + (double{x[2]} + x[3]));
      } else {
        for (unsigned l = 0; l < kLanes<float>; ++l) add(x[l], x[l]);
      }
    }
  };
  constexpr Index kRound = Index{kThreads} * kFourLoads * kLanes<float>;
  const Index stretch = gridDim.x * kRound * kRoundsExact;
  for (Index begin = 0; begin < n; begin += stretch) {
    const Index left = n - begin;
    if (t < kThreads) {
      take_share<kThreads, kFourLoads>(in + begin, left < stretch ? left : stretch,
                                       Index{blockIdx.x}, Index{gridDim.x}, 0.0F, take);
    }
    empty_bins<kBlock>(bins, used, words);
    used = 0;
  }
  // As rung 11: what this block added is out before it draws its ticket.
  bool last = false;
  if (t == 0) {
    last = fetch_add(words + kTicket, ControlWord{1}, memory_order_acq_rel) == gridDim.x - 1;
  }
  if (!__syncthreads_or(last) || t >= 32) return;
  const float sum = sum_of(words);
  if (t == 0) {
    words[kTicket] = 0;
    result[0] = sum;
  }
}

// Blocks with a round of loads for each thread, and no more than are resident. The result does not
// depend on them.
inline Plan exact_plan(Index n, const Shape& shape) {
  const auto [grid, block] = spread(n, Index{kFourLoads} * kLanes<float>, kMostWithBins, shape);
  constexpr unsigned kValues = kLanes<float> / kLanes<double>;  // that a bin takes the room of
  return {
      .passes = {{.n = n,
                  .grid = grid,
                  .block = block,
                  .shared_values = kValues * kBins * std::min(block, kMostWithBins) + block / 32}},
      .control = kExactWords};
}

inline void launch_exact(const Plan& plan, const Problem<float>& problem) {
  const Pass& pass = plan.passes.front();
  with_constant_block(pass.block, [&](auto block) {
    launch<float>(exact_sum<block>, pass, problem.queue, problem.input, pass.n, problem.control,
                  problem.output);
  });
}

}  // namespace reduce_ladder::inline REDUCE_LADDER_BACKEND
