// The ladder climbed again and again, over a range of n or of block sizes.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "input.hpp"
#include "ladder.hpp"
#include "reduce_ladder/results.hpp"
#include "report.hpp"

namespace reduce_ladder {

// Steps by a factor of two from `first` (at least 1) up to `last`, which is not passed.
struct Sweep {
  enum class Over { n, block };
  Over over = Over::n;
  Index first = 1;
  Index last = 1;
};

// Parses n=FIRST..LAST, with counts as `parse_count` takes them, or block=FIRST..LAST. Throws
// UsageError that says what is allowed.
Sweep parse_sweep(std::string_view text,
                  const std::function<std::optional<Index>(std::string_view)>& parse_count);

// The values of n, or of the block, ascending.
std::vector<Index> points(const Sweep& sweep);

// One climb of a sweep.
struct SweepPoint {
  Index n = 0;
  std::optional<unsigned> block = std::nullopt;  // as in Climb
  std::optional<Report> report;
  std::string skipped;      // why there is no report, else empty
  bool incomplete = false;  // interrupted here; no later point is there
};

// Seconds that the `left` points to come may take, from those that the points done took, in order.
// Of another block size a point takes what they took on average. Of twice the n it takes longer by
// the factor that the last doubling made, which is nearly 1 where launches take all the time and
// nearly 2 where the values do. Nothing where too few points are done.
std::optional<double> seconds_left(Sweep::Over over, std::span<const double> taken,
                                   std::size_t left);

using Generator = std::function<Input(Index n, std::uint64_t seed)>;

// Climbs every point, over `n` values where the sweep is over blocks. The values are generated
// once, for the largest point, and smaller ones take the first of them; where these would be other
// values than a smaller input has, or are not held, each point has its own. A point that a stage
// cannot run over or that does not fit into memory is skipped. Once interrupted, no further point
// begins. The device's input is gone in the end: load another before the next run. Throws
// CudaError.
std::vector<SweepPoint> run_sweep(Device& device, const Sweep& sweep, Index n, std::uint64_t seed,
                                  const Climb& what, const Progress& progress,
                                  const Interrupted& interrupted,
                                  const Generator& generate = generate_uniform);

// The sweep was interrupted.
bool incomplete(const std::vector<SweepPoint>& points);

// The sweep came to its end, at least one point ran, and every stage passed at every point that
// did.
bool passed(const std::vector<SweepPoint>& points);

// A row a point and a column a stage: GB/s where there are times, else the check. In several tables
// where one would be too wide. Then why points were skipped and stages failed, and the verdict.
std::string format_sweep(const std::vector<SweepPoint>& points, const TextStyle& style = {});

// The rows of all points in one table, as exports.hpp has them. A point that was skipped has one
// row, with its `n`, `bytes`, `block` and, as `note`, why.
std::string sweep_to_csv(const std::vector<SweepPoint>& points);

// By the schema "reduce-ladder-sweep/1": `points`, each with `n`, `block`, `skipped` (why, or null)
// and `report` (by the schema of to_json(), or null); `incomplete`; `verdict`.
std::string sweep_to_json(const std::vector<SweepPoint>& points);

}  // namespace reduce_ladder
