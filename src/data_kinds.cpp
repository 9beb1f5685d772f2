#include "data_kinds.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "splitmix.hpp"

namespace reduce_ladder {
namespace {

// Where the random bits of a seed begin, so that near seeds draw from far apart.
std::uint64_t key_of(const Draw& draw) {
  return splitmix64(draw.seed);
}

// A whole number below `count`, which is at most 2^32, from the upper half of `bits`.
std::uint64_t below(std::uint64_t count, std::uint64_t bits) {
  return (bits >> 32U) * count >> 32U;
}

// The float32 with this sign, exponent field and mantissa field, each from the lowest bits.
float from_fields(std::uint64_t sign, std::uint64_t exponent, std::uint64_t mantissa) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(
      (sign & 1U) << 31U | (exponent & 0xffU) << 23U | (mantissa & 0x7fffffU)));
}

// Uniform in [-1, 1), a multiple of 2^-24.
float signed_uniform(std::uint64_t bits) {
  constexpr std::int64_t kOne = std::int64_t{1} << 24U;
  return static_cast<float>(static_cast<std::int64_t>(bits >> 39U) - kOne) * 0x1p-24F;
}

// --- Values that are functions of the key and the position ---

float uniform(std::uint64_t key, Index i) {
  return static_cast<float>(splitmix64(key + i) >> 40U) * 0x1p-24F;
}

// The sum of twelve uniform variates has the variance 1 (Irwin and Hall 1927). Here they are whole
// numbers of 21 bits, so that their sum less its mean is below 2^24.
float normal(std::uint64_t key, Index i) {
  constexpr std::uint64_t kMost = (std::uint64_t{1} << 21U) - 1;
  std::int64_t sum = -static_cast<std::int64_t>(12 * kMost / 2);
  for (Index word = 0; word < 4; ++word) {
    const std::uint64_t bits = splitmix64(key + 4 * i + word);
    for (const unsigned shift : {0U, 21U, 42U}) {
      sum += static_cast<std::int64_t>(bits >> shift & kMost);
    }
  }
  return static_cast<float>(sum) * 0x1p-21F;
}

float one(std::uint64_t /*key*/, Index /*i*/) {
  return 1;
}

float integer(std::uint64_t key, Index i) {
  return static_cast<float>(below(17, splitmix64(key + i))) - 8;
}

float alternating(std::uint64_t /*key*/, Index i) {
  return i % 2 == 0 ? 1.0F : -1.0F;
}

float wide(std::uint64_t key, Index i) {
  constexpr std::uint64_t kBias = 127;
  const std::uint64_t bits = splitmix64(key + i);
  return from_fields(bits >> 23U, kBias - 60 + below(121, bits), bits);
}

// An odd mantissa, so that none is zero.
float subnormal(std::uint64_t key, Index i) {
  const std::uint64_t bits = splitmix64(key + i);
  return from_fields(bits >> 23U, 0, bits | 1U);
}

template <float (*value)(std::uint64_t key, Index i)>
void fill_each(const Draw& draw, Index begin, std::span<float> out) {
  const std::uint64_t key = key_of(draw);
  for (float& x : out) x = value(key, begin++);
}

// --- Values that are functions of n too ---

// A permutation of [0, n): rounds that each permute the numbers of so many bits, repeated until the
// number is below n again.
class Permutation {
 public:
  Permutation(Index n, std::uint64_t key)
      : n_(n), bits_(static_cast<unsigned>(std::bit_width(n - 1))) {
    for (Index round = 0; round < keys_.size(); ++round) keys_[round] = splitmix64(key + round);
  }

  Index operator()(Index i) const {
    const Index mask = (Index{1} << bits_) - 1;
    do {
      for (const std::uint64_t key : keys_) {
        i = (i * (key | 1U) + (key >> 32U)) & mask;
        i ^= i >> (bits_ + 1) / 2;
      }
    } while (i >= n_);
    return i;
  }

