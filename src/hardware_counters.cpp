#include "hardware_counters.hpp"

#include <cuda_runtime_api.h>

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <utility>

#include "reduce_ladder/cuda_check.hpp"
#include "reduce_ladder/errors.hpp"

namespace reduce_ladder {
namespace {

struct Term {
  std::string_view metric;  // empty: none
  double factor = 1;
};

// A counter is the sum of its terms.
struct Source {
  Counter counter;
  std::array<Term, 2> terms;
};

// The compiler predicates short branches, and then all lanes of a warp may be off. Metrics of
// "sass" count, by code that CUPTI puts into the kernel, the instructions that have a lane; they
// are exact, where the hardware's own counters of these (pred_on_any) are off by up to 2%.
constexpr Source kSources[] = {
    {Counter::blocks, {{{"sm__ctas_launched.sum"}}}},
    {Counter::warps, {{{"smsp__warps_launched.sum"}}}},
    {Counter::warp_instructions, {{{"smsp__inst_executed.sum"}}}},
    {Counter::lanes_per_instruction,
     {{{"smsp__average_thread_inst_executed_pred_on_per_inst_executed.ratio"}}}},
    // No counter has barriers alone. They share the address divergence unit with loads of constants
    // and reads of special registers but for a thread's index (S2UR, S2R), which no counter has.
    {Counter::block_barriers,
     {{{"smsp__inst_executed_pipe_adu.sum"}, {"smsp__inst_executed_op_ldc.sum", -1}}}},
    {Counter::shuffles,
     {{{"smsp__sass_thread_inst_executed_op_inter_thread_communication_pred_on.sum", 1.0 / 32}}}},
    {Counter::shared_loads, {{{"smsp__sass_inst_executed_op_shared_ld.sum"}}}},
    {Counter::shared_load_wavefronts,
     {{{"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"}}}},
    {Counter::shared_loads_issued, {{{"smsp__inst_executed_op_shared_ld.sum"}}}},
    {Counter::shared_stores_issued, {{{"smsp__inst_executed_op_shared_st.sum"}}}},
    {Counter::shared_load_conflicts,
     {{{"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"}}}},
    {Counter::shared_stores, {{{"smsp__sass_inst_executed_op_shared_st.sum"}}}},
    {Counter::shared_store_wavefronts,
     {{{"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum"}}}},
    {Counter::shared_store_conflicts,
     {{{"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"}}}},
    {Counter::global_loads, {{{"smsp__sass_inst_executed_op_global_ld.sum"}}}},
    {Counter::global_load_sectors, {{{"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"}}}},
    {Counter::global_stores, {{{"smsp__sass_inst_executed_op_global_st.sum"}}}},
    {Counter::global_store_sectors, {{{"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"}}}},
    {Counter::global_atomics,
     {{{"smsp__sass_inst_executed_op_global_red.sum"},
       {"smsp__sass_inst_executed_op_global_atom.sum"}}}},
    {Counter::global_load_bytes, {{{"smsp__sass_data_bytes_mem_global_op_ld.sum"}}}},
    {Counter::global_store_bytes, {{{"smsp__sass_data_bytes_mem_global_op_st.sum"}}}},
    {Counter::barrier_stall, {{{"smsp__warp_issue_stalled_barrier_per_warp_active.pct", 0.01}}}},
    {Counter::dram_bytes, {{{"dram__bytes.sum"}}}},
    {Counter::dram_share, {{{"dram__throughput.avg.pct_of_peak_sustained_elapsed", 0.01}}}},
};

[[noreturn]] void fail(const std::string& why, std::string_view remedy) {
  throw CountersUnavailable("no hardware counters: " + why + " (" + std::string(remedy) + ")");
}

std::string_view remedy_for(CUptiResult result) {
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      return "run as root or with CAP_SYS_ADMIN, or have the driver loaded with "
             "NVreg_RestrictProfilingToAdminUsers=0";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "have profiling allowed for this virtual GPU on its host";
    case CUPTI_ERROR_HARDWARE_BUSY:
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
    case CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED:
      return "end the profiler that has them: ncu, nsys, or DCGM, which `dcgmi profiling --pause` "
             "stops";
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
      return "use a whole GPU, not a MIG instance";
    case CUPTI_ERROR_API_NOT_IMPLEMENTED:
      return "CUPTI of CUDA 12.6 or later is needed";
    default:
      return "is another profiler at work, or is the driver older than CUPTI?";
  }
}

// The context that is current. cudart has no name for it.
CUcontext current_context() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  CUcontext context = nullptr;
  if (cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &function, 12000, cudaEnableDefault,
                                       &found) != cudaSuccess ||
      found != cudaDriverEntryPointSuccess ||
      reinterpret_cast<decltype(&cuCtxGetCurrent)>(function)(&context) != CUDA_SUCCESS ||
      context == nullptr) {
    static_cast<void>(cudaGetLastError());
    fail("there is no CUDA context", "a GPU has to be in use first");
  }
  return context;
}

}  // namespace

