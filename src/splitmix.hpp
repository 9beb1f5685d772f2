// Random bits as a pure function of a position: what is drawn does not depend on who draws it when.
#pragma once

#include <cstdint>

namespace reduce_ladder {

// Output number `position` of SplitMix64 started at 0 (Steele, Lea, Flood 2014, with Stafford's
// mixer 13). Neighbouring positions give unrelated bits.
constexpr std::uint64_t splitmix64(std::uint64_t position) {
  std::uint64_t bits = (position + 1) * 0x9e3779b97f4a7c15U;
  bits = (bits ^ bits >> 30U) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ bits >> 27U) * 0x94d049bb133111ebU;
  return bits ^ bits >> 31U;
}

}  // namespace reduce_ladder
