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

#include "printable.hpp"
#include "words.hpp"

namespace reduce_ladder {
namespace {

constexpr std::size_t kWidth = 100;       // characters a line
constexpr std::size_t kSourceWidth = 50;  // of a path in the input line
constexpr std::size_t kNameWidth = 40;    // of the device's name

// --- Text: every line goes through here, so none is too long or ends in a space ---

// The first byte of the UTF-8 character that covers byte `at`.
std::size_t character_start(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) {
    --at;
  }
  return at;
}

// Leaves out the middle. A path is told by its end, so that keeps the larger share.
std::string shorten(std::string_view text, std::size_t width) {
  if (text.size() <= width) return std::string(text);
  const std::size_t kept = width - 3;
  const std::size_t head = character_start(text, kept / 3);
  std::size_t tail = text.size() - (kept - kept / 3);
  while (character_start(text, tail) != tail) ++tail;
  return fmt::format("{}...{}", text.substr(0, head), text.substr(tail));
}

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// `text` after `label`, broken between words where it is too long and indented to where it began.
std::string wrap(std::string label, std::string_view text) {
  const std::size_t room = kWidth - label.size();
  std::string lines;
  while (text.size() > room) {
    std::size_t end = text.rfind(' ', room);
    if (end == std::string_view::npos || end == 0) end = character_start(text, room);
    lines += without_trailing_spaces(label.append(text.substr(0, end))) + "\n";
    text.remove_prefix(std::min(text.find_first_not_of(' ', end), text.size()));
    label.assign(kWidth - room, ' ');
  }
  return lines + without_trailing_spaces(label.append(text)) + "\n";
}

std::string labelled(std::string_view label, std::string_view text) {
  return wrap(fmt::format("{:<11}", label), text);
}

// --- Numbers ---

// NaN has a sign bit, which means nothing here.
template <typename T>
std::string shortest(T value) {
  return std::isnan(value) ? "nan" : fmt::format("{}", value);
}

std::string nine_digits(float value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.9g}", value);
}