// The library, which stays loaded: it hangs in the driver's calls.
class HardwareCounters::Cupti {
 public:
  explicit Cupti(std::span<const std::string> libraries) {
    std::string tried;
    for (const std::string& name : libraries) {
      library_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
      // An older one would hide a later one that will do.
      const bool last = &name == &libraries.back();
      if (library_ != nullptr &&
          (last || ::dlsym(library_, "cuptiRangeProfilerEnable") != nullptr)) {
        return;
      }
      tried += (tried.empty() ? "" : ", ") + name;
    }
    fail("CUPTI was not found: tried " + tried,
         "install the CUDA toolkit's CUPTI, or put its directory into LD_LIBRARY_PATH");
  }

  template <typename Function, typename Params>
  CUptiResult attempt(const char* name, Params& params) const {
    auto* const function = reinterpret_cast<Function*>(::dlsym(library_, name));
    return function == nullptr ? CUPTI_ERROR_API_NOT_IMPLEMENTED : function(&params);
  }
  template <typename Function, typename Params>
  void call(const char* name, Params& params) const {
    const CUptiResult result = attempt<Function>(name, params);
    if (result == CUPTI_SUCCESS) return;
    fail(std::string(name) + ": " + words(result), remedy_for(result));
  }

 private:
  [[nodiscard]] std::string words(CUptiResult result) const {
    std::string words;
    for (const char* const name : {"cuptiGetResultString", "cuptiGetErrorMessage"}) {
      auto* const say = reinterpret_cast<decltype(&cuptiGetResultString)>(::dlsym(library_, name));
      const char* text = nullptr;
      if (say == nullptr || say(result, &text) != CUPTI_SUCCESS || text == nullptr) continue;
      // The second may have no more to say.
      if (words != text) words += (words.empty() ? "" : ", ") + std::string(text);
    }
    return words.empty() ? "error " + std::to_string(static_cast<int>(result)) : words;
  }

  void* library_ = nullptr;
};

// One more than may be, which shows that there are too many: CUPTI drops further ones and need not
// say so.
constexpr std::size_t kMaxRanges = HardwareCounters::kMaxLaunches + 1;

// CUPTI's functions all take one struct that knows its size. These make one, and call one so that
// its type is checked against the header.
#define CUPTI_PARAMS(Type, name) \
  Type name{};                   \
  (name).structSize = Type##_STRUCT_SIZE
#define CUPTI_CALL(cupti, function, params) (cupti).call<decltype(::function)>(#function, params)
#define CUPTI_TRY(cupti, function, params) (cupti).attempt<decltype(::function)>(#function, params)

// CUPTI's profiler, at work in this process as long as this lives.
class HardwareCounters::Session {
 public:
  explicit Session(const Cupti& cupti) : cupti_(cupti) {
    CUPTI_PARAMS(CUpti_Profiler_Initialize_Params, initialize);
    CUPTI_CALL(cupti_, cuptiProfilerInitialize, initialize);
  }
  ~Session() {
    CUPTI_PARAMS(CUpti_Profiler_DeInitialize_Params, end);
    static_cast<void>(CUPTI_TRY(cupti_, cuptiProfilerDeInitialize, end));
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  const Cupti& cupti_;
};

// The part that knows what metrics are made of.
class HardwareCounters::Host {
 public:
  Host(const Cupti& cupti, const std::string& chip, const std::vector<std::uint8_t>& availability)
      : cupti_(cupti) {
    CUPTI_PARAMS(CUpti_Profiler_Host_Initialize_Params, initialize);
    initialize.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    initialize.pChipName = chip.c_str();
    initialize.pCounterAvailabilityImage = availability.empty() ? nullptr : availability.data();
    CUPTI_CALL(cupti_, cuptiProfilerHostInitialize, initialize);
    host_ = initialize.pHostObject;
  }
  ~Host() {
    CUPTI_PARAMS(CUpti_Profiler_Host_Deinitialize_Params, end);
    end.pHostObject = host_;
    static_cast<void>(CUPTI_TRY(cupti_, cuptiProfilerHostDeinitialize, end));
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // False if one of them is unknown; nothing can be added any more then. Adding all at once makes
  // for few passes.
  bool add(std::vector<const char*> metrics) {
    CUPTI_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, add);
    add.pHostObject = host_;
    add.ppMetricNames = metrics.data();
    add.numMetrics = metrics.size();
    return CUPTI_TRY(cupti_, cuptiProfilerHostConfigAddMetrics, add) == CUPTI_SUCCESS;
  }

