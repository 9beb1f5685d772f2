#include "sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "exports.hpp"
#include "printable.hpp"
#include "reduce_ladder/errors.hpp"
#include "text.hpp"
#include "words.hpp"

namespace reduce_ladder {
namespace {

constexpr std::size_t kLeastWidth = 60;  // characters a line

// --- Running ---

std::optional<Index> parse_block(std::string_view text) {
  Index block = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, block);
  const bool allowed = error == std::errc{} && stop == end && std::has_single_bit(block) &&
                       block >= kMinBlock && block <= kMaxBlock;
  return allowed ? std::optional(block) : std::nullopt;
}

Climb climb_at(const SweepPoint& point, Climb what) {
  what.block = point.block;
  return what;
}

// All points; those that a stage cannot run over are skipped already.
std::vector<SweepPoint> plan_points(const Device& device, const Sweep& sweep, Index n,
                                    const Climb& what) {
  std::vector<SweepPoint> planned;
  for (const Index value : points(sweep)) {
    SweepPoint point{.n = n, .block = what.block, .report = {}, .skipped = {}};
    if (sweep.over == Sweep::Over::n) {
      point.n = value;
    } else {
      point.block = static_cast<unsigned>(value);
    }
    try {
      static_cast<void>(plan_stages(device, point.n, climb_at(point, what)));
    } catch (const UsageError& refusal) {
      point.skipped = refusal.what();
    }
    planned.push_back(std::move(point));
  }
  return planned;
}

// Calls `work`, and says why if it needs more memory than there is.
template <typename Work>
std::optional<std::string> out_of_memory(Work work) {
  try {
    work();
  } catch (const OutOfMemoryError& error) {
    return error.what();
  } catch (const std::bad_alloc&) {
    return "out of memory on the host";
  }
  return std::nullopt;
}

// Values for the largest point that they can be made for; larger ones are skipped.
Input generate_largest(std::vector<SweepPoint>& points, std::uint64_t seed,
                       const Generator& generate, const Progress& progress) {
  Input input;
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    if (!point->skipped.empty()) continue;
    progress(fmt::format("generating {} values", point->n));
    const auto why = out_of_memory([&] { input = generate(point->n, seed); });
    if (!why) break;
    for (SweepPoint& other : points) {
      if (other.n == point->n && other.skipped.empty()) other.skipped = *why;
    }
  }
  return input;
}

// Whether the first n values of `input` are what to climb over: those of an input of n, and held if
// they can be.
bool suits(const Input& input, Index n) {
  return input.info.n == n || (input.info.n > n && input.has_prefixes && !input.fill);
}

std::string time_left(double seconds) {
  if (seconds < 120) return fmt::format("about {:.0f} s left", std::max(1.0, seconds));
  return fmt::format("about {:.0f} min left", seconds / 60);
}

// --- Text ---

// Paints the words that have a color; they are words of this program's own wherever they stand.
std::string paint_words(std::string text) {
  for (const std::string_view word : {"PASSED", "FAILED", "SKIPPED"}) {
    const std::string painted = paint(word);
    for (std::size_t at = text.find(word); at != std::string::npos;
         at = text.find(word, at + painted.size())) {
      text.replace(at, word.size(), painted);
    }
  }
  return text;
}

// --- Tables ---

bool over_blocks(const std::vector<SweepPoint>& points) {
  return std::ranges::any_of(
      points, [&](const SweepPoint& point) { return point.block != points.front().block; });
}

std::string value_of(const SweepPoint& point, bool block) {
  return block ? fmt::format("{}", point.block.value_or(0)) : with_separators(point.n);
}

std::string name_of(const SweepPoint& point, bool block) {
  return fmt::format("{} = {}", block ? "block" : "n", value_of(point, block));
}

// The stages of all reports, by number.
std::map<int, const Stage*> stages_of(const std::vector<SweepPoint>& points) {
  std::map<int, const Stage*> stages;
  for (const SweepPoint& point : points) {
    if (!point.report) continue;
    for (const StageResult& result : point.report->stages) {
      stages.emplace(result.stage->number, result.stage);
    }
  }
  return stages;
}

const StageResult* find_result(const Report& report, int number) {
  const auto found = std::ranges::find_if(
      report.stages, [number](const StageResult& r) { return r.stage->number == number; });
  return found == report.stages.end() ? nullptr : &*found;
}