std::string with_separators(Index n) {
  std::string digits = fmt::format("{}", n);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
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

enum class Align { left, right };

struct Column {
  std::string header;
  std::vector<std::string> cells;
  Align align = Align::right;

  [[nodiscard]] std::size_t width() const {
    std::size_t width = header.size();
    for (const std::string& cell : cells) width = std::max(width, cell.size());
    return width;
  }
};

// Columns two spaces apart; one, then shorter stage names, where the line would be too long.
std::string format_table(std::vector<Column> columns) {
  auto total = [&](std::size_t gap) {
    std::size_t width = gap * (columns.size() - 1);
    for (const Column& column : columns) width += column.width();
    return width;
  };
  const std::size_t gap = total(2) <= kWidth ? 2 : 1;
  if (const std::size_t width = total(gap); width > kWidth) {
    Column& names = columns[1];
    const std::size_t name_width = names.width() - std::min(names.width() - 8, width - kWidth);
    for (std::string& name : names.cells) name = shorten(name, name_width);
  }
  std::vector<std::string> lines(columns.front().cells.size() + 1);
  for (const Column& column : columns) {
    const std::size_t width = column.width();
    for (std::size_t row = 0; row < lines.size(); ++row) {
      const std::string& cell = row == 0 ? column.header : column.cells[row - 1];
      if (&column != &columns.front()) lines[row].append(gap, ' ');
      lines[row] += column.align == Align::left ? fmt::format("{:<{}}", cell, width)
                                                : fmt::format("{:>{}}", cell, width);
    }
  }
  std::string table;
  for (std::string& line : lines) table += without_trailing_spaces(std::move(line)) + "\n";
  return table;
}

template <typename Cell>
Column column(std::string header, const Report& report, Cell cell, Align align = Align::right) {
  Column column{std::move(header), {}, align};
  for (const StageResult& result : report.stages) column.cells.push_back(cell(result));
  return column;
}

Column number_column(const Report& report) {
  return column("#", report, [](const StageResult& r) { return shortest(r.stage->number); });
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

// --- Sections ---

std::string format_device(const DeviceInfo& device) {
  const std::string name = shorten(printable(device.name), kNameWidth);
  if (!device.cuda) {
    return labelled("device", name) +
           labelled("", "The kernels are executed for their values, not timed.");
  }
  const CudaInfo& cuda = *device.cuda;
  return labelled("device", fmt::format("{} (cuda:{}), compute capability {}.{}, {} SMs", name,
                                        cuda.ordinal, cuda.compute_major, cuda.compute_minor,
                                        device.machine.multiprocessors)) +
         labelled("", fmt::format("{} memory, {} L2, driver {}, CUDA runtime {}",
                                  format_bytes(cuda.memory_bytes), format_bytes(cuda.l2_bytes),
                                  cuda.driver, cuda.runtime));
}

std::string format_input(const InputInfo& input) {
  const std::string seed = input.seed ? fmt::format(", seed {}", *input.seed) : "";
  return labelled(
      "input", fmt::format("{} {} ({}), {}{}", with_separators(input.n),
                           input.n == 1 ? "value" : "values", format_bytes(input.n * sizeof(float)),
                           shorten(printable(input.source), kSourceWidth), seed));
}

std::string format_reference(const Reference& reference) {
  return labelled("reference", fmt::format("{} ({}), A = sum|x| = {}", shortest(reference.sum),
                                           reference.method, shortest(reference.abs_sum)));
}

std::string format_copy(const CopyCeiling& copy, const DeviceInfo& device) {
  const double bandwidth = copy_bandwidth(copy);
  std::string lines =
      labelled("copy", fmt::format("{:.1f} GB/s read + written ({} copied; 1 GB = 1e9 bytes)",
                                   bandwidth / 1e9, format_bytes(copy.bytes)));
  if (device.cuda && device.cuda->theoretical_bandwidth > 0) {
    const double theoretical = device.cuda->theoretical_bandwidth;
    lines += labelled("", fmt::format("{:.1f}% of the theoretical {:.1f} GB/s",
                                      bandwidth / theoretical * 100, theoretical / 1e9));
  }
  return lines;
}

std::vector<Column> verification_columns(const Report& report) {
  return {column("rel error", report,
                 [&](const StageResult& r) {
                   return relative_error(r.verification.error, report.reference.sum);
                 }),
          column("% bound", report,
                 [](const StageResult& r) -> std::string {
                   const Verification& v = r.verification;
                   return v.verdict == Verdict::skipped ? "-" : share_of_bound(v.error, v.bound);
                 }),
          column(
              "check", report,
              [](const StageResult& r) {
                std::string word(to_word(r.verification.verdict));
                std::ranges::transform(word, word.begin(), [](unsigned char c) {
                  return static_cast<char>(std::toupper(c));
                });
                return word;
              },
              Align::left)};
}

std::vector<Column> time_columns(const Report& report) {
  using Value = std::optional<double>;
  auto median = [](const StageResult& r) { return r.time ? Value(r.time->median) : Value(); };
  auto bandwidth = [&](const StageResult& r) {
    return r.time ? Value(read_bandwidth(report.input.n, r.time->median)) : Value();
  };
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
             [](const StageResult& r) -> std::string {
               return r.time ? fmt::format("{:.1f}", r.time->iqr / r.time->median * 100) : "-";
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
  return {column("launches", report, [](const StageResult& r) { return shortest(r.launches); }),
          column("depth h", report, [](const StageResult& r) { return shortest(r.depth); })};
}

std::string format_stage_table(const Report& report) {
  std::vector<Column> columns = {number_column(report), name_column(report)};
  std::ranges::move(report.device.cuda ? time_columns(report) : tree_columns(report),
                    std::back_inserter(columns));
  std::ranges::move(verification_columns(report), std::back_inserter(columns));
  return format_table(std::move(columns));
}

std::string format_legend(const Report& report) {
  std::string legend;
  std::size_t samples = std::numeric_limits<std::size_t>::max();
  bool beyond_copy = false;
  for (const StageResult& result : report.stages) {
    if (!result.time) continue;
    samples = std::min(samples, result.time->samples);
    const double bandwidth = read_bandwidth(report.input.n, result.time->median);
    beyond_copy = beyond_copy || (report.copy && bandwidth > copy_bandwidth(*report.copy));
    legend = fmt::format(
        "ms: median of {} or more runs from a cold cache; iqr %: their spread; step: vs the row "
        "above\n",
        samples);
  }
  if (beyond_copy) {
    legend += "% copy: a stage only reads and can be faster than a copy, which also writes\n";
  }
  return legend +
         "% bound: the error as a share of gamma(h) A, the bound of the stage's own tree\n";
}

std::string format_notes(const Report& report) {
  std::string notes;
  for (const StageResult& result : report.stages) {
    if (result.verification.note.empty()) continue;
    notes += wrap(fmt::format("{} {}: ", result.stage->number, shorten(result.stage->name, 40)),
                  printable(result.verification.note));
  }
  return notes;
}

std::string format_probe_table(const Report& report) {
  return format_table(
      {number_column(report), name_column(report),
       column(
           "class", report,
           [](const StageResult& r) { return std::string(to_word(r.probe.claimed)); }, Align::left),
       column("repeats", report, [](const StageResult& r) { return shortest(r.probe.repeats); }),
       column("distinct", report, [](const StageResult& r) { return shortest(r.probe.distinct); }),
       column("min", report,
              [](const StageResult& r) -> std::string {
                return r.probe.repeats > 0 ? nine_digits(r.probe.min) : "-";
              }),
       column("max", report,
              [](const StageResult& r) -> std::string {
                return r.probe.repeats > 0 ? nine_digits(r.probe.max) : "-";
              }),
       column(
           "claim", report,
           [](const StageResult& r) { return std::string(to_word(r.probe.outcome)); },
           Align::left)});
}

std::string failure(const StageResult& result) {
  const bool check = result.verification.verdict == Verdict::failed;
  const bool claim = result.probe.outcome == Probe::Outcome::refuted;
  return fmt::format("{} ({})", shorten(result.stage->name, 40),
                     check && claim ? "check, determinism"
                     : check        ? "check"
                                    : "determinism");
}

std::string failed_verdict(const std::vector<std::string>& failures, std::size_t stages) {
  std::string line = fmt::format("FAILED: {} of {} stages: ", failures.size(), stages);
  for (std::size_t i = 0; i < failures.size(); ++i) {
    const std::size_t left = failures.size() - i;
    const std::string rest = left > 1 ? fmt::format(", and {} more", left - 1) : "";
    if (i > 0 && line.size() + 2 + failures[i].size() + rest.size() > kWidth) {
      return line + fmt::format(", and {} more\n", left);
    }
    if (i > 0) line += ", ";
    line += failures[i];
  }
  return line + "\n";
}

}  // namespace

std::string format_verdict(const Report& report) {
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
  if (!failures.empty()) return failed_verdict(failures, report.stages.size());
  return fmt::format("PASSED: {} of {} stages within their bounds{}, {}\n", within,
                     report.stages.size(), skipped > 0 ? fmt::format(", {} skipped", skipped) : "",
                     tested ? "no determinism claim refuted" : "determinism not tested");
}

std::string format_report(const Report& report) {
  std::string text = format_device(report.device);
  text += format_input(report.input);
  text += labelled("block", fmt::format("{} threads", report.block));
  text += format_reference(report.reference);
  if (report.copy) text += format_copy(*report.copy, report.device);
  text += fmt::format("\n{}\n{}", format_stage_table(report), format_legend(report));
  if (const std::string notes = format_notes(report); !notes.empty()) text += '\n' + notes;
  text += fmt::format("\nDeterminism over repeated runs, by bit patterns:\n{}\n{}",
                      format_probe_table(report), format_verdict(report));
  return text;
}

std::string format_stages(std::span<const Stage> stages) {
  std::size_t name_width = 0;
  for (const Stage& stage : stages) name_width = std::max(name_width, stage.name.size());
  std::string text;
  for (const Stage& stage : stages) {
    text += wrap(fmt::format("{:>2}  ", stage.number),
                 fmt::format("{:<{}}  {}", stage.name, name_width, to_word(stage.determinism)));
    text += wrap("      idea:    ", stage.idea);
    if (!stage.removes.empty()) text += wrap("      removes: ", stage.removes);
  }
  return text;
}

}  // namespace reduce_ladder
