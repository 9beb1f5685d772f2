// Plain results of a run: what the reports print and the JSON holds. Seconds, bytes, elements.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reduce_ladder/device.hpp"

namespace reduce_ladder {

// Where the values came from.
struct InputInfo {
  Index n = 0;
  std::string source;                 // "uniform [0,1)" or the path of the file
  std::optional<std::uint64_t> seed;  // of the generator; absent for a file
};

// The sum that judges, in double.
struct Reference {
  double sum = 0;
  double abs_sum = 0;  // A, the sum of |x|
  std::string method;
};

// Order statistics of a sample, in seconds.
struct Summary {
  double median = 0;
  double min = 0;
  double iqr = 0;  // third quartile minus first
  std::size_t samples = 0;
};

enum class Verdict { passed, failed, skipped };

// |result - reference| against the stage's a-priori bound. Both absolute, in units of the data.
struct Verification {
  Verdict verdict = Verdict::skipped;
  double error = 0;  // of the worst repeat
  double bound = 0;
  std::string note;  // why it failed or was skipped, else empty
};

// What the repeats showed. A probe can refute a claim, never prove it.
struct Probe {
  enum class Outcome {
    held,       // the claim was made and every repeat had the same bits
    refuted,    // the claim was made and two repeats differed
    unclaimed,  // the stage promises nothing
    untested,   // fewer than two repeats
  };
  Determinism claimed = Determinism::run_to_run;
  unsigned repeats = 0;
  unsigned distinct = 0;  // bit patterns
  float min = 0;
  float max = 0;
  Outcome outcome = Outcome::untested;
};

struct StageResult {
  const Stage* stage = nullptr;
  unsigned launches = 0;  // kernel launches a run
  Index depth = 0;        // h of the bound
  float result = 0;       // of the first repeat
  Verification verification;
  Probe probe;
  std::optional<Summary> time;  // absent where nothing can be timed
};

struct CopyCeiling {
  std::size_t bytes = 0;  // of the array that is copied
  Summary time;
};

struct Report {
  std::string date;  // UTC, ISO 8601
  DeviceInfo device;
  unsigned block = kDefaultBlock;
  InputInfo input;
  Reference reference;
  std::optional<CopyCeiling> copy;
  std::vector<StageResult> stages;
};

// Bytes a second of a reduction over n float32 values, which only reads them.
double read_bandwidth(Index n, double seconds);
// Bytes a second of a copy, read and written.
double copy_bandwidth(const CopyCeiling& copy);
// Every stage passed its check and none had its determinism claim refuted.
bool passed(const StageResult& result);
bool passed(const Report& report);

}  // namespace reduce_ladder
