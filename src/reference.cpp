#include "reference.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <vector>

#include "exact_sum.hpp"
#include "parallel.hpp"

static_assert(FLT_EVAL_METHOD == 0, "the reference needs double expressions evaluated in double");

namespace reduce_ladder {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20U;  // of a task
constexpr Index kPiece = Index{1} << 24U;              // of values that are not held

// Sums of values that come in pieces, in order.
class Sums {
 public:
  void add(std::span<const float> values) {
    std::vector<ExactSum> chunks((values.size() + kChunk - 1) / kChunk);
    // The loop cannot be cut into chunks, so it comes first and has a core of its own, if there is
    // one.
    parallel_chunks(chunks.size() + 1, [&](std::size_t task) {
      if (task == 0) {
        fp64_loop_ = add_one_by_one(fp64_loop_, values);
      } else {
        const std::size_t begin = (task - 1) * kChunk;
        chunks[task - 1].add(values.subspan(begin, std::min(kChunk, values.size() - begin)));
      }
    });
    for (const ExactSum& chunk : chunks) exact_.add(chunk);
    n_ += values.size();
  }

  [[nodiscard]] Reference reference() const {
    Reference reference;
    reference.sum = exact_.as_double();
    reference.sum_as_float = exact_.as_float();
    reference.fp64_loop = fp64_loop_;
    reference.abs_sum = exact_.magnitudes();
    reference.method = "exact, rounded to double";
    reference.n = n_;
    reference.finite_above = exact_.finite_above();
    reference.finite_below = exact_.finite_below();
    return reference;
  }

 private:
  static double add_one_by_one(double sum, std::span<const float> values) {
    for (const float x : values) sum += x;
    return sum;
  }

  ExactSum exact_;
  double fp64_loop_ = 0;
  Index n_ = 0;
};

}  // namespace

Reference compute_reference(std::span<const float> values) {
  Sums sums;
  sums.add(values);
  return sums.reference();
}

Reference compute_reference(Index n, const Fill& fill) {
  Sums sums;
  std::vector<float> piece(std::min(n, kPiece));
  for (Index begin = 0; begin < n; begin += piece.size()) {
    const std::span<float> values = std::span(piece).first(std::min<Index>(kPiece, n - begin));
    fill_in_parallel(fill, begin, values);
    sums.add(values);
  }
  return sums.reference();
}

Reference compute_reference(const Input& input) {
  return input.fill ? compute_reference(input.info.n, input.fill)
                    : compute_reference(input.values());
}

}  // namespace reduce_ladder
