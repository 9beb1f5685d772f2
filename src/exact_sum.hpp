// The exact sum of float32 values, in whatever order they come.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace reduce_ladder {

// A whole number of 384 bits, not negative: room for 2^64 float32 values of any size, in units of
// the smallest one.
class WideNumber {
 public:
  // Adds value * 2^shift, for a shift of at most 253.
  void add(std::uint64_t value, unsigned shift);
  void add(const WideNumber& other);
  // *this - other, which is not larger.
  [[nodiscard]] WideNumber minus(const WideNumber& other) const;
  [[nodiscard]] bool operator<(const WideNumber& other) const;
  // *this * 2^-149 with so many significant bits, 53 at most, to nearest, ties to even.
  [[nodiscard]] double rounded(unsigned bits) const;

 private:
  static constexpr unsigned kWords = 6;
  [[nodiscard]] unsigned bit_length() const;
  [[nodiscard]] bool bit(unsigned position) const;

  std::array<std::uint64_t, kWords> words_{};  // the lowest first
};

// A superaccumulator: a bin of 64 bits for each sign and exponent, into which the mantissas go as
// whole numbers, folded into wide numbers now and then (Neal 2015, "Fast exact summation using
// small and large superaccumulators", arXiv 1505.05571). Sums of NaN and infinities are as in IEEE
// arithmetic in any order: NaN where there is one or both infinities, else the infinity.
class ExactSum {
 public:
  void add(std::span<const float> values);
  void add(const ExactSum& other);

  // To nearest, ties to even; +0 where all cancels. The float32 can overflow to an infinity.
  [[nodiscard]] double as_double() const;
  [[nodiscard]] float as_float() const;
  // The sum of the magnitudes.
  [[nodiscard]] double magnitudes() const;
  // The sums of the finite values above and below zero.
  [[nodiscard]] double finite_above() const { return above_.rounded(53); }
  [[nodiscard]] double finite_below() const { return -below_.rounded(53); }

 private:
  [[nodiscard]] double rounded(unsigned bits) const;
  void note_specials(std::span<const float> values);

  WideNumber above_;
  WideNumber below_;  // as a magnitude
  bool nan_ = false;
  bool positive_infinity_ = false;
  bool negative_infinity_ = false;
};

}  // namespace reduce_ladder
