// The command line, parsed and checked.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data_kinds.hpp"
#include "reduce_ladder/device.hpp"
#include "sweep.hpp"

namespace reduce_ladder {

struct DeviceRequest {
  enum class Kind { automatic, cuda, sim };
  Kind kind = Kind::automatic;
  int ordinal = 0;  // of a CUDA device
};

enum class ColorMode { automatic, always, never };

struct Options {
  std::vector<int> stages;  // numbers, ascending, none twice
  bool list = false;
  Index n = Index{1} << 24;
  std::optional<unsigned> block;  // threads; each stage's own choice if absent
  std::optional<unsigned> grid;   // blocks, of stages whose grid is free; likewise
  DeviceRequest device;
  std::optional<std::string> input;  // path; else values of this kind:
  const DataKind* data = &data_kinds().front();
  std::uint64_t seed = 42;
  unsigned misalignment = 0;  // values that the input begins past a 16-byte border
  unsigned determinism = 8;   // repeats
  Thoroughness verify = Thoroughness::quick;
  Sampling sampling;
  std::optional<Sweep> sweep;
  std::optional<std::string> json;  // path, or "-" for standard output; likewise
  std::optional<std::string> csv;
  std::optional<std::string> markdown;
  ColorMode color = ColorMode::automatic;
  enum class Counters { none, wanted, required };
  Counters counters = Counters::none;
  bool explain = false;  // the stages, by their counters, instead of running them
  bool check = false;    // on a simulator that looks for what goes well by luck
  unsigned warp_size = 32;
  bool profile = false;
  bool require_gpu = false;
  bool quiet = false;
};

// What the command line says: options to run with, or a text (help, version) to print instead.
struct ParsedOptions {
  Options options;
  std::optional<std::string> text;
};

// Parses and checks everything that can be checked without touching a device or a file. `stages` is
// the table to choose from. Throws UsageError: one line with the option, the value and what is
// allowed.
ParsedOptions parse_options(int argc, const char* const* argv, std::span<const Stage> stages);

}  // namespace reduce_ladder
