// Two JSON reports side by side: which stages became slower, by more than chance explains?
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reduce_ladder/results.hpp"

namespace reduce_ladder {

struct CompareOptions {
  std::string base;  // path
  std::string next;  // path
  double fail_slower = 0.05;
  bool any = false;  // also reports of different devices or problems
};

// What the command line says: options to compare by, or a text (help) to print instead.
struct ParsedCompareOptions {
  CompareOptions options;
  std::optional<std::string> text;
};

// What a comparison needs of a stage in a report. Seconds.
struct RecordedStage {
  std::optional<Index> number;  // absent for the reference
  std::string name;
  std::optional<Summary> time;  // median, iqr and samples; absent where nothing was timed
};

// What a comparison needs of a report.
struct Record {
  std::string path;
  std::string device_kind;  // "cuda" or "sim"
  std::string device_name;
  std::string date;
  Index n = 0;
  Index bytes = 0;
  std::string source;          // of the values: the generator, or "a file", whatever its path
  std::optional<Index> block;  // asked for; else each stage's own
  std::optional<Index> grid;   // likewise
  Index misalignment = 0;      // values that the input begins past a 16-byte border
  std::string cache;           // "cold" or "warm"
  bool failed = false;
  bool incomplete = false;
  std::vector<RecordedStage> stages;
};

enum class Change { slower, faster, same, untimed, base_only, new_only };

// Times are medians in seconds; ratios are new / base.
struct StageComparison {
  std::optional<Index> number;  // absent for the reference
  std::string name;
  std::optional<double> base;
  std::optional<double> next;
  // Where both have a time:
  double time_ratio = 0;
  double bandwidth_ratio = 0;
  double noise = 0;  // half the width of a 95% interval of time_ratio, relative
  Change change = Change::untimed;
};

struct Comparison {
  Record base;
  Record next;
  double fail_slower = 0;
  std::vector<std::string> differences;  // what makes the reports hard to compare; their names
  std::vector<StageComparison> stages;   // in the order of the base, then those only in the other
};

// Parses what follows `compare` on the command line; argv[0] is that word. Throws UsageError: one
// line with the option, the value and what is allowed.
ParsedCompareOptions parse_compare_options(int argc, const char* const* argv);

// Takes a report of the schema "reduce-ladder/1" apart. `path` is for messages. Throws InputError
// that names the file and what is wrong with it.
Record parse_record(const std::string& path, std::string_view text);

// Reads a report from a regular file. Throws InputError like parse_record().
Record read_record(const std::string& path);

// Matches stages by name. One is slower only where the ratio of its medians is above 1 by more than
// options.fail_slower and by more than the noise; faster if it were slower with the reports
// exchanged. The noise of a median is 1.57 IQR / (sqrt(samples) median) (McGill, Tukey, Larsen
// 1978), that of the ratio both in quadrature. Throws UsageError if the reports are of different
// devices or problems and options.any is not set, and InputError if no stage has a time in both.
Comparison compare_records(const Record& base, const Record& next, const CompareOptions& options);

// Both reports, a row a stage, the verdict; lines of at most 100 characters, ending in a newline.
std::string format_comparison(const Comparison& comparison);

// Some stage became slower.
bool slower(const Comparison& comparison);

}  // namespace reduce_ladder
