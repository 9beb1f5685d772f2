#include "exports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "printable.hpp"
#include "report.hpp"
#include "text.hpp"
#include "words.hpp"

namespace reduce_ladder {
namespace {

// --- CSV ---

std::string quoted(std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(field);
  std::string text = "\"";
  for (const char c : field) text.append(c == '"' ? 2 : 1, c);
  return text + '"';
}

// The names of the cells of a row, and how a row finds them.
struct Field {
  std::string_view name;
  std::string (*cell)(const Report& report, const StageResult& stage);
};

template <double Summary::*member>
std::string time_cell(const Report&, const StageResult& stage) {
  return stage.time ? shortest((*stage.time).*member) : "";
}

double bandwidth(const Report& report, const StageResult& stage) {
  return read_bandwidth(report.input.n, stage.time->median);
}

// Of what only a stage has that ran.
std::string count(const StageResult& stage, std::uint64_t value) {
  return stage.ran ? fmt::to_string(value) : "";
}

constexpr std::array kFields = {
    Field{"date", [](const Report& r, const StageResult&) { return r.date; }},
    Field{"device", [](const Report& r, const StageResult&) { return r.device.name; }},
    Field{"incomplete",
          [](const Report& r, const StageResult&) { return fmt::to_string(r.incomplete); }},
    Field{"driver", [](const Report& r,
                       const StageResult&) { return r.device.cuda ? r.device.cuda->driver : ""; }},
    Field{"runtime",
          [](const Report& r, const StageResult&) {
            return r.device.cuda ? r.device.cuda->runtime : "";
          }},
    Field{"n", [](const Report& r, const StageResult&) { return fmt::to_string(r.input.n); }},
    Field{"bytes", [](const Report& r,
                      const StageResult&) { return fmt::to_string(r.input.n * sizeof(float)); }},
    Field{"grid", [](const Report&, const StageResult& s) { return known(s.grid); }},
    Field{"block",
          [](const Report& r, const StageResult& s) {
            return known(s.block != 0 ? s.block : r.block.value_or(0));
          }},
    Field{"cache",
          [](const Report& r, const StageResult&) {
            return r.device.cuda ? std::string(to_word(r.cache)) : "";
          }},
    Field{"stage", [](const Report&, const StageResult& s) { return number_of(*s.stage); }},
    Field{"name", [](const Report&, const StageResult& s) { return std::string(s.stage->name); }},
    Field{"median_s", time_cell<&Summary::median>},
    Field{"min_s", time_cell<&Summary::min>},
    Field{"iqr_s", time_cell<&Summary::iqr>},
    Field{"samples",
          [](const Report&, const StageResult& s) {
            return s.time ? fmt::to_string(s.time->samples) : "";
          }},
    Field{"discarded",
          [](const Report&, const StageResult& s) {
            return s.time ? fmt::to_string(s.time->discarded) : "";
          }},
    Field{"stable",
          [](const Report&, const StageResult& s) {
            return s.time ? fmt::to_string(s.time->stable) : "";
          }},
    Field{"bytes_per_s",
          [](const Report& r, const StageResult& s) {
            return s.time ? shortest(bandwidth(r, s)) : "";
          }},
    Field{"share_of_copy",
          [](const Report& r, const StageResult& s) {
            return s.time && r.copy ? shortest(bandwidth(r, s) / copy_bandwidth(*r.copy)) : "";
          }},
    Field{"share_of_read",
          [](const Report& r, const StageResult& s) {
            return s.time && r.read ? shortest(bandwidth(r, s) / read_bandwidth(*r.read)) : "";
          }},
    Field{"copy_bytes_per_s",
          [](const Report& r, const StageResult&) {
            return r.copy ? shortest(copy_bandwidth(*r.copy)) : "";
          }},
    Field{"read_bytes_per_s",
          [](const Report& r, const StageResult&) {
            return r.read ? shortest(read_bandwidth(*r.read)) : "";
          }},
    Field{"theoretical_bytes_per_s",
          [](const Report& r, const StageResult&) {
            const double theoretical = r.device.cuda ? r.device.cuda->theoretical_bandwidth : 0;
            return theoretical > 0 ? shortest(theoretical) : "";
          }},
    Field{"floor_s", [](const Report& r,
                        const StageResult&) { return r.floor ? shortest(r.floor->median) : ""; }},
    Field{"result",
          [](const Report&, const StageResult& s) { return s.ran ? shortest(s.result) : ""; }},
    Field{"reference",
          [](const Report& r, const StageResult&) { return shortest(r.reference->sum); }},
    Field{"reference_as_float",
          [](const Report& r, const StageResult&) {
            return r.reference->sum_as_float ? shortest(*r.reference->sum_as_float) : "";
          }},
    Field{"error",
          [](const Report&, const StageResult& s) {
            return s.ran ? shortest(s.verification.error) : "";
          }},
    Field{"bound",
          [](const Report&, const StageResult& s) {
            return s.ran ? shortest(s.verification.bound) : "";
          }},
    Field{"expected_error",
          [](const Report&,
             const StageResult&
                 s) { return s.verification.expected ? shortest(*s.verification.expected) : ""; }},
    Field{"accumulation",
          [](const Report&,
             const StageResult& s) { return std::string(to_word(s.stage->accumulation)); }},
    Field{"known_answers",
          [](const Report&, const StageResult& s) { return count(s, s.known_answers.runs); }},
    Field{
        "known_answers_wrong",
        [](const Report&, const StageResult& s) { return count(s, s.known_answers.wrong); }},
    Field{"depth",
          [](const Report&, const StageResult& s) { return count(s, s.depth); }},
    Field{"verify",
          [](const Report&,
             const StageResult& s) { return std::string(to_word(s.verification.verdict)); }},
    Field{
        "determinism",
        [](const Report&, const StageResult& s) { return std::string(to_word(s.probe.claimed)); }},
    Field{"repeats",
          [](const Report&, const StageResult& s) { return count(s, s.probe.repeats); }},
    Field{"distinct",
          [](const Report&, const StageResult& s) { return count(s, s.probe.distinct); }},
    Field{"span_ulps",
          [](const Report&,
             const StageResult& s) { return count(s, s.probe.span_ulps); }},
    Field{"claim", [](const Report&,
                      const StageResult& s) { return std::string(to_word(s.probe.outcome)); }},
    Field{"launches", [](const Report&, const StageResult& s) { return known(s.launches); }},
    Field{"note", [](const Report&, const StageResult& s) { return s.verification.note; }},
};

std::string csv_line(const std::function<std::string(const Field&)>& cell) {
  std::string line;
  for (const Field& field : kFields) {
    if (&field != &kFields.front()) line += ',';
    line += quoted(cell(field));
  }
  return line + '\n';
}

// --- Markdown ---

// Text from outside, which must not become markup or end its line.
std::string plain(std::string_view text) {
  std::string escaped;
  for (const char c : printable(text)) {
    if (std::string_view("\\`*_{}[]<>#|~&").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string trimmed(std::string_view text) {
  const std::size_t end = text.find_last_not_of(' ');
  return std::string(text.substr(0, end + 1));
}

std::string heading(const Report& report) {
  std::string text = fmt::format("### {}", plain(report.device.name));
  if (report.device.cuda) {
    text += fmt::format(", driver {}, CUDA runtime {}", plain(report.device.cuda->driver),
                        plain(report.device.cuda->runtime));
  }
  text += fmt::format(", {}: n = {}", report.date, report.input.n);
  if (report.block) text += fmt::format(", block {}", *report.block);
  if (report.grid) text += fmt::format(", grid {}", *report.grid);
  if (report.device.cuda) text += fmt::format(", {} cache", to_word(report.cache));
  return text + "\n";
}

std::string input(const Report& report) {
  std::string text = fmt::format("\nInput: {}", plain(report.input.source));
  if (report.input.seed) text += fmt::format(", seed {}", *report.input.seed);
  if (report.input.misalignment > 0) text += ", " + past_border(report.input.misalignment);
  if (report.reference) {
    text += fmt::format("; sum {}", shortest(report.reference->sum));
    if (const std::optional<double> condition = condition_number(*report.reference)) {
      text += fmt::format(", condition number {:.4g}", *condition);
    }
  }
  return text + ".\n";
}

// The denominators of the shares in the table.
std::string ceilings(const Report& report) {
  std::string text;
  auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (report.copy) {
    add(fmt::format("copy {:.1f} GB/s read + written", copy_bandwidth(*report.copy) / 1e9));
  }
  if (report.read) add(fmt::format("read {:.1f} GB/s", read_bandwidth(*report.read) / 1e9));
  if (report.floor) add(fmt::format("empty launch {:.2f} us", report.floor->median * 1e6));
  return text.empty() ? "" : fmt::format("\nMeasured in the same run: {}.\n", text);
}

std::string table(const Report& report) {
  const std::vector<Column> columns = stage_columns(report);
  std::string header = "|";
  std::string rule = "|";
  for (const Column& column : columns) {
    header += fmt::format(" {} |", plain(column.header));
    rule += column.left_aligned ? " :-- |" : " --: |";
  }
  std::string text = header + "\n" + rule + "\n";
  bool stable = true;
  for (std::size_t row = 0; row < report.stages.size(); ++row) {
    const std::optional<Summary>& time = report.stages[row].time;
    stable = stable && (!time || time->stable);
    text += "|";
    for (const Column& column : columns) {
      text += fmt::format(" {} |", plain(trimmed(column.cells[row])));
    }
    text += "\n";
  }
  if (!stable) text += "\n\\~ sampling ended at its time-out, before the median was stable\n";
  return text;
}

}  // namespace

std::string csv_rows(const Report& report) {
  std::string rows;
  for (const StageResult& stage : report.stages) {
    rows += csv_line([&](const Field& field) { return field.cell(report, stage); });
  }
  return rows;
}

std::string csv_header() {
  return csv_line([](const Field& field) { return std::string(field.name); });
}

std::string csv_row_without_stage(Index n, std::optional<unsigned> block, bool incomplete,
                                  const std::string& why) {
  return csv_line([&](const Field& field) {
    if (field.name == "incomplete") return fmt::to_string(incomplete);
    if (field.name == "n") return fmt::to_string(n);
    if (field.name == "bytes") return fmt::to_string(n * sizeof(float));
    if (field.name == "block") return known(block.value_or(0));
    if (field.name == "note") return why;
    return std::string();
  });
}

std::string to_csv(const Report& report) {
  return csv_header() + csv_rows(report);
}

std::string to_markdown(const Report& report) {
  return fmt::format("{}{}{}\n{}\n{}", heading(report), input(report), ceilings(report),
                     table(report), format_verdict(report));
}

}  // namespace reduce_ladder
