#include "exact_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace reduce_ladder {
namespace {

constexpr unsigned kMantissaBits = 23;
constexpr std::uint32_t kImplicitBit = 1U << kMantissaBits;
constexpr unsigned kExponents = 256;
constexpr unsigned kSpecial = kExponents - 1;  // the exponent of infinities and NaN
constexpr int kUnitExponent = -149;            // of the smallest float32
// Values that go into the bins before they are folded: 2^16 mantissas of 24 bits fit by far.
constexpr std::size_t kBetweenFolds = std::size_t{1} << 16U;
// One after the other, so that an addition to a bin need not wait for the one before.
constexpr std::size_t kBinSets = 2;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// By the sign and the exponent of a value, which are its upper nine bits.
using Bins = std::array<std::uint64_t, 2 * std::size_t{kExponents}>;

void add_to(Bins& bins, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t place = bits >> kMantissaBits;
  const std::uint32_t implicit = place % kExponents == 0 ? 0 : kImplicitBit;
  bins[place] += (bits & (kImplicitBit - 1)) | implicit;
}

}  // namespace

void WideNumber::add(std::uint64_t value, unsigned shift) {
  const unsigned offset = shift % 64;
  unsigned word = shift / 64;
  std::uint64_t low = value << offset;
  std::uint64_t high = offset == 0 ? 0 : value >> (64 - offset);
  // `high` takes the carry: it holds a shifted part, never all ones.
  words_[word] += low;
  high += words_[word] < low ? 1 : 0;
  while (high != 0 && ++word < kWords) {
    words_[word] += high;
    high = words_[word] < high ? 1 : 0;
  }
}

void WideNumber::add(const WideNumber& other) {
  std::uint64_t carry = 0;
  for (unsigned i = 0; i < kWords; ++i) {
    const std::uint64_t sum = words_[i] + other.words_[i];
    const std::uint64_t with_carry = sum + carry;
    carry = (sum < words_[i] ? 1 : 0) + (with_carry < sum ? 1 : 0);
    words_[i] = with_carry;
  }
}

WideNumber WideNumber::minus(const WideNumber& other) const {
  WideNumber difference;
  std::uint64_t borrow = 0;
  for (unsigned i = 0; i < kWords; ++i) {
    const std::uint64_t left = words_[i] - other.words_[i];
    difference.words_[i] = left - borrow;
    borrow = (words_[i] < other.words_[i] ? 1 : 0) + (left < borrow ? 1 : 0);
  }
  return difference;
}

bool WideNumber::operator<(const WideNumber& other) const {
  return std::lexicographical_compare(words_.rbegin(), words_.rend(), other.words_.rbegin(),
                                      other.words_.rend());
}

unsigned WideNumber::bit_length() const {
  for (unsigned i = kWords; i > 0; --i) {
    if (words_[i - 1] != 0) {
      return 64 * (i - 1) + static_cast<unsigned>(std::bit_width(words_[i - 1]));
    }
  }
  return 0;
}

bool WideNumber::bit(unsigned position) const {
  return (words_[position / 64] >> position % 64 & 1U) != 0;
}

double WideNumber::rounded(unsigned bits) const {
  const unsigned length = bit_length();
  if (length <= bits) return std::ldexp(static_cast<double>(words_[0]), kUnitExponent);
  const unsigned dropped = length - bits;
  std::uint64_t kept = 0;
  for (unsigned position = length; position > dropped; --position) {
    kept = 2 * kept + (bit(position - 1) ? 1 : 0);
  }
  // Up where the rest is more than half, or just half and the last bit kept is odd.
  bool more = false;
  for (unsigned position = 0; position + 1 < dropped; ++position) more = more || bit(position);
  if (bit(dropped - 1) && (more || kept % 2 == 1)) ++kept;
  return std::ldexp(static_cast<double>(kept), static_cast<int>(dropped) + kUnitExponent);
}

void ExactSum::add(std::span<const float> values) {
  while (!values.empty()) {
    const std::span<const float> some = values.first(std::min(values.size(), kBetweenFolds));
    std::array<Bins, kBinSets> bins{};
    std::size_t i = 0;
    for (; i + kBinSets <= some.size(); i += kBinSets) {
      for (std::size_t set = 0; set < kBinSets; ++set) add_to(bins[set], some[i + set]);
    }
    for (; i < some.size(); ++i) add_to(bins[0], some[i]);
    for (unsigned exponent = 0; exponent < kSpecial; ++exponent) {
      // Subnormal values have the units of the smallest normal ones.
      const unsigned shift = std::max(exponent, 1U) - 1;
      for (const Bins& set : bins) {
        if (set[exponent] != 0) above_.add(set[exponent], shift);
        if (set[kExponents + exponent] != 0) below_.add(set[kExponents + exponent], shift);
      }
    }
    const bool special = std::ranges::any_of(bins, [](const Bins& set) {
      return set[kSpecial] != 0 || set[kExponents + kSpecial] != 0;
    });
    if (special) note_specials(some);
    values = values.subspan(some.size());
  }
}

void ExactSum::note_specials(std::span<const float> values) {
  for (const float value : values) {
    if (std::isnan(value)) nan_ = true;
    if (std::isinf(value)) (value > 0 ? positive_infinity_ : negative_infinity_) = true;
  }
}

void ExactSum::add(const ExactSum& other) {
  above_.add(other.above_);
  below_.add(other.below_);
  nan_ = nan_ || other.nan_;
  positive_infinity_ = positive_infinity_ || other.positive_infinity_;
  negative_infinity_ = negative_infinity_ || other.negative_infinity_;
}

double ExactSum::rounded(unsigned bits) const {
  if (nan_ || (positive_infinity_ && negative_infinity_)) return kNan;
  if (positive_infinity_) return kInfinity;
  if (negative_infinity_) return -kInfinity;
  if (above_ < below_) return -below_.minus(above_).rounded(bits);
  return above_.minus(below_).rounded(bits);
}

double ExactSum::as_double() const {
  return rounded(std::numeric_limits<double>::digits);
}

float ExactSum::as_float() const {
  return static_cast<float>(rounded(std::numeric_limits<float>::digits));
}

double ExactSum::magnitudes() const {
  if (nan_) return kNan;
  if (positive_infinity_ || negative_infinity_) return kInfinity;
  WideNumber both = above_;
  both.add(below_);
  return both.rounded(std::numeric_limits<double>::digits);
}

}  // namespace reduce_ladder