template <typename Predicate>
bool any_result(const std::vector<SweepPoint>& points, Predicate predicate) {
  return std::ranges::any_of(points, [&](const SweepPoint& point) {
    return point.report && std::ranges::any_of(point.report->stages, predicate);
  });
}

bool unstable(const StageResult& result) {
  return result.time && !result.time->stable;
}

std::string gigabytes(double bytes_per_second) {
  const double rate = bytes_per_second / 1e9;
  return rate >= 1 ? fmt::format("{:.1f}", rate) : fmt::format("{:.2g}", rate);
}

// A stage that failed shows no rate: how fast it is wrong is of no interest.
std::string stage_cell(const StageResult& result, Index n, bool timed) {
  if (!passed(result)) return "FAILED";
  if (timed) return result.time ? gigabytes(read_bandwidth(n, result.time->median)) : "-";
  return result.verification.verdict == Verdict::passed ? "PASSED" : "SKIPPED";
}

// A cell for each point that ran.
Column column(std::string header, const std::vector<SweepPoint>& points,
              const std::function<std::string(const SweepPoint&)>& cell) {
  Column column{std::move(header), {}};
  for (const SweepPoint& point : points) {
    if (point.report) column.cells.push_back(cell(point));
  }
  return column;
}

// Tables with an empty line after each: the columns of `keys` and as many of `columns` as fit.
std::string format_tables(const std::vector<Column>& keys, const std::vector<Column>& columns,
                          std::size_t width) {
  std::string text;
  for (std::size_t next = 0; next < columns.size();) {
    std::vector<Column> table = keys;
    std::size_t used = 0;
    for (const Column& key : keys) used += width_of(key) + 2;
    do {
      table.push_back(columns[next]);
      used += width_of(columns[next]) + 2;
      ++next;
    } while (next < columns.size() && used + width_of(columns[next]) <= width);
    text += format_table(table, {.width = static_cast<unsigned>(width)}) + '\n';
  }
  return text;
}

std::string format_tables(const std::vector<SweepPoint>& points, bool timed, std::size_t width) {
  const bool block = over_blocks(points);
  const bool marked = timed && any_result(points, unstable);
  std::vector<Column> keys = {column(block ? "block" : "n", points, [&](const SweepPoint& point) {
    return value_of(point, block);
  })};
  if (std::ranges::any_of(points, [](const SweepPoint& p) { return p.report && p.report->read; })) {
    keys.push_back(column("read", points, [](const SweepPoint& point) -> std::string {
      const auto& read = point.report->read;
      return read ? gigabytes(read_bandwidth(*read)) : "-";
    }));
  }
  std::vector<Column> columns;
  for (const auto& [number, stage] : stages_of(points)) {
    const std::string unmarked = marked ? " " : "";
    columns.push_back(
        column(number_of(*stage) + unmarked, points, [&, number = number](const SweepPoint& p) {
          const StageResult* const result = find_result(*p.report, number);
          if (result == nullptr) return "-" + unmarked;
          const bool mark = marked && passed(*result) && unstable(*result);
          return stage_cell(*result, p.n, timed) + (mark ? "~" : unmarked);
        }));
  }
  return format_tables(keys, columns, width);
}

// --- Lines above and below the tables ---

// The points at which `predicate` holds for the report, by name.
template <typename Predicate>
std::string points_where(const std::vector<SweepPoint>& points, Predicate predicate) {
  std::vector<std::string> values;
  const bool block = over_blocks(points);
  for (const SweepPoint& point : points) {
    if (point.report && predicate(*point.report)) values.push_back(value_of(point, block));
  }
  if (values.empty()) return "";
  return fmt::format("{} = {}", block ? "block" : "n", fmt::join(values, "; "));
}

std::string format_cells(const std::vector<SweepPoint>& points, const Report& report, bool timed,
                         std::size_t width) {
  if (!timed) {
    return wrap("cells      ",
                report.device.cuda
                    ? "the check of a stage; nothing could be timed"
                    : "the check of a stage; the simulator executes kernels, it does not time them",
                width);
  }
  std::string text =
      wrap("cells      ",
           fmt::format("GB/s: n x 4 bytes / median time of a run from a {} cache; 1 GB = 1e9 bytes",
                       to_word(report.cache)),
           width);
  if (any_result(points, unstable)) {
    text += wrap("           ~: ", "sampling ended at its time-out, before the median was stable",
                 width);
  }
  return text;
}

