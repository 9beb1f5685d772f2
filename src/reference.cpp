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

constexpr std::size_t kChunk = std::size_t{1} << 20U;

double fp64_loop(std::span<const float> values) {
  double sum = 0;
  for (const float x : values) sum += x;
  return sum;
}

}  // namespace

Reference compute_reference(std::span<const float> values) {
  std::vector<ExactSum> chunks((values.size() + kChunk - 1) / kChunk);
  Reference reference;
  // The loop cannot be cut into chunks, so it comes first and has a core of its own, if there is
  // one.
  parallel_chunks(chunks.size() + 1, [&](std::size_t task) {
    if (task == 0) {
      reference.fp64_loop = fp64_loop(values);
    } else {
      const std::size_t begin = (task - 1) * kChunk;
      chunks[task - 1].add(values.subspan(begin, std::min(kChunk, values.size() - begin)));
    }
  });
  ExactSum exact;
  for (const ExactSum& chunk : chunks) exact.add(chunk);
  reference.sum = exact.as_double();
  reference.sum_as_float = exact.as_float();
  reference.abs_sum = exact.magnitudes();
  reference.method = "exact, rounded to double";
  reference.n = values.size();
  reference.finite_above = exact.finite_above();
  reference.finite_below = exact.finite_below();
  return reference;
}

}  // namespace reduce_ladder
