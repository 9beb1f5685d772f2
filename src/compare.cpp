#include "compare.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "printable.hpp"
#include "reduce_ladder/errors.hpp"
#include "regular_file.hpp"
#include "text.hpp"

namespace reduce_ladder {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t kWidth = 100;  // characters a line
constexpr std::size_t kLabelWidth = 11;
constexpr std::size_t kNameWidth = 24;  // of a stage; with it no row is too long
constexpr std::size_t kItemWidth = 40;  // of a text out of a report
constexpr double kMaxPercent = 1000;
constexpr Index kMaxNumber = 9999;                                  // of a stage
constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{1} << 20U;  // far beyond any real report

// --- Text ---

// Text from outside, escaped, without its middle where it is long. A path is told by its end, so
// that keeps the larger share.
std::string shown(std::string_view text, std::size_t width = kItemWidth) {
  std::string whole = printable(text);
  if (whole.size() <= width) return whole;
  const auto inside_character = [&](std::size_t at) {
    return (static_cast<unsigned char>(whole[at]) & 0xC0U) == 0x80U;
  };
  const std::size_t kept = width - 3;
  std::size_t head = kept / 3;
  std::size_t tail = whole.size() - (kept - head);
  while (head > 0 && inside_character(head)) --head;
  while (tail < whole.size() && inside_character(tail)) ++tail;
  return whole.replace(head, tail - head, "...");
}

// Items with commas between them after `label`, on lines that begin below the first item.
std::string listed(const std::string& label, const std::vector<std::string>& items) {
  std::string text = label;
  std::size_t line_begin = 0;
  for (const std::string& item : items) {
    const bool first = &item == &items.front();
    const bool last = &item == &items.back();
    const std::size_t length = text.size() - line_begin + (first ? 0 : 1) + item.size();
    if (!first && length + (last ? 0 : 1) > kWidth) {
      text += '\n';
      line_begin = text.size();
      text.append(std::min(label.size(), kLabelWidth), ' ');
    } else if (!first) {
      text += ' ';
    }
    text += item + (last ? "" : ",");
  }
  return text + '\n';
}

std::string percent(double share) {
  return fmt::format("{:.4g}%", share * 100);
}

// --- Options ---

double parse_percent(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const bool is_percentage = error == std::errc{} && std::string_view(stop, end) == "%";
  if (is_percentage && value >= 0 && value <= kMaxPercent) return value / 100;
  throw UsageError(fmt::format("--fail-slower {}: must be a percentage from 0% to {}%, such as 5%",
                               printable(text), kMaxPercent));
}

constexpr std::string_view kFooter = R"(Examples:
  reduce-ladder compare before.json after.json
  reduce-ladder compare before.json after.json --fail-slower 2.5%
  reduce-ladder compare one-gpu.json another.json --any

Exit status:
  0  no stage is slower
  2  a usage error, reports that cannot be read or cannot be compared
  5  a stage is slower by more than --fail-slower and by more than its noise)";

// --- Reading. Throws InputErrors that say what is wrong; the callers put the path in front. ---

// The field at a JSON pointer such as "/device/name".
const Json& field(const Json& document, const std::string& path) {
  const Json::json_pointer pointer(path);
  if (!document.contains(pointer)) throw InputError(fmt::format("has no field {}", path));
  return document.at(pointer);
}

[[noreturn]] void refuse_field(const std::string& path, std::string_view allowed) {
  throw InputError(fmt::format("its field {} must be {}", path, allowed));
}

std::string text_at(const Json& document, const std::string& path) {
  const Json& value = field(document, path);
  if (!value.is_string()) refuse_field(path, "a text");
  return value.get<std::string>();
}

Index count_at(const Json& document, const std::string& path) {
  const Json& value = field(document, path);
  if (!value.is_number_unsigned()) refuse_field(path, "a whole number from 0 to 2^64 - 1");
  return value.get<Index>();
}

// Nothing where the field is null.
std::optional<Index> count_or_null_at(const Json& document, const std::string& path) {
  if (field(document, path).is_null()) return std::nullopt;
  return count_at(document, path);
}

