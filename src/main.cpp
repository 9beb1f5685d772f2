// reduce-ladder: the command. The only place that turns an error into an exit status.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "compare.hpp"
#include "evidence.hpp"
#include "exports.hpp"
#include "input.hpp"
#include "ladder.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "printable.hpp"
#include "reduce_ladder/errors.hpp"
#include "report.hpp"
#include "sweep.hpp"

namespace reduce_ladder {
namespace {

enum ExitStatus : int {
  kPassed = 0,
  kFailed = 1,
  kBadRequest = 2,
  kNoGpu = 3,
  kDeviceError = 4,
  kSlower = 5,
  kInterrupted = 130,
};

// Set by the first Ctrl-C, which lets the stage that runs come to its end; the second one kills.
volatile std::sig_atomic_t interrupt_count = 0;

void note_interrupt(int signal) {
  interrupt_count = 1;
  std::signal(signal, SIG_DFL);
}

// For what a person may like to know. A notice that cannot be shown is no reason to fail.
void notify(const std::string& text) {
  std::fputs(text.c_str(), stderr);
}

// With a word to the user, where it is not what one may expect.
struct ChosenDevice {
  std::unique_ptr<Device> device;
  std::string notice;
};

ChosenDevice choose_device(const Options& options) {
  const bool counters_required = options.counters == Options::Counters::required;
  switch (options.device.kind) {
    case DeviceRequest::Kind::sim:
      if (counters_required) {
        throw CountersUnavailable(
            "--counters=require: the simulator has no hardware counters; --counters alone counts "
            "on it");
      }
      return {make_simulated_device(
                  {.seed = options.seed, .checked = options.check, .warp_size = options.warp_size}),
              ""};
    case DeviceRequest::Kind::cuda:
      return {make_cuda_device(options.device.ordinal), ""};
    case DeviceRequest::Kind::automatic:
      break;
  }
  try {
    return {make_cuda_device(0), ""};
  } catch (const NoGpuError& error) {
    if (options.require_gpu) throw;
    if (counters_required) {
      throw CountersUnavailable(fmt::format(
          "--counters=require: {}; --counters alone counts on the simulator", error.what()));
    }
    return {make_simulated_device(options.seed),
            fmt::format("{}; the stages run on the simulator instead", error.what())};
  }
}

bool terminal_is_dumb() {
  const char* term = std::getenv("TERM");
  return term == nullptr || std::string_view(term) == "dumb";
}

// How the report looks on the stream that it goes to.
TextStyle text_style(ColorMode color, int descriptor) {
  TextStyle style;
  const bool terminal = isatty(descriptor) == 1;
  const char* no_color = std::getenv("NO_COLOR");
  const bool unwanted = (no_color != nullptr && *no_color != '\0') || terminal_is_dumb();
  style.color =
      color == ColorMode::always || (color == ColorMode::automatic && terminal && !unwanted);
  winsize size{};
  if (terminal && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    style.width = std::clamp<unsigned>(size.ws_col, 80, 100);
  }
  return style;
}

// A line on standard error that each call overwrites; nothing where nobody watches.
class ProgressLine {
 public:
  explicit ProgressLine(bool wanted)
      : shown_(wanted && isatty(STDERR_FILENO) == 1 && !terminal_is_dumb()) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Clipped, since a line that wraps cannot be overwritten.
  void show(std::string_view text) const {
    if (shown_) notify(fmt::format("\r\x1b[K{}", text.substr(0, 79)));
  }
  void clear() const { show(""); }