  // What the hardware has to be told.
  [[nodiscard]] std::vector<std::uint8_t> config() const {
    CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
    size.pHostObject = host_;
    CUPTI_CALL(cupti_, cuptiProfilerHostGetConfigImageSize, size);
    std::vector<std::uint8_t> config(size.configImageSize);
    CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, image);
    image.pHostObject = host_;
    image.configImageSize = config.size();
    image.pConfigImage = config.data();
    CUPTI_CALL(cupti_, cuptiProfilerHostGetConfigImage, image);
    return config;
  }

  // How often the work has to run for all of `config`.
  [[nodiscard]] std::size_t passes(std::vector<std::uint8_t>& config) const {
    CUPTI_PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, passes);
    passes.configImageSize = config.size();
    passes.pConfigImage = config.data();
    CUPTI_CALL(cupti_, cuptiProfilerHostGetNumOfPasses, passes);
    return passes.numOfPasses;
  }

  // The metrics of one launch.
  [[nodiscard]] std::vector<double> evaluate(std::vector<const char*> metrics,
                                             const std::vector<std::uint8_t>& counters,
                                             std::size_t launch) const {
    std::vector<double> values(metrics.size());
    CUPTI_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, evaluate);
    evaluate.pHostObject = host_;
    evaluate.pCounterDataImage = counters.data();
    evaluate.counterDataImageSize = counters.size();
    evaluate.rangeIndex = launch;
    evaluate.ppMetricNames = metrics.data();
    evaluate.numMetrics = metrics.size();
    evaluate.pMetricValues = values.data();
    CUPTI_CALL(cupti_, cuptiProfilerHostEvaluateToGpuValues, evaluate);
    return values;
  }

 private:
  const Cupti& cupti_;
  CUpti_Profiler_Host_Object* host_ = nullptr;
};

// The part that counts: every kernel of the context is a range of its own.
class HardwareCounters::RangeProfiler {
 public:
  RangeProfiler(const Cupti& cupti, void* context) : cupti_(cupti) {
    CUPTI_PARAMS(CUpti_RangeProfiler_Enable_Params, enable);
    enable.ctx = static_cast<CUcontext>(context);
    CUPTI_CALL(cupti_, cuptiRangeProfilerEnable, enable);
    profiler_ = enable.pRangeProfilerObject;
  }
  ~RangeProfiler() {
    if (started_) {
      CUPTI_PARAMS(CUpti_RangeProfiler_PopRange_Params, pop);
      pop.pRangeProfilerObject = profiler_;
      static_cast<void>(CUPTI_TRY(cupti_, cuptiRangeProfilerPopRange, pop));
      CUPTI_PARAMS(CUpti_RangeProfiler_Stop_Params, stop);
      stop.pRangeProfilerObject = profiler_;
      static_cast<void>(CUPTI_TRY(cupti_, cuptiRangeProfilerStop, stop));
    }
    CUPTI_PARAMS(CUpti_RangeProfiler_Disable_Params, disable);
    disable.pRangeProfilerObject = profiler_;
    static_cast<void>(CUPTI_TRY(cupti_, cuptiRangeProfilerDisable, disable));
  }
  RangeProfiler(const RangeProfiler&) = delete;
  RangeProfiler& operator=(const RangeProfiler&) = delete;

