// reduce-ladder: the command. The only place that turns an error into an exit status.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <system_error>

#include "input.hpp"
#include "ladder.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "reduce_ladder/errors.hpp"
#include "report.hpp"

namespace reduce_ladder {
namespace {

enum ExitStatus : int {
  kPassed = 0,
  kFailed = 1,
  kBadRequest = 2,
  kNoGpu = 3,
  kDeviceError = 4,
};

std::unique_ptr<Device> choose_device(const Options& options) {
  switch (options.device.kind) {
    case DeviceRequest::Kind::sim:
      return make_simulated_device(options.seed);
    case DeviceRequest::Kind::cuda:
      return make_cuda_device(options.device.ordinal);
    case DeviceRequest::Kind::automatic:
      break;
  }
  try {
    return make_cuda_device(0);
  } catch (const NoGpuError& error) {
    if (options.require_gpu) throw;
    if (!options.quiet) {
      write_stderr(fmt::format("reduce-ladder: {}; the stages run on the simulator instead\n",
                               error.what()));
    }
    return make_simulated_device(options.seed);
  }
}

// A line on standard error that each call overwrites; nothing where nobody watches.
class ProgressLine {
 public:
  explicit ProgressLine(bool wanted) : shown_(wanted && isatty(STDERR_FILENO) == 1) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(std::string_view text) const {
    if (shown_) std::fputs(fmt::format("\r\x1b[K{}", text).c_str(), stderr);
  }
  void clear() const { show(""); }

 private:
  bool shown_;
};

int run(int argc, const char* const* argv) {
  const auto [options, text] = parse_options(argc, argv, stages_simulated());
  if (text) {
    write_stdout(*text);
    return kPassed;
  }
  if (options.list) {
    write_stdout(format_stages(stages_simulated()));
    return kPassed;
  }
  const bool json_on_stdout = options.json == "-";
  if (options.json && !json_on_stdout) check_writable(*options.json);

  const Input input =
      options.input ? read_input(*options.input) : generate_uniform(options.n, options.seed);
  const std::unique_ptr<Device> device = choose_device(options);
  const ProgressLine line(!options.quiet && device->info().kind == DeviceKind::sim);
  const Report report = climb(*device, input, {options.stages, options.block, options.determinism},
                              [&line](std::string_view what) { line.show(what); });
  line.clear();

  if (options.json && !json_on_stdout) write_file(*options.json, to_json(report));
  if (!options.quiet && json_on_stdout) write_stderr(format_report(report));
  if (!options.quiet && !json_on_stdout) write_stdout(format_report(report));
  if (json_on_stdout) write_stdout(to_json(report));
  return passed(report) ? kPassed : kFailed;
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
  } catch (const OutOfMemoryError& error) {
    return report_error(error, kDeviceError);
  } catch (const std::system_error& error) {
    return report_error(error, kDeviceError);
  } catch (const std::bad_alloc&) {
    return report_error(OutOfMemoryError("out of memory on the host"), kDeviceError);
  }
}

}  // namespace
}  // namespace reduce_ladder

int main(int argc, char** argv) {
  // A reader that goes away is noticed where the write fails.
  std::signal(SIGPIPE, SIG_IGN);
  return reduce_ladder::run_and_report_errors(argc, argv);
}