// Texts such as "nan", which stand for what JSON has no number for, are no times.
double seconds_at(const Json& document, const std::string& path) {
  const Json& value = field(document, path);
  if (!value.is_number() || !(value.get<double>() >= 0)) {
    refuse_field(path, "a number of seconds, not negative");
  }
  return value.get<double>();
}

bool flag_at(const Json& document, const std::string& path, bool missing) {
  if (!document.contains(Json::json_pointer(path))) return missing;
  const Json& value = field(document, path);
  if (!value.is_boolean()) refuse_field(path, "true or false");
  return value.get<bool>();
}

std::string one_of(const Json& document, const std::string& path, const std::string& a,
                   const std::string& b) {
  std::string text = text_at(document, path);
  if (text != a && text != b) refuse_field(path, fmt::format(R"("{}" or "{}")", a, b));
  return text;
}

Summary summary_at(const Json& document, const std::string& path) {
  Summary summary;
  summary.median = seconds_at(document, path + "/median");
  summary.iqr = seconds_at(document, path + "/iqr");
  summary.samples = count_at(document, path + "/samples");
  if (summary.median == 0) refuse_field(path + "/median", "more than 0 seconds");
  if (summary.samples == 0) refuse_field(path + "/samples", "at least 1");
  return summary;
}

RecordedStage stage_at(const Json& document, const std::string& path) {
  RecordedStage stage;
  stage.number = count_or_null_at(document, path + "/number");
  if (stage.number && *stage.number > kMaxNumber) {
    refuse_field(path + "/number", fmt::format("at most {}", kMaxNumber));
  }
  stage.name = text_at(document, path + "/name");
  if (!field(document, path + "/time_s").is_null()) {
    stage.time = summary_at(document, path + "/time_s");
  }
  return stage;
}

Json parse_json(std::string_view text) {
  if (text.empty()) throw InputError("is empty");
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    // The parser's own message quotes the file, over any length.
    if (error.byte > text.size()) {
      throw InputError(fmt::format("is no JSON: it is cut off after {} bytes", text.size()));
    }
    throw InputError(fmt::format("is no JSON: byte {} is not as it should be", error.byte));
  } catch (const Json::exception&) {
    throw InputError("holds a number beyond the range of a double");
  }
}

const RecordedStage* find_stage(const std::vector<RecordedStage>& stages, std::string_view name) {
  const auto found = std::ranges::find(stages, name, &RecordedStage::name);
  return found == stages.end() ? nullptr : &*found;
}

Record parse(std::string_view text) {
  constexpr std::string_view schema = "reduce-ladder/1";
  const Json document = parse_json(text);
  if (!document.is_object() || !document.contains("schema")) {
    throw InputError("is no report of reduce-ladder: it has no schema");
  }
  if (const std::string found = text_at(document, "/schema"); found != schema) {
    throw InputError(fmt::format("its schema is '{}'; only '{}' is allowed", shown(found), schema));
  }
  Record record;
  record.device_kind = one_of(document, "/device/kind", "cuda", "sim");
  record.device_name = text_at(document, "/device/name");
  record.date = text_at(document, "/date");
  record.n = count_at(document, "/input/n");
  record.bytes = count_at(document, "/input/bytes");
  record.source = text_at(document, "/input/source");
  if (field(document, "/input/seed").is_null()) record.source = "a file";
  // Reports older than the field are of an aligned input.
  if (field(document, "/input").contains("misalignment")) {
    record.misalignment = count_at(document, "/input/misalignment");
  }
  record.block = count_or_null_at(document, "/block");
  // Reports older than the field are of stages that chose their grids.
  if (document.contains("grid")) record.grid = count_or_null_at(document, "/grid");
  // Reports older than the field are of a cold cache.
  record.cache = document.contains("cache") ? one_of(document, "/cache", "cold", "warm") : "cold";
  record.failed = one_of(document, "/verdict", "passed", "failed") == "failed";
  record.incomplete = flag_at(document, "/incomplete", false);
  const Json& stages = field(document, "/stages");
  if (!stages.is_array()) refuse_field("/stages", "an array");
  for (std::size_t i = 0; i < stages.size(); ++i) {
    RecordedStage stage = stage_at(document, fmt::format("/stages/{}", i));
    if (find_stage(record.stages, stage.name) != nullptr) {
      throw InputError(fmt::format("has two stages '{}'", shown(stage.name)));
    }
    record.stages.push_back(std::move(stage));
  }
  return record;
}