  // `config` and the counters that this gives have to live as long as this: pass() and decode() use
  // them.
  std::vector<std::uint8_t> configure(std::vector<const char*> metrics,
                                      const std::vector<std::uint8_t>& config, Replay replay) {
    CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, size);
    size.pRangeProfilerObject = profiler_;
    size.pMetricNames = metrics.data();
    size.numMetrics = metrics.size();
    size.maxNumOfRanges = kMaxRanges;
    size.maxNumRangeTreeNodes = kMaxRanges;
    CUPTI_CALL(cupti_, cuptiRangeProfilerGetCounterDataSize, size);
    std::vector<std::uint8_t> counters(size.counterDataSize);
    CUPTI_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, initialize);
    initialize.pRangeProfilerObject = profiler_;
    initialize.counterDataSize = counters.size();
    initialize.pCounterData = counters.data();
    CUPTI_CALL(cupti_, cuptiRangeProfilerCounterDataImageInitialize, initialize);
    CUPTI_PARAMS(CUpti_RangeProfiler_SetConfig_Params, set);
    set.pRangeProfilerObject = profiler_;
    set.configSize = config.size();
    set.pConfig = config.data();
    set.counterDataImageSize = counters.size();
    set.pCounterDataImage = counters.data();
    set.range = CUPTI_AutoRange;
    set.replayMode = replay == Replay::kernels ? CUPTI_KernelReplay : CUPTI_UserReplay;
    set.maxRangesPerPass = kMaxRanges;
    set.numNestingLevels = 1;
    set.minNestingLevel = 1;
    set.passIndex = 0;
    set.targetNestingLevel = 1;
    CUPTI_CALL(cupti_, cuptiRangeProfilerSetConfig, set);
    return counters;
  }

  // Counts what `run` launches. True if everything has been counted.
  bool pass(const Work& run) {
    CUPTI_PARAMS(CUpti_RangeProfiler_Start_Params, start);
    start.pRangeProfilerObject = profiler_;
    CUPTI_CALL(cupti_, cuptiRangeProfilerStart, start);
    started_ = true;
    // Kernels outside of a range of the user are not counted, although each is one of its own.
    CUPTI_PARAMS(CUpti_RangeProfiler_PushRange_Params, push);
    push.pRangeProfilerObject = profiler_;
    push.pRangeName = "run";
    CUPTI_CALL(cupti_, cuptiRangeProfilerPushRange, push);
    run();
    cuda_check(cudaDeviceSynchronize());
    CUPTI_PARAMS(CUpti_RangeProfiler_PopRange_Params, pop);
    pop.pRangeProfilerObject = profiler_;
    CUPTI_CALL(cupti_, cuptiRangeProfilerPopRange, pop);
    CUPTI_PARAMS(CUpti_RangeProfiler_Stop_Params, stop);
    stop.pRangeProfilerObject = profiler_;
    CUPTI_CALL(cupti_, cuptiRangeProfilerStop, stop);
    started_ = false;
    return stop.isAllPassSubmitted != 0;
  }

  // The number of launches whose counters are in `counters` after this.
  [[nodiscard]] std::size_t decode(const std::vector<std::uint8_t>& counters) const {
    CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData_Params, decode);
    decode.pRangeProfilerObject = profiler_;
    CUPTI_CALL(cupti_, cuptiRangeProfilerDecodeData, decode);
    CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params, info);
    info.pCounterDataImage = counters.data();
    info.counterDataImageSize = counters.size();
    CUPTI_CALL(cupti_, cuptiRangeProfilerGetCounterDataInfo, info);
    if (info.numTotalRanges > kMaxLaunches || decode.numOfRangeDropped > 0) {
      fail("more than " + std::to_string(kMaxLaunches) + " kernels were launched", "launch fewer");
    }
    return info.numTotalRanges;
  }

 private:
  const Cupti& cupti_;
  CUpti_RangeProfiler_Object* profiler_ = nullptr;
  bool started_ = false;
};

std::span<const std::string> HardwareCounters::default_libraries() {
  static const std::vector<std::string> libraries = [] {
    const std::string name = "libcupti.so." + std::to_string(CUDART_VERSION / 1000);
    std::vector<std::string> names{name};
    std::istringstream directories(REDUCE_LADDER_CUPTI_PATH);
    for (std::string directory; std::getline(directories, directory, ':');) {
      names.push_back(directory.append("/").append(name));
    }
    return names;
  }();
  return libraries;
}

std::unique_ptr<HardwareCounters> HardwareCounters::open(int ordinal,
                                                         std::span<const std::string> libraries) {
  return std::unique_ptr<HardwareCounters>(
      new HardwareCounters(std::make_unique<Cupti>(libraries), ordinal));
}