std::string format_ceilings(const std::vector<SweepPoint>& points, std::size_t width) {
  double copy = 0;
  bool read = false;
  for (const SweepPoint& point : points) {
    if (!point.report) continue;
    if (point.report->copy) copy = std::max(copy, copy_bandwidth(*point.report->copy));
    read = read || point.report->read;
  }
  std::vector<std::string> ceilings;
  if (copy > 0) {
    ceilings.push_back(
        fmt::format("copy {} GB/s read + written (best of the points)", gigabytes(copy)));
  }
  if (read) ceilings.emplace_back("read: plain reads of n values");
  if (ceilings.empty()) return "";
  return wrap("ceilings   ", fmt::format("{}", fmt::join(ceilings, "; ")), width);
}

// What is the same for all points, from the first report.
std::string format_facts(const std::vector<SweepPoint>& points, const Report& report, bool timed,
                         std::size_t width) {
  std::string text = format_cells(points, report, timed, width);
  text += format_ceilings(points, width);
  const std::string ordinal =
      report.device.cuda ? fmt::format(" (cuda:{})", report.device.cuda->ordinal) : "";
  text += wrap("device     ", printable(report.device.name) + ordinal, width);
  const std::string seed = report.input.seed ? fmt::format(", seed {}", *report.input.seed) : "";
  std::string fixed;
  if (over_blocks(points)) {
    fixed += fmt::format("; {} values", with_separators(points.front().n));
  } else if (report.block) {
    fixed += fmt::format("; blocks of {} threads", *report.block);
  }
  if (report.grid) fixed += fmt::format("; grids of {}", *report.grid);
  if (report.input.misalignment > 0) fixed += "; " + past_border(report.input.misalignment);
  text += wrap("input      ", printable(report.input.source) + seed + fixed, width);
  std::vector<std::string> stages;
  for (const auto& [number, stage] : stages_of(points)) {
    stages.push_back(fmt::format("{} {}", number_of(*stage), stage->name));
  }
  if (!stages.empty()) {
    text += wrap("stages     ", fmt::format("{}", fmt::join(stages, ", ")), width);
  }
  if (const std::string moved = points_where(points, clocks_moved); !moved.empty()) {
    text += wrap("clocks     ", "moved during " + moved, width);
  }
  if (const std::string beaten = points_where(points, ceiling_not_tight); !beaten.empty()) {
    text +=
        wrap("           ", "a stage beat the read ceiling, which is too low, at " + beaten, width);
  }
  return text;
}

std::string format_notes(const std::vector<SweepPoint>& points, std::size_t width) {
  const bool block = over_blocks(points);
  std::string text;
  std::set<int> cannot_run;
  for (const SweepPoint& point : points) {
    const std::string name = name_of(point, block);
    if (!point.skipped.empty()) {
      text += wrap(name + ": ", "skipped: " + printable(point.skipped), width);
    }
    if (!point.report) continue;
    for (const StageResult& result : point.report->stages) {
      // Why a stage cannot run here is the same at every point.
      if (!result.ran && cannot_run.insert(result.stage->number).second) {
        text += wrap(fmt::format("stage {} {}: ", number_of(*result.stage), result.stage->name),
                     "skipped: " + printable(result.verification.note), width);
      }
      if (result.verification.verdict != Verdict::failed || result.verification.note.empty()) {
        continue;
      }
      text += wrap(fmt::format("{}, stage {}: ", name, number_of(*result.stage)),
                   printable(result.verification.note), width);
    }
  }
  return text;
}

std::string failure(const StageResult& result, const std::string& point) {
  const bool check = result.verification.verdict == Verdict::failed;
  const bool claim = result.probe.outcome == Probe::Outcome::refuted;
  return fmt::format("{} at {} ({})", result.stage->name, point,
                     check && claim ? "check, determinism"
                     : check        ? "check"
                                    : "determinism");
}