std::string read_text(const fs::path& path) {
  require_regular_file(path);
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (error) throw InputError(fmt::format("cannot be read: {}", error.message()));
  if (bytes > kMaxFileBytes) {
    throw InputError(fmt::format("has {} bytes; a report has {} at most", bytes, kMaxFileBytes));
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw InputError(fmt::format("cannot be read: {}", std::generic_category().message(errno)));
  }
  std::string text(bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(bytes));
  if (!file) {
    throw InputError(
        fmt::format("cannot be read: {} bytes were due, {} came", bytes, file.gcount()));
  }
  return text;
}

// --- Comparing ---

// A property that two reports must share to be compared.
struct Property {
  std::string name;
  std::string base;
  std::string next;
};

// A part of the launch shape.
std::string chosen(const std::optional<Index>& value) {
  return value ? fmt::format("{}", *value) : "each stage's own";
}

std::vector<Property> differing_properties(const Record& base, const Record& next) {
  const auto device = [](const Record& r) { return r.device_kind + " " + r.device_name; };
  std::vector<Property> properties = {
      {"device", device(base), device(next)},
      {"n", fmt::format("{}", base.n), fmt::format("{}", next.n)},
      {"input", base.source, next.source},
      {"misalignment", fmt::format("{}", base.misalignment), fmt::format("{}", next.misalignment)},
      {"block", chosen(base.block), chosen(next.block)},
      {"grid", chosen(base.grid), chosen(next.grid)},
      {"cache", base.cache, next.cache}};
  std::erase_if(properties, [](const Property& p) { return p.base == p.next; });
  return properties;
}

double median_noise(const Summary& time) {
  return 1.57 * time.iqr / (std::sqrt(static_cast<double>(time.samples)) * time.median);
}

void compare_times(StageComparison& stage, const Summary& base, const Summary& next,
                   double bytes_ratio, double threshold) {
  stage.time_ratio = next.median / base.median;
  stage.bandwidth_ratio = bytes_ratio / stage.time_ratio;
  stage.noise = std::hypot(median_noise(base), median_noise(next));
  const double margin = 1 + std::max(threshold, stage.noise);
  stage.change = next.median > base.median * margin   ? Change::slower
                 : base.median > next.median * margin ? Change::faster
                                                      : Change::same;
}

std::optional<double> median_of(const RecordedStage* stage) {
  return stage != nullptr && stage->time ? std::optional(stage->time->median) : std::nullopt;
}

std::vector<StageComparison> compare_stages(const Record& base, const Record& next,
                                            double threshold) {
  // Not by division where the sizes agree: both may be 0.
  const double bytes_ratio =
      base.bytes == next.bytes ? 1
                               : static_cast<double>(next.bytes) / static_cast<double>(base.bytes);
  std::vector<StageComparison> stages;
  for (const RecordedStage& before : base.stages) {
    const RecordedStage* const after = find_stage(next.stages, before.name);
    StageComparison& stage = stages.emplace_back();
    stage.number = before.number;
    stage.name = before.name;
    stage.base = median_of(&before);
    stage.next = median_of(after);
    if (after == nullptr) {
      stage.change = Change::base_only;
    } else if (before.time && after->time) {
      compare_times(stage, *before.time, *after->time, bytes_ratio, threshold);
    }
  }
  for (const RecordedStage& after : next.stages) {
    if (find_stage(base.stages, after.name) != nullptr) continue;
    StageComparison& stage = stages.emplace_back();
    stage.number = after.number;
    stage.name = after.name;
    stage.next = median_of(&after);
    stage.change = Change::new_only;
  }
  return stages;
}

