// Sixteen bytes of values, which a GPU loads by one instruction.
#pragma once

namespace reduce_ladder {

inline constexpr unsigned kVectorBytes = 16;

template <typename T>
inline constexpr unsigned kLanes = kVectorBytes / sizeof(T);

template <typename T>
struct alignas(kVectorBytes) Vector {
  T lane[kLanes<T>];
};

}  // namespace reduce_ladder