HardwareCounters::HardwareCounters(std::unique_ptr<Cupti> cupti, int ordinal)
    : cupti_(std::move(cupti)) {
  const Session session(*cupti_);
  context_ = current_context();
  CUPTI_PARAMS(CUpti_Profiler_DeviceSupported_Params, supported);
  supported.cuDevice = ordinal;
  supported.api = CUPTI_PROFILER_RANGE_PROFILING;
  CUPTI_CALL(*cupti_, cuptiProfilerDeviceSupported, supported);
  const auto lacks = [](CUpti_Profiler_Support_Level level) {
    return level == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED ||
           level == CUPTI_PROFILER_CONFIGURATION_DISABLED;
  };
  if (lacks(supported.architecture)) {
    fail("the GPU is too old for CUPTI's range profiler", "compute capability 7.5 is needed");
  }
  if (lacks(supported.vGpu)) {
    fail("the GPU is a virtual one", "have profiling allowed for it on its host");
  }
  if (lacks(supported.confidentialCompute)) {
    fail("the GPU computes confidentially", "use it without confidential computing");
  }
  if (lacks(supported.wsl)) fail("this WSL does not support them", "use a newer WSL and driver");
  if (lacks(supported.isSupported)) {
    fail("CUPTI cannot profile this GPU as it is set up", "use one without SLI that is not a CMP");
  }

  CUPTI_PARAMS(CUpti_Device_GetChipName_Params, chip);
  chip.deviceIndex = static_cast<std::size_t>(ordinal);
  CUPTI_CALL(*cupti_, cuptiDeviceGetChipName, chip);
  chip_ = chip.pChipName;

  CUPTI_PARAMS(CUpti_Profiler_GetCounterAvailability_Params, availability);
  availability.ctx = static_cast<CUcontext>(context_);
  CUPTI_CALL(*cupti_, cuptiProfilerGetCounterAvailability, availability);
  availability_.resize(availability.counterAvailabilityImageSize);
  availability.pCounterAvailabilityImage = availability_.data();
  CUPTI_CALL(*cupti_, cuptiProfilerGetCounterAvailability, availability);

  // Whether they may be read at all shows only here.
  const RangeProfiler profiler(*cupti_, context_);
}

HardwareCounters::~HardwareCounters() = default;

namespace {

std::vector<const char*> pointers(const std::vector<std::string>& names) {
  std::vector<const char*> pointers;
  pointers.reserve(names.size());
  for (const std::string& name : names) pointers.push_back(name.c_str());
  return pointers;
}

}  // namespace

std::vector<std::string> HardwareCounters::known(std::span<const std::string_view> metrics) const {
  std::vector<std::string> names(metrics.begin(), metrics.end());
  if (Host(*cupti_, chip_, availability_).add(pointers(names))) return names;
  // After one that is unknown, a host does not take any.
  std::erase_if(names, [&](const std::string& name) {
    return !Host(*cupti_, chip_, availability_).add({name.c_str()});
  });
  return names;
}

std::vector<std::vector<std::optional<double>>> HardwareCounters::measure(
    std::span<const std::string_view> metrics, const Work& run, const Work& prepare,
    Replay replay) {
  const Session session(*cupti_);
  const std::vector<std::string> names = known(metrics);
  if (names.empty()) fail("CUPTI has no such metrics for " + chip_, "use a newer CUPTI");
  Host host(*cupti_, chip_, availability_);
  if (!host.add(pointers(names))) {
    fail("CUPTI cannot count all metrics together", "use another version of CUPTI");
  }
  std::vector<std::uint8_t> config = host.config();
  const std::size_t passes = host.passes(config);

  RangeProfiler profiler(*cupti_, context_);
  std::vector<std::uint8_t> counters = profiler.configure(pointers(names), config, replay);
  bool complete = false;
  for (std::size_t i = 0; i < passes && !complete; ++i) {
    if (prepare) {
      prepare();
      cuda_check(cudaDeviceSynchronize());
    }
    complete = profiler.pass(run);
  }
  if (!complete) {
    fail("CUPTI wanted more than " + std::to_string(passes) + " passes",
         "is another profiler at work?");
  }

  std::vector<std::vector<std::optional<double>>> launches(profiler.decode(counters));
  for (std::size_t launch = 0; launch < launches.size(); ++launch) {
    const std::vector<double> values = host.evaluate(pointers(names), counters, launch);
    for (const std::string_view metric : metrics) {
      const auto name = std::find(names.begin(), names.end(), metric);
      auto& value = launches[launch].emplace_back();
      if (name == names.end()) continue;
      const double found = values[static_cast<std::size_t>(name - names.begin())];
      if (std::isfinite(found)) value = found;
    }
  }
  return launches;
}

std::vector<LaunchCounters> HardwareCounters::count(const Work& run, const Work& prepare) {
  std::vector<std::string_view> metrics;
  for (const Source& source : kSources) {
    for (const Term& term : source.terms) {
      if (!term.metric.empty()) metrics.push_back(term.metric);
    }
  }
  std::vector<LaunchCounters> launches;
  for (const auto& values : measure(metrics, run, prepare)) {
    LaunchCounters& launch = launches.emplace_back();
    auto value = values.begin();
    for (const Source& source : kSources) {
      std::optional<double> sum = 0;
      for (const Term& term : source.terms) {
        if (term.metric.empty()) continue;
        sum = sum && *value ? std::optional(*sum + term.factor * **value) : std::nullopt;
        ++value;
      }
      launch[source.counter] = sum;
    }
  }
  return launches;
}

}  // namespace reduce_ladder