bool compared(const StageComparison& stage) {
  return stage.base && stage.next;
}

std::string_view to_word(Change change) {
  switch (change) {
    case Change::slower:
      return "slower";
    case Change::faster:
      return "faster";
    case Change::same:
      return "same";
    case Change::base_only:
      return "base only";
    case Change::new_only:
      return "new only";
    case Change::untimed:
      break;
  }
  return "untimed";
}

// --- The text of a comparison ---

std::string format_record(std::string_view label, const Record& record) {
  std::vector<std::string> facts = {shown(record.device_name), shown(record.date),
                                    fmt::format("n = {}", with_separators(record.n)),
                                    shown(record.source), record.cache + " cache"};
  if (record.block) facts.push_back(fmt::format("block {}", *record.block));
  if (record.grid) facts.push_back(fmt::format("grid {}", *record.grid));
  if (record.failed) facts.emplace_back("checks FAILED");
  if (record.incomplete) facts.emplace_back("incomplete");
  return fmt::format("{:<{}}{}\n{}", label, kLabelWidth, shown(record.path, kWidth - kLabelWidth),
                     listed(std::string(kLabelWidth, ' '), facts));
}

// With so many decimals where that is not too long.
std::string real(double value, int decimals, std::string_view unit = "") {
  if (!std::isfinite(value)) return "-";
  if (value >= 1e4) return fmt::format("{:.2e}{}", value, unit);
  return fmt::format("{:.{}f}{}", value, decimals, unit);
}

std::string milliseconds(std::optional<double> seconds) {
  return seconds ? real(*seconds * 1e3, 5) : "-";
}

constexpr std::size_t kColumns = 8;
using Row = std::array<std::string, kColumns>;

Row row(const StageComparison& stage) {
  const bool both = compared(stage);
  return {stage.number ? fmt::format("{}", *stage.number) : "ref",
          shown(stage.name, kNameWidth),
          milliseconds(stage.base),
          milliseconds(stage.next),
          both ? real(stage.time_ratio, 3, "x") : "-",
          both ? real(stage.bandwidth_ratio, 3, "x") : "-",
          both ? real(stage.noise * 100, 2) : "-",
          std::string(to_word(stage.change))};
}

std::string format_rows(const std::vector<StageComparison>& stages) {
  std::vector<Row> rows = {
      {"#", "stage", "base ms", "new ms", "time", "GB/s", "noise %", "result"}};
  std::ranges::transform(stages, std::back_inserter(rows), row);
  std::array<std::size_t, kColumns> widths{};
  for (const Row& cells : rows) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], cells[i].size());
  }
  std::string text;
  for (const Row& cells : rows) {
    text += fmt::format("{:>{}}  {:<{}}", cells[0], widths[0], cells[1], widths[1]);
    for (std::size_t i = 2; i + 1 < kColumns; ++i) {
      text += fmt::format("  {:>{}}", cells[i], widths[i]);
    }
    text += fmt::format("  {}\n", cells.back());
  }
  return text;
}

std::string format_outcome(const Comparison& comparison) {
  const std::string threshold = percent(comparison.fail_slower);
  const auto number_of = [&](Change change) {
    return std::ranges::count(comparison.stages, change, &StageComparison::change);
  };
  const auto total = std::ranges::count_if(comparison.stages, compared);
  if (!slower(comparison)) {
    const auto left_out = std::ssize(comparison.stages) - total;
    return fmt::format("NOT SLOWER: none of {} {} by more than {} and its noise, {} faster{}\n",
                       total, total == 1 ? "stage" : "stages", threshold, number_of(Change::faster),
                       left_out > 0 ? fmt::format("; {} not compared", left_out) : "");
  }
  std::vector<std::string> names;
  for (const StageComparison& stage : comparison.stages) {
    if (stage.change == Change::slower) names.push_back(shown(stage.name, kNameWidth));
  }
  return listed(
      fmt::format("SLOWER: {} of {} {} by more than {} and {} noise: ", names.size(), total,
                  total == 1 ? "stage" : "stages", threshold, names.size() == 1 ? "its" : "their"),
      names);
}

}  // namespace

