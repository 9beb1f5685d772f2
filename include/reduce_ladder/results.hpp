// Plain results of a run: what the reports print and the JSON holds. Seconds, bytes, elements.
#pragma once

#include <limits>
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
  unsigned misalignment = 0;          // values that it begins past a 16-byte border, 0 to 3
};

// The sum that judges, in double.
struct Reference {
  double sum = 0;
  double abs_sum = 0;  // A, the sum of |x|
  std::string method;
  Index n = std::numeric_limits<Index>::max();  // values summed; the default: not known
  // Sums of the finite values above and below zero: what can overflow on the way to a sum that is
  // infinite.
  double finite_above = 0;
  double finite_below = 0;
  std::optional<float> sum_as_float = std::nullopt;  // the exact sum, rounded once
  std::optional<double> fp64_loop = std::nullopt;    // what adding one by one in double gives
};

// Order statistics of a sample, in seconds.
struct Summary {
  double median = 0;
  double min = 0;
  double iqr = 0;  // third quartile minus first
  std::size_t samples = 0;
  unsigned discarded = 0;
  bool stable = true;  // sampling ended because the noise was low enough, not at the time-out
};

enum class Verdict { passed, failed, skipped };

// |result - reference| against the stage's a-priori bound. Both absolute, in units of the data.
struct Verification {
  Verdict verdict = Verdict::skipped;
  double error = 0;  // of the worst repeat
  double bound = 0;
  std::string note;                               // why it failed or was skipped, else empty
  std::optional<double> expected = std::nullopt;  // of rounding by chance; see expected_error()
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
  unsigned repeats = 0;   // of the same launch over the same values
  unsigned distinct = 0;  // bit patterns of all runs
  float min = 0;
  float max = 0;
  std::uint32_t span_ulps = 0;  // float32 values from min to max; 0 where all are the same
  // Of a stage that promises its bits whatever the shape of the launch and the order of the values:
  // shapes of launches that ran, and whether a permutation of the input did.
  unsigned shapes = 1;
  bool permuted = false;
  Outcome outcome = Outcome::untested;
};

// How many runs over data whose sum is known beforehand a stage has to pass.
enum class Thoroughness { quick, full };

// What came of them.
struct KnownAnswers {
  unsigned runs = 0;
  unsigned wrong = 0;
  std::string first_wrong;  // what ran, what came, and what is right
};

struct StageResult {
  const Stage* stage = nullptr;
  bool ran = true;        // false: it cannot run here, and the verification's note says why
  unsigned launches = 0;  // kernel launches a run; 0 where the stage does not say
  unsigned grid = 0;      // blocks of the first launch; likewise
  unsigned block = 0;     // threads a block of the first launch; likewise
  Index depth = 0;        // h of the bound
  float result = 0;       // of the first repeat
  Verification verification;
  KnownAnswers known_answers = {};  // one that is wrong fails the verification, too
  Probe probe;
  std::optional<Summary> time;  // absent where nothing can be timed
  // Counters of one run, launch by launch, of the same launches by the simulator and by the GPU;
  // empty where nobody counted.
  std::vector<LaunchCounters> simulated = {};
  std::vector<LaunchCounters> measured = {};
};

struct CopyCeiling {
  std::size_t bytes = 0;  // of the array that is copied
  Summary time;
};

struct ReadCeiling {
  std::size_t bytes = 0;  // read
  std::string shape;      // of the fastest kernel, in words
  Summary time;
};

struct Report {
  std::string date;  // UTC, ISO 8601
  DeviceInfo device;
  std::optional<unsigned> block;  // threads a block that were asked for; else each stage's own
  std::optional<unsigned> grid;   // blocks, likewise
  InputInfo input;
  std::optional<Reference> reference;  // absent where the run was interrupted before it
  CacheMode cache = CacheMode::cold;
  std::optional<Thoroughness> verify;  // absent where no known answers were asked for
  std::optional<CopyCeiling> copy;
  std::optional<ReadCeiling> read;
  std::optional<Summary> floor;  // an empty launch
  std::optional<MachineState> state_before;
  std::optional<MachineState> state_after;
  std::vector<StageResult> stages;
  std::string counters_note;  // why counters that were asked for are missing, else empty
  bool incomplete = false;    // interrupted: stages that were asked for are missing
};

// Bytes a second of a reduction over n float32 values, which only reads them.
double read_bandwidth(Index n, double seconds);
// Bytes a second of a copy, read and written, and of plain reads.
double copy_bandwidth(const CopyCeiling& copy);
double read_bandwidth(const ReadCeiling& read);
// A / |sum|: how many times larger the relative error of a sum may be than that of its additions.
// Infinite where all cancels; nothing where there is no relative error: of zeros alone, and of sums
// that are not finite.
std::optional<double> condition_number(const Reference& reference);
// The SM or memory clock differs between the two states by more than 1%.
bool clocks_moved(const Report& report);
// A stage read faster than the read ceiling by more than the spread (iqr) of both medians.
bool ceiling_not_tight(const Report& report);
// The n at which streaming at the read ceiling takes as long as the launch floor; nothing without
// both.
std::optional<Index> streaming_overtakes_floor(const Report& report);
// The fastest stage that promises the same bits from run to run, and how long it takes as a share
// of the reference stage's time; nothing unless both were timed and passed.
struct AgainstReference {
  const StageResult* fastest = nullptr;
  const StageResult* reference = nullptr;
  double ratio = 0;
};
std::optional<AgainstReference> against_reference(const Report& report);
// Every stage passed its check and none had its determinism claim refuted.
bool passed(const StageResult& result);
bool passed(const Report& report);

}  // namespace reduce_ladder