// Names a few failures: the table shows them all.
std::string failed_verdict(const std::vector<std::string>& failures, std::size_t checks) {
  constexpr std::size_t shown = 3;
  std::string text = fmt::format("FAILED: {} of {} checks: ", failures.size(), checks);
  const std::size_t named = std::min(failures.size(), shown);
  text += fmt::format("{}", fmt::join(failures.begin(),
                                      failures.begin() + static_cast<std::ptrdiff_t>(named), ", "));
  if (failures.size() > named) text += fmt::format(", and {} more", failures.size() - named);
  return text;
}

std::string plain_verdict(const std::vector<SweepPoint>& points) {
  const bool block = over_blocks(points);
  std::vector<std::string> failures;
  std::size_t checks = 0;
  std::size_t within = 0;
  std::size_t unchecked = 0;
  std::size_t skipped_points = 0;
  std::size_t reports = 0;
  bool tested = false;
  for (const SweepPoint& point : points) {
    if (!point.skipped.empty()) ++skipped_points;
    if (!point.report) continue;
    ++reports;
    for (const StageResult& result : point.report->stages) {
      ++checks;
      if (!passed(result)) failures.push_back(failure(result, name_of(point, block)));
      if (result.verification.verdict == Verdict::passed) ++within;
      if (result.verification.verdict == Verdict::skipped) ++unchecked;
      tested = tested || result.probe.outcome != Probe::Outcome::untested;
    }
  }
  const bool cut = incomplete(points);
  if (!failures.empty()) return (cut ? "INCOMPLETE, " : "") + failed_verdict(failures, checks);
  if (cut && checks == 0) return "INCOMPLETE: interrupted before any stage was done";
  if (reports == 0) return "FAILED: no point could run";
  return fmt::format(
      "{}: {} of {} checks{} within their bounds{}, {}{}", cut ? "INCOMPLETE" : "PASSED", within,
      checks, cut ? " so far" : "", unchecked > 0 ? fmt::format(", {} skipped", unchecked) : "",
      tested ? "no determinism claim refuted" : "determinism not tested",
      skipped_points > 0 ? fmt::format("; {} of {} points skipped", skipped_points, points.size())
                         : "");
}

}  // namespace

Sweep parse_sweep(std::string_view text,
                  const std::function<std::optional<Index>(std::string_view)>& parse_count) {
  constexpr std::string_view over_n = "n=";
  constexpr std::string_view over_block = "block=";
  constexpr std::string_view dots = "..";
  const bool block = text.starts_with(over_block);
  if (block || text.starts_with(over_n)) {
    const std::string_view range = text.substr((block ? over_block : over_n).size());
    const std::size_t middle = range.find(dots);
    if (middle != std::string_view::npos) {
      const auto parse = [&](std::string_view value) {
        return block ? parse_block(value) : parse_count(value);
      };
      const auto first = parse(range.substr(0, middle));
      const auto last = parse(range.substr(middle + dots.size()));
      if (first && last && *first >= 1 && *first <= *last) {
        return {block ? Sweep::Over::block : Sweep::Over::n, *first, *last};
      }
    }
  }
  throw UsageError(fmt::format(
      "must be n=FIRST..LAST with counts as --n takes them, such as n=2^10..2^30, or "
      "block=FIRST..LAST with powers of two from {0} to {1}, such as block={0}..{1}; FIRST is at "
      "least 1 and at most LAST, and each step doubles",
      kMinBlock, kMaxBlock));
}

std::vector<Index> points(const Sweep& sweep) {
  std::vector<Index> values;
  for (Index value = sweep.first; value <= sweep.last; value *= 2) {
    values.push_back(value);
    if (value > sweep.last / 2) break;  // the next might not even fit into an Index
  }
  return values;
}

std::optional<double> seconds_left(Sweep::Over over, std::span<const double> taken,
                                   std::size_t left) {
  if (over == Sweep::Over::block) {
    if (taken.empty()) return std::nullopt;
    double sum = 0;
    for (const double seconds : taken) sum += seconds;
    return sum / static_cast<double>(taken.size()) * static_cast<double>(left);
  }
  if (taken.size() < 2) return std::nullopt;
  double next = taken.back();
  const double growth = std::clamp(next / taken[taken.size() - 2], 1.0, 2.0);
  double sum = 0;
  for (std::size_t i = 0; i < left; ++i) sum += next *= growth;
  return sum;
}