ParsedCompareOptions parse_compare_options(int argc, const char* const* argv) {
  ParsedCompareOptions parsed;
  CompareOptions& options = parsed.options;
  CLI::App app("Compares the times of two JSON reports, stage by stage.", "reduce-ladder compare");
  app.footer(std::string(kFooter));
  app.allow_extras();   // named below
  app.set_help_flag();  // CLI11's own waits until every value is parsed
  app.add_flag_callback(
      "-h,--help", [] { throw CLI::CallForHelp(); }, "Print this help and exit");
  app.add_option("BASE", options.base, "Report to compare with")->option_text(" ")->required();
  app.add_option("NEW", options.next, "Report to judge")->option_text(" ")->required();
  app.add_option_function<std::string>(
         "--fail-slower",
         [&options](const std::string& text) { options.fail_slower = parse_percent(text); },
         fmt::format("Slowdown that is let pass, 0% to {}% (default {})", kMaxPercent,
                     percent(options.fail_slower)))
      ->type_name("PERCENT");
  app.add_flag("--any", options.any,
               "Compare although device, n, input, block, grid or\ncache differ")
      ->disable_flag_override();

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    parsed.text = app.help();
    return parsed;
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("compare: {}", printable(error.what())));
  }
  if (const auto extra = app.remaining(); !extra.empty()) {
    throw UsageError(fmt::format(
        "'{}': compare takes two reports (./-x for one that starts with -), --fail-slower PERCENT, "
        "--any and --help",
        printable(extra.front())));
  }
  if (options.base.empty() || options.next.empty()) {
    throw UsageError("compare: an empty path; the paths of two reports are needed");
  }
  return parsed;
}

Record parse_record(const std::string& path, std::string_view text) {
  try {
    Record record = parse(text);
    record.path = path;
    return record;
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", printable(path), error.what()));
  }
}

Record read_record(const std::string& path) {
  std::string text;
  try {
    text = read_text(path);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", printable(path), error.what()));
  }
  return parse_record(path, text);
}

Comparison compare_records(const Record& base, const Record& next, const CompareOptions& options) {
  Comparison comparison{.base = base,
                        .next = next,
                        .fail_slower = options.fail_slower,
                        .differences = {},
                        .stages = compare_stages(base, next, options.fail_slower)};
  // Before the differences: --any would not help.
  if (std::ranges::none_of(comparison.stages, compared)) {
    throw InputError(fmt::format(
        "{} and {}: no stage has a time in both, so there is nothing to compare (the simulator has "
        "no clock)",
        printable(base.path), printable(next.path)));
  }
  std::string refusal;
  for (const Property& property : differing_properties(base, next)) {
    refusal += fmt::format("{}{} ({}, {})", refusal.empty() ? "" : ", ", property.name,
                           shown(property.base), shown(property.next));
    comparison.differences.push_back(property.name);
  }
  if (!refusal.empty() && !options.any) {
    throw UsageError(fmt::format("{} and {} differ in {}; --any compares them all the same",
                                 printable(base.path), printable(next.path), refusal));
  }
  return comparison;
}

std::string format_comparison(const Comparison& comparison) {
  std::string text = format_record("base", comparison.base) + format_record("new", comparison.next);
  if (!comparison.differences.empty()) {
    text += listed(fmt::format("{:<{}}", "different", kLabelWidth), comparison.differences);
  }
  return text +
         fmt::format(
             "\n{}\n"
             "time, GB/s: new / base; noise %: of time, 95%, from the spread of the samples alone\n"
             "\n{}",
             format_rows(comparison.stages), format_outcome(comparison));
}

bool slower(const Comparison& comparison) {
  return std::ranges::find(comparison.stages, Change::slower, &StageComparison::change) !=
         comparison.stages.end();
}

}  // namespace reduce_ladder