 private:
  bool shown_;
};

int compare(int argc, const char* const* argv) {
  const auto [options, text] = parse_compare_options(argc, argv);
  if (text) {
    write_stdout(*text);
    return kPassed;
  }
  const Comparison comparison =
      compare_records(read_record(options.base), read_record(options.next), options);
  write_stdout(format_comparison(comparison));
  return slower(comparison) ? kSlower : kPassed;
}

// Refuses outputs that cannot be written, and one that would overwrite the input.
void check_outputs(const Options& options) {
  for (const auto& target : {options.json, options.csv, options.markdown}) {
    if (!target || leads_to_stdout(*target)) continue;
    check_writable(*target);
    std::error_code error;
    if (options.input && std::filesystem::equivalent(*options.input, *target, error)) {
      throw UsageError(
          fmt::format("{}: is the input, and would be overwritten", printable(*target)));
    }
  }
}

// Where a result goes, in which form.
template <typename Result>
struct Export {
  const std::optional<std::string>* target;
  std::string (*format)(const Result&);
};

// Files first, so that nothing that goes wrong with the streams can lose them. Where one of them
// goes to standard output, the text goes to standard error.
template <typename Result>
void write_all(const Options& options, const Result& result,
               std::initializer_list<Export<Result>> exports,
               std::string (*format_text)(const Result&, const TextStyle&)) {
  bool stdout_taken = false;
  for (const auto& [target, format] : exports) {
    if (!*target) continue;
    if (leads_to_stdout(**target)) {
      stdout_taken = true;
      write_stdout(format(result));
    } else {
      write_file(**target, format(result));
    }
  }
  if (options.quiet) return;
  if (stdout_taken) {
    write_stderr(format_text(result, text_style(options.color, STDERR_FILENO)));
  } else {
    write_stdout(format_text(result, text_style(options.color, STDOUT_FILENO)));
  }
}

int run_sweep_and_write(Device& device, const Options& options, const Climb& what,
                        const Progress& progress, const Interrupted& interrupted) {
  const Generator generate_kind = [&options](Index n, std::uint64_t seed) {
    return generate(*options.data, n, seed);
  };
  const std::vector<SweepPoint> points = run_sweep(device, *options.sweep, options.n, options.seed,
                                                   what, progress, interrupted, generate_kind);
  progress("");
  write_all<std::vector<SweepPoint>>(options, points,
                                     {{&options.json, sweep_to_json}, {&options.csv, sweep_to_csv}},
                                     format_sweep);
  if (incomplete(points)) return kInterrupted;
  return passed(points) ? kPassed : kFailed;
}

int run_once_and_write(Device& device, std::optional<Input> input_file, const Options& options,
                       const Climb& what, const Progress& progress,
                       const Interrupted& interrupted) {
  const Input input =
      input_file ? std::move(*input_file) : generate(*options.data, options.n, options.seed);
  const Report report = climb(device, input, what, progress, interrupted);
  progress("");
  write_all<Report>(
      options, report,
      {{&options.json, to_json}, {&options.csv, to_csv}, {&options.markdown, to_markdown}},
      format_report);
  if (report.incomplete) return kInterrupted;
  if (!passed(report)) return kFailed;
  if (options.counters == Options::Counters::required && !measured(report)) {
    throw CountersUnavailable(report.counters_note.empty() ? "no stage was counted"
                                                           : report.counters_note);
  }
  return kPassed;
}

// Prints, stage by stage, what counters say.
int explain(Device& device, const Options& options, std::optional<Input> input_file,
            std::vector<PlannedStage> planned, const Progress& progress,
            const Interrupted& interrupted) {
  const Input input =
      input_file ? std::move(*input_file) : generate(*options.data, options.n, options.seed);
  const TextStyle style = text_style(options.color, STDOUT_FILENO);
  Explainer explainer(device, input, std::move(planned), options.misalignment, progress);
  for (const int number : options.stages) {
    if (interrupted()) {
      progress("");
      notify(fmt::format("reduce-ladder: interrupted before stage {}\n",
                         std::ranges::find(device.stages(), number, &Stage::number)->name));
      return kInterrupted;
    }
    const std::string text = explainer.explain(number, style);
    progress("");
    write_stdout(number == options.stages.front() ? text : "\n" + text);
  }
  if (const std::string& note = explainer.note(); !note.empty() && !options.quiet) {
    notify(fmt::format("reduce-ladder: {}\n", note));
  }
  return kPassed;
}

int run(int argc, const char* const* argv) {
  if (argc > 1 && std::string_view(argv[1]) == "compare") return compare(argc - 1, argv + 1);
  const auto [options, text] = parse_options(argc, argv, stages_simulated());
  if (text) {
    write_stdout(*text);
    return kPassed;
  }
  if (options.list) {
    write_stdout(format_stages(stages_simulated()));
    return kPassed;
  }
  check_outputs(options);

  std::optional<Input> input_file;
  if (options.input) input_file = read_input(*options.input);
  const auto [device, notice] = choose_device(options);
  const Climb what{.stages = options.stages,
                   .block = options.block,
                   .grid = options.grid,
                   .misalignment = options.misalignment,
                   .repeats = options.profile ? 1 : options.determinism,
                   .verify = options.profile ? std::nullopt : std::optional(options.verify),
                   .sampling = options.sampling,
                   .counted = options.counters != Options::Counters::none,
                   .timed = !options.profile};
  // What cannot run is refused before anything is said, or values are made.
  std::vector<PlannedStage> planned;
  if (!options.sweep) {
    const Index n = input_file ? input_file->info.n : options.n;
    planned = options.explain ? plan_explanation(*device, n, what) : plan_stages(*device, n, what);
  }
  if (!notice.empty() && !options.quiet) notify(fmt::format("reduce-ladder: {}\n", notice));
  std::signal(SIGINT, note_interrupt);
  const ProgressLine line(!options.quiet);
  const Progress progress = [&line](std::string_view step) { line.show(step); };
  const Interrupted interrupted = [] { return interrupt_count != 0; };
  if (options.explain) {
    return explain(*device, options, std::move(input_file), std::move(planned), progress,
                   interrupted);
  }
  return options.sweep ? run_sweep_and_write(*device, options, what, progress, interrupted)
                       : run_once_and_write(*device, std::move(input_file), options, what, progress,
                                            interrupted);
}

int report_error(const std::exception& error, ExitStatus status) {
  // Not by a call that throws: there is nobody left to tell.
  std::fprintf(stderr, "reduce-ladder: %s\n", error.what());
  return status;
}

int run_and_report_errors(int argc, const char* const* argv) {
  try {
    return run(argc, argv);
  } catch (const UsageError& error) {
    return report_error(error, kBadRequest);
  } catch (const InputError& error) {
    return report_error(error, kBadRequest);
  } catch (const OutputError& error) {
    return report_error(error, kBadRequest);
  } catch (const NoGpuError& error) {
    return report_error(error, kNoGpu);
  } catch (const CudaError& error) {
    return report_error(error, kDeviceError);
  } catch (const CountersUnavailable& error) {
    return report_error(error, kDeviceError);
  } catch (const OutOfMemoryError& error) {
    return report_error(error, kDeviceError);
  } catch (const std::system_error& error) {
    return report_error(OutOfMemoryError(fmt::format("out of a system resource: {}", error.what())),
                        kDeviceError);
  } catch (const std::bad_alloc&) {
    return report_error(OutOfMemoryError("out of memory on the host"), kDeviceError);
  }
}

}  // namespace
}  // namespace reduce_ladder

int main(int argc, char** argv) {
  // A reader that goes away, or a file that may grow no further, is noticed where the write fails.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  return reduce_ladder::run_and_report_errors(argc, argv);
}