std::vector<SweepPoint> run_sweep(Device& device, const Sweep& sweep, Index n, std::uint64_t seed,
                                  const Climb& what, const Progress& progress,
                                  const Interrupted& interrupted, const Generator& generate) {
  using Clock = std::chrono::steady_clock;
  std::vector<SweepPoint> points = plan_points(device, sweep, n, what);
  Input input = generate_largest(points, seed, generate, progress);

  std::vector<double> taken;
  for (std::size_t i = 0; i < points.size(); ++i) {
    SweepPoint& point = points[i];
    if (!point.skipped.empty()) continue;
    if (interrupted()) {
      point.incomplete = true;
      points.resize(i + 1);
      break;
    }
    const auto left =
        std::ranges::count_if(points.begin() + static_cast<std::ptrdiff_t>(i), points.end(),
                              [](const SweepPoint& other) { return other.skipped.empty(); });
    const auto estimate = seconds_left(sweep.over, taken, static_cast<std::size_t>(left));
    const Clock::time_point begin = Clock::now();
    const auto elapsed = [begin] {
      return std::chrono::duration<double>(Clock::now() - begin).count();
    };
    const auto report_progress = [&](std::string_view text) {
      const bool block = sweep.over == Sweep::Over::block;
      progress(fmt::format("point {} of {} ({} = {}){}: {}", i + 1, points.size(),
                           block ? "block" : "n", block ? Index{point.block.value_or(0)} : point.n,
                           estimate ? ", " + time_left(*estimate - elapsed()) : "", text));
    };
    const auto why = out_of_memory([&] {
      if (!suits(input, point.n)) {
        input = {};  // before there are others beside them
        input = generate(point.n, seed);
      }
      point.report =
          climb(device, input.first(point.n), climb_at(point, what), report_progress, interrupted);
    });
    if (why) {
      point.skipped = *why;
      continue;
    }
    taken.push_back(elapsed());
    if (point.report->incomplete) {
      point.incomplete = true;
      points.resize(i + 1);
    }
  }
  return points;
}

bool incomplete(const std::vector<SweepPoint>& points) {
  return std::ranges::any_of(points, &SweepPoint::incomplete);
}

bool passed(const std::vector<SweepPoint>& points) {
  const auto ran = [](const SweepPoint& point) { return point.report.has_value(); };
  return !incomplete(points) && std::ranges::any_of(points, ran) &&
         std::ranges::all_of(points, [](const SweepPoint& point) {
           return !point.report || passed(*point.report);
         });
}

std::string format_sweep(const std::vector<SweepPoint>& points, const TextStyle& style) {
  const std::size_t width = std::max<std::size_t>(style.width, kLeastWidth);
  const bool timed = any_result(points, [](const StageResult& r) { return r.time.has_value(); });
  const auto first = std::ranges::find_if(
      points, [](const SweepPoint& point) { return point.report.has_value(); });
  std::string text;
  if (first != points.end()) {
    text += format_facts(points, *first->report, timed, width) + '\n';
    const std::string tables = format_tables(points, timed, width);
    text += style.color ? paint_words(tables) : tables;
  }
  if (const std::string notes = format_notes(points, width); !notes.empty()) text += notes + '\n';
  const std::string verdict = wrap("", plain_verdict(points), width);
  return text + (style.color ? paint_words(verdict) : verdict);
}

std::string sweep_to_csv(const std::vector<SweepPoint>& points) {
  std::string csv = csv_header();
  for (const SweepPoint& point : points) {
    if (point.report && !point.report->stages.empty()) {
      csv += csv_rows(*point.report);
    } else {
      csv += csv_row_without_stage(point.n, point.block, point.incomplete,
                                   point.incomplete ? "interrupted" : point.skipped);
    }
  }
  return csv;
}

std::string sweep_to_json(const std::vector<SweepPoint>& points) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const SweepPoint& point : points) {
    list.push_back({{"n", point.n},
                    {"block", point.block ? Json(*point.block) : Json()},
                    {"skipped", point.skipped.empty() ? Json() : Json(point.skipped)},
                    {"report", point.report ? Json::parse(to_json(*point.report)) : Json()}});
  }
  const Json json = {{"schema", "reduce-ladder-sweep/1"},
                     {"points", list},
                     {"incomplete", incomplete(points)},
                     {"verdict", to_word(passed(points) ? Verdict::passed : Verdict::failed)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace reduce_ladder
