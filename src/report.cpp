#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "evidence.hpp"
#include "layout.hpp"
#include "printable.hpp"
#include "text.hpp"
#include "words.hpp"

namespace reduce_ladder {
namespace {

constexpr std::size_t kSourceWidth = 50;     // of a path in the input line
constexpr std::size_t kNameWidth = 40;       // of the device's name
constexpr std::size_t kStageNameWidth = 24;  // of a stage where room is short

// Columns that a table does without where it would be too wide, the first of these first.
constexpr std::array kExpendable = {"% chance",  "step",    "iqr %",   "% copy", "vs 1",
                                    "rel error", "% bound", "repeats", "class",  "grid x block"};

// Lines of labels and what they label. The label is empty where a line goes on about the one above.
class Facts {
 public:
  explicit Facts(const TextStyle& style) : width_(width_of(style)) {}

  void add(std::string_view label, std::string_view text) {
    lines_ += wrap(fmt::format("{:<11}", label), text, width_);
  }
  [[nodiscard]] const std::string& lines() const { return lines_; }

 private:
  std::size_t width_;
  std::string lines_;
};

// --- Numbers ---

std::string nine_digits(float value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.9g}", value);
}

std::string format_bytes(double bytes) {
  if (bytes < 1024) return fmt::format("{} {}", bytes, bytes == 1 ? "byte" : "bytes");
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (bytes /= 1024; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string format_bytes(std::size_t bytes) {
  return format_bytes(static_cast<double>(bytes));
}

// To two significant digits, for what is only roughly so.
std::string roughly(Index n) {
  Index unit = 1;
  while (n / unit >= 100) unit *= 10;
  return with_separators((n + unit / 2) / unit * unit);
}

// Decimals that show a positive value with so many significant digits, at least one.
int decimals_for(double value, int significant) {
  if (!(value > 0) || std::isinf(value)) return 1;
  return std::max(1, significant - 1 - static_cast<int>(std::floor(std::log10(value))));
}

std::string relative_error(double error, double sum) {
  if (error == 0) return "0";
  const double relative = error / std::fabs(sum);
  return std::isfinite(relative) ? fmt::format("{:.2e}", relative) : shortest(std::fabs(relative));
}

// error / bound in %. Reads 100 only where they are equal, so that rounding never hides which side
// of its bound a stage is on.
std::string share_of_bound(double error, double bound) {
  if (error == 0) return "0";
  const double percent = error / bound * 100;
  if (!std::isfinite(percent)) return shortest(std::fabs(percent));
  if (percent < 1e-3 || percent >= 1e4) return fmt::format("{:.2e}", percent);
  if (percent < 1) return fmt::format("{:.{}f}", percent, decimals_for(percent, 3));
  for (int decimals = decimals_for(percent, 3); decimals <= 4; ++decimals) {
    std::string text = fmt::format("{:.{}f}", percent, decimals);
    if (error == bound || text != fmt::format("{:.{}f}", 100.0, decimals)) return text;
  }
  return error < bound ? "<100" : ">100";
}

// --- Tables ---

bool has(const std::vector<Column>& columns, std::string_view header) {
  return std::ranges::find(columns, header, &Column::header) != columns.end();
}

// What fits into `width`: long stage names are shortened first, then columns are left out, then
// names are shortened for good.
std::vector<Column> fit(std::vector<Column> columns, std::size_t width) {
  auto shorten_names = [&](std::size_t kept) {
    Column& names = columns[1];
    const std::size_t now = width_of(names);
    const std::size_t least = least_width(columns);
    if (least <= width || now <= kept) return;
    const std::size_t name_width = now - std::min(now - kept, least - width);
    for (std::string& name : names.cells) name = shorten(name, name_width);
  };
  shorten_names(kStageNameWidth);
  for (const std::string_view header : kExpendable) {
    if (least_width(columns) <= width) break;
    std::erase_if(columns, [&](const Column& column) { return column.header == header; });
  }
  shorten_names(8);
  return columns;
}

enum class Align { left, right };

template <typename Cell>
Column column(std::string header, const Report& report, Cell cell, Align align = Align::right) {
  Column column{std::move(header), {}, align == Align::left};
  for (const StageResult& result : report.stages) column.cells.push_back(cell(result));
  return column;
}

Column number_column(const Report& report) {
  return column("#", report, [](const StageResult& r) { return number_of(*r.stage); });
}

Column name_column(const Report& report) {
  return column(
      "stage", report, [](const StageResult& r) { return std::string(r.stage->name); },
      Align::left);
}

// A column of times or rates, with decimals that suit its smallest value; "-" where there is none.
template <typename Value>
Column real_column(std::string header, const Report& report, int significant, int most_decimals,
                   Value value, std::string_view unit = "") {
  double smallest = std::numeric_limits<double>::infinity();
  for (const StageResult& result : report.stages) {
    if (const std::optional<double> v = value(result)) smallest = std::min(smallest, *v);
  }
  const int decimals = std::min(decimals_for(smallest, significant), most_decimals);
  return column(std::move(header), report, [&](const StageResult& result) -> std::string {
    const std::optional<double> v = value(result);
    return v ? fmt::format("{:.{}f}{}", *v, decimals, unit) : "-";
  });
}

// --- Facts above the table ---

void add_device(Facts& facts, const DeviceInfo& device) {
  const std::string name = shorten(printable(device.name), kNameWidth);
  if (!device.cuda) {
    facts.add("device", name);
    facts.add("", "The kernels are executed for their values, not timed.");
    return;
  }
  const CudaInfo& cuda = *device.cuda;
  facts.add("device",
            fmt::format("{} (cuda:{}), compute capability {}.{}, {} SMs", name, cuda.ordinal,
                        cuda.compute_major, cuda.compute_minor, device.machine.multiprocessors));
  facts.add("", fmt::format("{} memory, {} L2, driver {}, CUDA runtime {}, CUB {}",
                            format_bytes(cuda.memory_bytes), format_bytes(cuda.l2_bytes),
                            cuda.driver, cuda.runtime, cuda.cub));
}

// What was so before the run and what was after it; one of them where they are the same, or where
// the other is not known.
std::string change(const std::string& before, const std::string& after) {
  if (before.empty() || after.empty() || before == after) return before.empty() ? after : before;
  return before + " -> " + after;
}

std::string throttling(const MachineState& state) {
  if (!state.throttle_reasons) return "";
  if (state.throttle_reasons->empty()) return "not throttled";
  std::vector<std::string> reasons;
  for (const std::string& reason : *state.throttle_reasons) reasons.push_back(printable(reason));
  return "throttled: " + join(reasons, " + ");
}

void add_state(Facts& facts, const Report& report) {
  const MachineState before = report.state_before.value_or(MachineState{});
  const MachineState after = report.state_after.value_or(MachineState{});
  std::vector<std::string> parts;
  auto add = [&](std::string_view name, std::optional<double> MachineState::*field, double scale,
                 std::string_view unit) {
    auto text = [&](const std::optional<double>& value) {
      return value ? fmt::format("{:.0f}", *value / scale) : "";
    };
    const std::string values = change(text(before.*field), text(after.*field));
    if (!values.empty()) parts.push_back(fmt::format("{}{} {}", name, values, unit));
  };
  add("SM ", &MachineState::sm_clock, 1e6, "MHz");
  add("memory ", &MachineState::memory_clock, 1e6, "MHz");
  add("", &MachineState::power, 1, "W");
  add("", &MachineState::temperature, 1, "C");
  if (const std::string reasons = change(throttling(before), throttling(after)); !reasons.empty()) {
    parts.push_back(reasons);
  }
  if (parts.empty()) return;
  const std::string text = join(parts, ", ");
  const bool changed = text.find("->") != std::string::npos;
  facts.add("state", text + (changed ? " (before -> after)" : ""));
  if (clocks_moved(report)) {
    facts.add("", "A clock moved during the run: not all stages were timed at the same speed.");
  }
}

void add_input(Facts& facts, const Report& report) {
  const InputInfo& input = report.input;
  const std::string bytes = format_bytes(input.n * sizeof(float));
  const std::string seed = input.seed ? fmt::format(", seed {}", *input.seed) : "";
  facts.add("input", fmt::format("{} {} ({}), {}{}", with_separators(input.n),
                                 input.n == 1 ? "value" : "values", bytes,
                                 shorten(printable(input.source), kSourceWidth), seed));
  if (input.misalignment > 0) facts.add("", "begins " + past_border(input.misalignment));
  if (!report.device.cuda || report.device.cuda->l2_bytes == 0) return;
  const std::size_t l2 = report.device.cuda->l2_bytes;
  const bool fits = input.n * sizeof(float) <= l2;
  const bool warm = report.cache == CacheMode::warm;
  facts.add("",
            fmt::format("{} into the {} of L2{}", fits ? "fits" : "does not fit", format_bytes(l2),
                        warm && fits ? ": a run may find all of it there"
                        : warm       ? ": a run reads at least a part of it from memory"
                        : fits       ? ", but every run begins with other data there"
                                     : ": every run reads all of it from memory"));
}

void add_cache(Facts& facts, const Report& report) {
  if (report.cache == CacheMode::cold || !report.device.cuda) return;
  facts.add(
      "cache",
      "warm: a run finds in L2 what the run before left there, and may be faster than memory");
}

// What was asked for; the shape of each stage is in the lower table.
void add_launch_shape(Facts& facts, const Report& report) {
  if (report.block) facts.add("block", fmt::format("{} threads", *report.block));
  if (report.grid) {
    facts.add("grid", fmt::format("{} {}, of the stages whose grid does not follow from n",
                                  *report.grid, *report.grid == 1 ? "block" : "blocks"));
  }
}

void add_reference(Facts& facts, const Reference& reference) {
  facts.add("reference", fmt::format("{} ({}), A = sum|x| = {}", shortest(reference.sum),
                                     reference.method, shortest(reference.abs_sum)));
  if (reference.sum_as_float && reference.fp64_loop) {
    facts.add("", fmt::format("rounded to float32 {}; a plain fp64 loop gives {}",
                              shortest(*reference.sum_as_float), shortest(*reference.fp64_loop)));
  }
  if (const std::optional<double> condition = condition_number(reference)) {
    facts.add("", fmt::format("condition number A / |sum| = {:.4g}", *condition));
  }
}

std::string share_of_theoretical(double bandwidth, double theoretical) {
  return fmt::format("{:.1f}% of the theoretical {:.1f} GB/s", bandwidth / theoretical * 100,
                     theoretical / 1e9);
}

void add_ceilings(Facts& facts, const Report& report) {
  const double theoretical = report.device.cuda ? report.device.cuda->theoretical_bandwidth : 0;
  if (report.copy) {
    const double bandwidth = copy_bandwidth(*report.copy);
    facts.add("copy", fmt::format("{:.1f} GB/s read + written ({} copied; 1 GB = 1e9 bytes)",
                                  bandwidth / 1e9, format_bytes(report.copy->bytes)));
    if (theoretical > 0) facts.add("", share_of_theoretical(bandwidth, theoretical));
  }
  if (report.read) {
    const double bandwidth = read_bandwidth(*report.read);
    // Of one value it is a thousandth of a GB/s.
    const int decimals = std::min(decimals_for(bandwidth / 1e9, 3), 4);
    facts.add("read", fmt::format("{:.{}f} GB/s read ({}; {})", bandwidth / 1e9, decimals,
                                  format_bytes(report.read->bytes), report.read->shape));
    if (theoretical > 0) facts.add("", share_of_theoretical(bandwidth, theoretical));
    if (ceiling_not_tight(report)) {
      facts.add("", "A stage was faster by more than the noise: this ceiling is not tight.");
    }
  }
}

void add_floor(Facts& facts, const Report& report) {
  if (!report.floor) return;
  double fastest = std::numeric_limits<double>::infinity();
  for (const StageResult& result : report.stages) {
    if (result.time) fastest = std::min(fastest, result.time->median);
  }
  const double floor = report.floor->median;
  facts.add("floor",
            fmt::format("{:.2f} us for an empty launch{}", floor * 1e6,
                        std::isinf(fastest) ? ""
                                            : fmt::format(": {:.1f}% of the fastest stage's time",
                                                          floor / fastest * 100)));
  if (const std::optional<Index> n = streaming_overtakes_floor(report)) {
    facts.add("", fmt::format("Reading the values takes longer than that from about n = {} on.",
                              roughly(*n)));
  }
}

// --- Stages ---

std::vector<Column> verification_columns(const Report& report) {
  std::vector<Column> columns = {
      column("rel error", report,
             [&](const StageResult& r) {
               return r.ran ? relative_error(r.verification.error, report.reference->sum) : "-";
             }),
      column("% bound", report, [](const StageResult& r) -> std::string {
        const Verification& v = r.verification;
        return v.verdict == Verdict::skipped ? "-" : share_of_bound(v.error, v.bound);
      })};
  const auto expects = [](const StageResult& r) { return r.verification.expected.has_value(); };
  if (std::ranges::any_of(report.stages, expects)) {
    columns.push_back(column("% chance", report, [](const StageResult& r) -> std::string {
      const Verification& v = r.verification;
      return v.expected && std::isfinite(v.error) ? share_of_bound(v.error, *v.expected) : "-";
    }));
  }
  columns.push_back(column(
      "check", report,
      [](const StageResult& r) {
        std::string word(to_word(r.verification.verdict));
        std::ranges::transform(word, word.begin(),
                               [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
        return word;
      },
      Align::left));
  return columns;
}

// Numbers of the stages whose sampling ended at its time-out.
std::vector<std::string> unstable_stages(const Report& report) {
  std::vector<std::string> numbers;
  for (const StageResult& result : report.stages) {
    if (result.time && !result.time->stable) numbers.push_back(number_of(*result.stage));
  }
  return numbers;
}

std::vector<Column> time_columns(const Report& report) {
  using Value = std::optional<double>;
  auto median = [](const StageResult& r) { return r.time ? Value(r.time->median) : Value(); };
  auto bandwidth = [&](const StageResult& r) {
    return r.time ? Value(read_bandwidth(report.input.n, r.time->median)) : Value();
  };
  const bool all_stable = unstable_stages(report).empty();
  const auto first =
      std::ranges::find(report.stages, 1, [](const StageResult& r) { return r.stage->number; });
  const Value first_time = first != report.stages.end() ? median(*first) : Value();
  auto speed_up = [&](const Value& from, const StageResult& to) {
    return from && to.time ? Value(*from / to.time->median) : Value();
  };
  return {
      real_column("ms", report, 4, 5,
                  [&](const StageResult& r) { return r.time ? Value(*median(r) * 1e3) : Value(); }),
      column("iqr %", report,
             [&](const StageResult& r) -> std::string {
               if (!r.time) return all_stable ? "-" : "- ";
               return fmt::format("{:.1f}{}", r.time->iqr / r.time->median * 100,
                                  !r.time->stable ? "~"
                                  : all_stable    ? ""
                                                  : " ");
             }),
      real_column(
          "GB/s", report, 3, 4,
          [&](const StageResult& r) { return r.time ? Value(*bandwidth(r) / 1e9) : Value(); }),
      real_column("% copy", report, 2, 3,
                  [&](const StageResult& r) {
                    return r.time && report.copy
                               ? Value(*bandwidth(r) / copy_bandwidth(*report.copy) * 100)
                               : Value();
                  }),
      real_column("% read", report, 2, 3,
                  [&](const StageResult& r) {
                    return r.time && report.read
                               ? Value(*bandwidth(r) / read_bandwidth(*report.read) * 100)
                               : Value();
                  }),
      real_column(
          "vs 1", report, 3, 2, [&](const StageResult& r) { return speed_up(first_time, r); }, "x"),
      real_column(
          "step", report, 3, 2,
          [&](const StageResult& r) {
            return &r == &report.stages.front() ? Value() : speed_up(median(*(&r - 1)), r);
          },
          "x")};
}

std::vector<Column> tree_columns(const Report& report) {
  return {column("launches", report,
                 [](const StageResult& r) { return r.ran ? shortest(r.launches) : "-"; }),
          column("depth h", report,
                 [](const StageResult& r) { return r.ran ? shortest(r.depth) : "-"; })};
}

// How the times were sampled, for the columns that the table has.
std::string format_time_legend(const Report& report, const std::vector<Column>& columns,
                               std::size_t width) {
  std::size_t samples = std::numeric_limits<std::size_t>::max();
  std::size_t discarded = 0;
  bool beyond_copy = false;
  for (const StageResult& result : report.stages) {
    if (!result.time) continue;
    samples = std::min(samples, result.time->samples);
    discarded += result.time->discarded;
    const double bandwidth = read_bandwidth(report.input.n, result.time->median);
    beyond_copy = beyond_copy || (report.copy && bandwidth > copy_bandwidth(*report.copy));
  }
  if (samples == std::numeric_limits<std::size_t>::max()) return "";
  const bool spread = has(columns, "iqr %");
  std::string text =
      fmt::format("ms: median of {} or more runs from a {} cache", samples, to_word(report.cache));
  if (spread) text += "; iqr %: their spread";
  if (has(columns, "step")) text += "; step: vs the row above";
  std::string legend = wrap("", text, width);
  if (const std::vector<std::string> unstable = unstable_stages(report); !unstable.empty()) {
    legend += wrap(spread ? "~: "
                          : fmt::format("{} {}: ", unstable.size() == 1 ? "stage" : "stages",
                                        join(unstable, ", ")),
                   "sampling ended at its time-out, before the median was stable", width);
  }
  if (discarded > 0) {
    legend += wrap("",
                   fmt::format("discarded: {} more {}, which had host time inside", discarded,
                               discarded == 1 ? "run" : "runs"),
                   width);
  }
  if (beyond_copy && has(columns, "% copy")) {
    legend += wrap(
        "% copy: ", "a stage only reads and can be faster than a copy, which also writes", width);
  }
  return legend;
}

// The stages whose bound is another one, and that, to go on with after the bound of the others.
std::string other_bounds(const Report& report) {
  constexpr std::array<std::pair<Accumulation, std::string_view>, 3> kBounds = {{
      {Accumulation::fp64, "u |sum| + (1 + u) h v / (1 - h v) A with v = 2^-53"},
      {Accumulation::compensated, "u |sum| + (1 + u) gamma(h) gamma(2h) A"},
      {Accumulation::exact, "u |sum|"},
  }};
  std::string text;
  for (const auto& [accumulation, bound] : kBounds) {
    std::vector<std::string> numbers;
    for (const StageResult& result : report.stages) {
      if (result.stage->accumulation == accumulation) numbers.push_back(number_of(*result.stage));
    }
    if (numbers.empty()) continue;
    text += fmt::format("; of {} {}, {}", numbers.size() == 1 ? "stage" : "stages",
                        join(numbers, ", "), bound);
  }
  return text;
}

// What came of the runs over data whose sum is known.
std::string format_known_answers(const Report& report, std::size_t width) {
  unsigned least = std::numeric_limits<unsigned>::max();
  unsigned most = 0;
  unsigned wrong = 0;
  for (const StageResult& result : report.stages) {
    if (!result.ran) continue;
    least = std::min(least, result.known_answers.runs);
    most = std::max(most, result.known_answers.runs);
    wrong += result.known_answers.wrong;
  }
  if (!report.verify || most == 0) return "";
  return wrap("known answers: ",
              fmt::format("{}{} runs a stage over arrays whose sum is known, {} wrong",
                          least < most ? fmt::format("{} to ", with_separators(least)) : "",
                          with_separators(most), wrong == 0 ? "none" : with_separators(wrong)),
              width);
}

std::string format_legend(const Report& report, const std::vector<Column>& columns,
                          std::size_t width) {
  std::string legend = format_time_legend(report, columns, width);
  if (has(columns, "% bound")) {
    legend +=
        wrap("% bound: ",
             fmt::format("the error as a share of gamma(h) A, the bound of the stage's own tree{}",
                         other_bounds(report)),
             width);
  }
  if (has(columns, "% chance")) {
    legend += wrap(
        "% chance: ", "the error as a share of sqrt(h) u A, to be expected of rounding by chance",
        width);
  }
  return legend;
}

std::string format_notes(const Report& report, std::size_t width) {
  std::string notes;
  for (const StageResult& result : report.stages) {
    if (result.verification.note.empty()) continue;
    notes += wrap(fmt::format("{} {}: ", number_of(*result.stage), shorten(result.stage->name, 40)),
                  printable(result.verification.note), width);
  }
  return notes;
}

std::string format_against_reference(const Report& report, std::size_t width) {
  const std::optional<AgainstReference> against = against_reference(report);
  if (!against) return "";
  return wrap("",
              fmt::format("Fastest with the same bits from run to run: stage {} {}, in {:.3f} of "
                          "{}'s time.",
                          number_of(*against->fastest->stage), against->fastest->stage->name,
                          against->ratio, against->reference->stage->name),
              width);
}

std::vector<Column> probe_columns(const Report& report) {
  return {
      number_column(report),
      name_column(report),
      column("grid x block", report,
             [](const StageResult& r) {
               return r.block > 0 ? fmt::format("{} x {}", r.grid, r.block) : "-";
             }),
      column(
          "class", report,
          [](const StageResult& r) { return std::string(to_word(r.probe.claimed)); }, Align::left),
      column("repeats", report, [](const StageResult& r) { return shortest(r.probe.repeats); }),
      column("distinct", report, [](const StageResult& r) { return shortest(r.probe.distinct); }),
      column("min", report,
             [](const StageResult& r) -> std::string {
               return r.probe.repeats > 0 ? nine_digits(r.probe.min) : "-";
             }),
      column("+ ulps", report,
             [](const StageResult& r) -> std::string {
               return r.probe.repeats > 0 ? shortest(r.probe.span_ulps) : "-";
             }),
      column(
          "claim", report,
          [](const StageResult& r) { return std::string(to_word(r.probe.outcome)); }, Align::left)};
}

// Of stages that promise their bits whatever the launch, what the probe had among its repeats.
std::string format_probed(const Report& report, std::size_t width) {
  std::string lines;
  for (const StageResult& result : report.stages) {
    if (result.probe.shapes == 1 && !result.probe.permuted) continue;
    lines +=
        wrap("",
             fmt::format("{} {}: by {} shapes of launch{}", number_of(*result.stage),
                         shorten(result.stage->name, kStageNameWidth), result.probe.shapes,
                         result.probe.permuted ? ", and over the values in reversed order" : ""),
             width);
  }
  return lines;
}

// --- The verdict ---

std::string failure(const StageResult& result) {
  const bool check = result.verification.verdict == Verdict::failed;
  const bool claim = result.probe.outcome == Probe::Outcome::refuted;
  return fmt::format("{} ({})", shorten(result.stage->name, kStageNameWidth),
                     check && claim ? "check, determinism"
                     : check        ? "check"
                                    : "determinism");
}

// Names as many of `failures` as fit on the line.
std::string failed_verdict(std::string line, const std::vector<std::string>& failures,
                           std::size_t stages, std::size_t width) {
  line += fmt::format("FAILED: {} of {} stages: ", failures.size(), stages);
  for (std::size_t i = 0; i < failures.size(); ++i) {
    const std::size_t left = failures.size() - i;
    const std::string rest = left > 1 ? fmt::format(", and {} more", left - 1) : "";
    if (i > 0 && line.size() + 2 + failures[i].size() + rest.size() > width) {
      return line + fmt::format(", and {} more", left);
    }
    if (i > 0) line += ", ";
    line += failures[i];
  }
  return line;
}

std::string plain_verdict(const Report& report, std::size_t width) {
  std::vector<std::string> failures;
  std::size_t within = 0;
  std::size_t skipped = 0;
  bool tested = false;
  for (const StageResult& result : report.stages) {
    if (!passed(result)) failures.push_back(failure(result));
    if (result.verification.verdict == Verdict::passed) ++within;
    if (result.verification.verdict == Verdict::skipped) ++skipped;
    if (result.probe.outcome != Probe::Outcome::untested) tested = true;
  }
  if (!failures.empty()) {
    return failed_verdict(report.incomplete ? "INCOMPLETE, " : "", failures, report.stages.size(),
                          width);
  }
  if (report.incomplete && report.stages.empty()) {
    return "INCOMPLETE: interrupted before any stage was done";
  }
  return fmt::format("{}: {} of {} stages{} within their bounds{}, {}",
                     report.incomplete ? "INCOMPLETE" : "PASSED", within, report.stages.size(),
                     report.incomplete ? " so far" : "",
                     skipped > 0 ? fmt::format(", {} skipped", skipped) : "",
                     tested ? "no determinism claim refuted" : "determinism not tested");
}

}  // namespace

std::vector<Column> stage_columns(const Report& report) {
  std::vector<Column> columns = {number_column(report), name_column(report)};
  std::ranges::move(report.device.cuda ? time_columns(report) : tree_columns(report),
                    std::back_inserter(columns));
  std::ranges::move(verification_columns(report), std::back_inserter(columns));
  return columns;
}

std::string format_verdict(const Report& report, const TextStyle& style) {
  std::string text = wrap("", plain_verdict(report, width_of(style)), width_of(style));
  if (!style.color) return text;
  for (const std::string_view word : {"PASSED", "FAILED"}) {
    const std::size_t at = text.find(fmt::format("{}: ", word));
    if (at != std::string::npos) return text.replace(at, word.size(), paint(word));
  }
  return text;
}

std::string format_report(const Report& report, const TextStyle& style) {
  const std::size_t width = width_of(style);
  Facts facts(style);
  add_device(facts, report.device);
  add_state(facts, report);
  add_input(facts, report);
  add_cache(facts, report);
  add_launch_shape(facts, report);
  if (report.reference) add_reference(facts, *report.reference);
  add_ceilings(facts, report);
  add_floor(facts, report);
  std::string text = facts.lines() + '\n';
  if (!report.stages.empty()) {
    const std::vector<Column> columns = fit(stage_columns(report), width);
    text += fmt::format("{}\n{}{}\n", format_table(columns, style),
                        format_legend(report, columns, width), format_known_answers(report, width));
    if (const std::string notes = format_notes(report, width); !notes.empty()) text += notes + '\n';
    if (const std::string line = format_against_reference(report, width); !line.empty()) {
      text += line + '\n';
    }
    text +=
        wrap("", "Shape of the first launch, and determinism over repeated runs by bit patterns:",
             width) +
        format_table(fit(probe_columns(report), width), style) + '\n';
    if (const std::string lines = format_probed(report, width); !lines.empty()) {
      text += lines + '\n';
    }
    if (const std::string counters = format_counters(report, style); !counters.empty()) {
      text += counters + '\n';
    }
    if (!report.counters_note.empty()) {
      text += wrap("counters: ", printable(report.counters_note), width) + '\n';
    }
  }
  return text + format_verdict(report, style);
}

std::string format_stages(std::span<const Stage> stages, const TextStyle& style) {
  const std::size_t width = width_of(style);
  std::size_t name_width = 0;
  for (const Stage& stage : stages) name_width = std::max(name_width, stage.name.size());
  std::string text;
  for (const Stage& stage : stages) {
    text +=
        wrap(fmt::format("{:>3}  ", number_of(stage)),
             fmt::format("{:<{}}  {}", stage.name, name_width, to_word(stage.determinism)), width);
    text += wrap("       idea:    ", stage.idea, width);
    if (!stage.removes.empty()) text += wrap("       removes: ", stage.removes, width);
    if (stage.compute_capability > 0) {
      text += wrap("       needs:   ",
                   fmt::format("a GPU of compute capability {}.{} or later",
                               stage.compute_capability / 10, stage.compute_capability % 10),
                   width);
    }
  }
  return text;
}

}  // namespace reduce_ladder