 private:
  Index n_;
  unsigned bits_;
  std::array<std::uint64_t, 4> keys_{};
};

// Each value has a rank, at random. The lowest ranks are noise, of at most 1; the others are pairs
// of opposite values from 2^30 on, two neighbouring ranks each. From n = 3 on there are at least as
// many in pairs as there is noise, so that sum|x| / |sum| is at least 2^30.
void fill_cancelling(const Draw& draw, Index begin, std::span<float> out) {
  const std::uint64_t key = key_of(draw);
  const Permutation rank_of(draw.n, ~key);
  Index noise = std::max<Index>(draw.n / 16, 1);
  noise += (draw.n - noise) % 2;
  for (float& x : out) {
    const Index rank = rank_of(begin++);
    if (rank < noise) {
      x = signed_uniform(splitmix64(key + rank));
    } else {
      const Index pair = (rank - noise) / 2;
      const float magnitude =
          0x1p30F + static_cast<float>(splitmix64(key + noise + pair) >> 41U) * 0x1p7F;
      x = (rank - noise) % 2 == 0 ? magnitude : -magnitude;
    }
  }
}

// What none of the others have: an eighth of the values are zeros of both signs and subnormals, the
// rest is uniform in [-1, 1), and the seed chooses what makes the sum special, and where it stands.
void fill_specials(const Draw& draw, Index begin, std::span<float> out) {
  const std::uint64_t key = key_of(draw);
  Index position = begin;
  for (float& x : out) {
    const std::uint64_t bits = splitmix64(key + position++);
    const std::uint64_t sort = bits & 0xfU;
    x = sort == 0   ? from_fields(bits >> 27U, 0, 0)
        : sort == 1 ? from_fields(bits >> 27U, 0, bits >> 4U | 1U)
                    : signed_uniform(bits);
  }
  const auto put = [&](Index at, float value) {
    if (at >= begin && at - begin < out.size()) out[at - begin] = value;
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr std::array kAlone = {kInfinity, -kInfinity, kInfinity,
                                 std::numeric_limits<float>::quiet_NaN()};
  const Index at = splitmix64(~key) % draw.n;
  put(at, kAlone[draw.seed % 4]);
  if (draw.seed % 4 == 2 && draw.n > 1) {
    put((at + 1 + splitmix64(~key + 1) % (draw.n - 1)) % draw.n, -kInfinity);
  }
}

constexpr std::array kDataKinds = {
    DataKind{.name = "uniform", .source = "uniform [0,1)", .fill = fill_each<uniform>},
    DataKind{.name = "normal",
             .source = "normal, approximately: mean 0, variance 1",
             .fill = fill_each<normal>},
    DataKind{.name = "ones", .source = "ones", .fill = fill_each<one>},
    DataKind{.name = "integers", .source = "integers from -8 to 8", .fill = fill_each<integer>},
    DataKind{
        .name = "alternating", .source = "alternating +1 and -1", .fill = fill_each<alternating>},
    DataKind{.name = "cancelling",
             .source = "cancelling: pairs of +-2^30 and more, noise",
             .fill = fill_cancelling,
             .depends_on_n = true},
    DataKind{.name = "wide", .source = "wide: +-2^-60 to +-2^61", .fill = fill_each<wide>},
    DataKind{
        .name = "subnormal", .source = "subnormal, of both signs", .fill = fill_each<subnormal>},
    DataKind{.name = "specials",
             .source = "specials: infinities or a NaN, by the seed",
             .fill = fill_specials,
             .depends_on_n = true},
};

}  // namespace

std::span<const DataKind> data_kinds() {
  return kDataKinds;
}

const DataKind* find_data_kind(std::string_view name) {
  const std::span<const DataKind> kinds = data_kinds();
  const auto found = std::ranges::find(kinds, name, &DataKind::name);
  return found == kinds.end() ? nullptr : &*found;
}

}  // namespace reduce_ladder
