#include "options.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <bit>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "printable.hpp"
#include "reduce_ladder/errors.hpp"

namespace reduce_ladder {
namespace {

constexpr unsigned kMaxCountBits = 40;
constexpr Index kMaxCount = Index{1} << kMaxCountBits;
constexpr unsigned kMaxRepeats = 10000;
constexpr unsigned kMaxSamples = 1000000;
constexpr unsigned kMaxChosenGrid = 1000000;  // thousands of times what any GPU has resident
constexpr Index kSmallCount = 1'048'576;      // by default where all is simulated and observed
constexpr std::size_t kHelpWidth = 54;        // of the column beside the names of the options

// Decimal digits and nothing else.
std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

// A number of values: digits, perhaps with K, M or G behind them, or 2^k.
std::optional<Index> count(std::string_view text) {
  if (text.starts_with("2^")) {
    const auto exponent = whole_number(text.substr(2));
    if (!exponent || *exponent > kMaxCountBits) return std::nullopt;
    return Index{1} << *exponent;
  }
  constexpr std::string_view suffixes = "KMGkmg";
  const std::size_t suffix = text.empty() ? std::string_view::npos : suffixes.find(text.back());
  const std::size_t shift = suffix == std::string_view::npos ? 0 : 10 * (suffix % 3 + 1);
  const auto value = whole_number(shift == 0 ? text : text.substr(0, text.size() - 1));
  if (!value || *value > kMaxCount >> shift) return std::nullopt;
  return *value << shift;
}

// Names with commas between them, on lines of at most `width` characters.
std::string join_names(const std::vector<std::string>& names,
                       std::size_t width = std::string::npos) {
  std::string text;
  std::size_t line_begin = 0;
  for (const std::string& name : names) {
    if (!text.empty()) {
      const std::size_t length = text.size() + (", " + name + ",").size() - line_begin;
      text += length <= width ? ", " : ",\n";
      if (length > width) line_begin = text.size();
    }
    text += name;
  }
  return text;
}

// The parsers of single values. Each throws a UsageError that says what is allowed; add_value()
// puts the option and the value in front of it.

Index parse_count(std::string_view text) {
  if (const auto value = count(text)) return *value;
  throw UsageError(fmt::format(
      "must be a whole number from 0 to {} (2^{}), such as 1000000, 16M (K, M and G are "
      "2^10, 2^20 and 2^30) or 2^24",
      kMaxCount, kMaxCountBits));
}

unsigned parse_block(std::string_view text) {
  const auto block = whole_number(text);
  if (block && std::has_single_bit(*block) && *block >= kMinBlock && *block <= kMaxBlock) {
    return static_cast<unsigned>(*block);
  }
  throw UsageError(fmt::format("must be a power of two from {} to {}", kMinBlock, kMaxBlock));
}

DeviceRequest parse_device(std::string_view text) {
  using Kind = DeviceRequest::Kind;
  constexpr std::string_view prefix = "cuda:";
  if (text == "auto") return {.kind = Kind::automatic};
  if (text == "sim") return {.kind = Kind::sim};
  if (text == "cuda") return {.kind = Kind::cuda};
  if (text.starts_with(prefix)) {
    const auto ordinal = whole_number(text.substr(prefix.size()));
    if (ordinal && std::in_range<int>(*ordinal)) {
      return {.kind = Kind::cuda, .ordinal = static_cast<int>(*ordinal)};
    }
  }
  throw UsageError("must be auto, cuda, cuda:K with the number K of a device, or sim");
}

template <typename Named>
std::vector<std::string> names_of(std::span<const Named> all) {
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const Named& one : all) names.emplace_back(one.name);
  return names;
}

const DataKind* parse_data(std::string_view text) {
  if (const DataKind* const kind = find_data_kind(text)) return kind;
  throw UsageError(fmt::format("must be one of {}", join_names(names_of(data_kinds()))));
}

std::uint64_t parse_seed(std::string_view text) {
  if (const auto seed = whole_number(text)) return *seed;
  throw UsageError(fmt::format("must be a whole number from 0 to {}",
                               std::numeric_limits<std::uint64_t>::max()));
}

unsigned parse_between(std::string_view text, unsigned least, unsigned most) {
  const auto value = whole_number(text);
  if (value && *value >= least && *value <= most) return static_cast<unsigned>(*value);
  throw UsageError(fmt::format("must be a whole number from {} to {}", least, most));
}

// A decimal number without sign or exponent.
std::optional<double> decimal(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error != std::errc{} || stop != end || text.starts_with('-')) return std::nullopt;
  return value;
}

double parse_seconds(std::string_view text) {
  constexpr double most = 3600;
  const auto value = decimal(text);
  if (value && *value <= most) return *value;
  throw UsageError(fmt::format("must be seconds from 0 to {}, such as 0.5", most));
}

double parse_percent(std::string_view text) {
  if (text.ends_with('%')) {
    const auto value = decimal(text.substr(0, text.size() - 1));
    if (value && *value <= 100) return *value / 100;
  }
  throw UsageError("must be a percentage from 0% to 100%, such as 0.5%");
}

// One of a few words, each with what it stands for.
template <typename T>
T parse_word(std::string_view text, const std::vector<std::pair<std::string_view, T>>& words) {
  std::vector<std::string> allowed;
  for (const auto& [word, value] : words) {
    if (text == word) return value;
    allowed.emplace_back(word);
  }
  throw UsageError(fmt::format("must be one of {}", join_names(allowed)));
}

// A leading '-' is refused: more likely the value was left out and the next option taken for it.
bool is_path(std::string_view text) {
  return !text.empty() && !text.starts_with('-');
}

std::string parse_input(std::string_view text) {
  if (is_path(text)) return std::string(text);
  throw UsageError(
      "must be the path of a .npy, .f32 or .bin file (./-x for one that starts with -)");
}

std::string parse_output(std::string_view text) {
  if (is_path(text) || text == "-") return std::string(text);
  throw UsageError(
      "must be a path (./-x for one that starts with -), or - alone for standard output");
}

// The numbers of the first and of the last stage that has one.
std::pair<int, int> numbers_of(std::span<const Stage> stages) {
  const auto last = std::ranges::find_if_not(stages.rbegin(), stages.rend(), is_reference);
  return {stages.front().number, last == stages.rend() ? stages.front().number : last->number};
}

// "0-13, 17": the numbers of all stages that have one.
std::string list_numbers(std::span<const Stage> stages) {
  std::string text;
  for (auto stage = stages.begin(); stage != stages.end() && !is_reference(*stage);) {
    auto last = stage;
    while (last + 1 != stages.end() && (last + 1)->number == last->number + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", stage->number);
    if (last != stage) text += fmt::format("-{}", last->number);
    stage = last + 1;
  }
  return text;
}

// Whether `item` of --stages is the name of a part of the table, and of one that `stage` is in.
std::optional<bool> is_part(std::string_view item, const Stage& stage) {
  if (item == "all") return true;
  if (item == "classic") return is_classic(stage);
  if (item == "modern") return !is_classic(stage);
  return std::nullopt;
}

// The first and last stage of an item of --stages: a name, a number or a range of numbers. A range
// may begin and end between the numbers of stages, but not before the first or behind the last.
std::optional<std::pair<int, int>> stage_range(std::string_view item,
                                               std::span<const Stage> stages) {
  if (const auto named = std::ranges::find(stages, item, &Stage::name); named != stages.end()) {
    return std::pair(named->number, named->number);
  }
  const auto [least, most] = numbers_of(stages);
  const auto number = [&, least = least, most = most](std::string_view text) -> std::optional<int> {
    const auto value = whole_number(text);
    if (!value || std::cmp_less(*value, least) || std::cmp_greater(*value, most)) return {};
    return static_cast<int>(*value);
  };
  const std::size_t dash = item.find('-');
  const auto first = number(item.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : number(item.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return std::pair(*first, *last);
}

// Adds the stages of one item to `chosen`; says whether there are any.
bool choose(std::string_view item, std::span<const Stage> stages, std::set<int>& chosen) {
  const auto range = stage_range(item, stages);
  bool any = false;
  for (const Stage& stage : stages) {
    const bool inside =
        is_part(item, stage)
            .value_or(range && stage.number >= range->first && stage.number <= range->second);
    if (inside) chosen.insert(stage.number);
    any = any || inside;
  }
  return any;
}

std::vector<int> parse_stages(std::string_view text, std::span<const Stage> stages) {
  std::set<int> chosen;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    if (!choose(item, stages, chosen)) {
      const std::string culprit =
          item == text ? "" : fmt::format("; '{}' is none of these", printable(item));
      throw UsageError(
          fmt::format("must be a comma-separated list of all, classic, modern, numbers of stages "
                      "({}), ascending "
                      "ranges such as {}-{}, and names ({}){}",
                      list_numbers(stages), numbers_of(stages).first, numbers_of(stages).second,
                      join_names(names_of(stages)), culprit));
    }
    begin = end + 1;
  }
  return {chosen.begin(), chosen.end()};
}

// What `parse` makes of the value of the option `name`. Throws a UsageError that names both.
template <typename Parse>
auto parse_value(const std::string& name, const std::string& text, Parse parse) {
  try {
    return parse(text);
  } catch (const UsageError& refusal) {
    throw UsageError(text.empty()
                         ? fmt::format("{}: the value is missing; it {}", name, refusal.what())
                         : fmt::format("{} {}: {}", name, printable(text), refusal.what()));
  }
}

// Adds an option whose value goes to `take`.
template <typename Take>
CLI::Option* add_taken(CLI::App& app, const std::string& name, Take take,
                       const std::string& placeholder, const std::string& help) {
  return app.add_option_function<std::string>(name, take, help)
      ->option_text(placeholder)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // so that the count is checked here
}

// Adds an option whose value goes through `parse` into `target`.
template <typename T, typename Parse>
CLI::Option* add_value(CLI::App& app, const std::string& name, T& target, Parse parse,
                       const std::string& placeholder, const std::string& help) {
  const auto take = [name, &target, parse](const std::string& text) {
    target = parse_value(name, text, parse);
  };
  return add_taken(app, name, take, placeholder, help);
}

// Adds an option that may go without a value: `absent` is called then.
template <typename Parse, typename Absent>
CLI::Option* add_optional_value(CLI::App& app, const std::string& name, Parse parse, Absent absent,
                                const std::string& placeholder, const std::string& help) {
  const auto take = [name, parse, absent](const std::string& text) {
    if (text.empty()) return absent();
    parse_value(name, text, parse);
  };
  return add_taken(app, name, take, placeholder, help)->expected(0, 1);
}

// The command line in the order that CLI11 wants, last argument first. "--name=value" is split,
// since CLI11 would take the argument after a bare "--name=" for the value and let flags have one.
// A value left out at the end becomes an empty one, for the option's parser to refuse.
std::vector<std::string> reversed_arguments(const CLI::App& app, int argc,
                                            const char* const* argv) {
  std::vector<std::string> arguments;
  const CLI::Option* valueless = nullptr;  // the argument before, if it may have a value
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.empty() && valueless != nullptr) {
      throw UsageError(fmt::format("{} '': the value is empty", valueless->get_name()));
    }
    const std::size_t equals =
        argument.starts_with("--") ? argument.find('=') : std::string_view::npos;
    const std::string name(argument.substr(0, equals));
    const CLI::Option* const option = app.get_option_no_throw(name);
    const bool is_flag = option != nullptr && option->get_expected_max() == 0;
    const bool may_have_value = option != nullptr && !is_flag && option->get_expected_min() == 0;
    valueless = may_have_value && equals == std::string_view::npos ? option : nullptr;
    if (is_flag && equals != std::string_view::npos) {
      throw UsageError(fmt::format("{}: {} takes no value", printable(argument), name));
    }
    if (option == nullptr) {
      arguments.emplace_back(argument);
    } else {
      arguments.push_back(name);
      if (equals != std::string_view::npos) {
        arguments.emplace_back(argument.substr(equals + 1));
        if (arguments.back().empty() && may_have_value) {
          throw UsageError(fmt::format("{}: the value behind = is missing", printable(argument)));
        }
      } else if (!is_flag && !may_have_value && i + 1 == argc) {
        arguments.emplace_back();
      }
    }
  }
  std::ranges::reverse(arguments);
  return arguments;
}

// What CLI11 leaves to be checked once everything is parsed.
void check_whole(const CLI::App& app) {
  const std::vector<const CLI::Option*> options = app.get_options();
  if (const auto unknown = app.remaining(); !unknown.empty()) {
    std::vector<std::string> names;
    names.reserve(options.size());
    for (const CLI::Option* option : options) names.push_back(option->get_name());
    throw UsageError(fmt::format("'{}': not an option; allowed are {}", printable(unknown.front()),
                                 join_names(names)));
  }
  for (const CLI::Option* option : options) {
    if (option->count() > 1) {
      throw UsageError(
          fmt::format("{}: given {} times, allowed once", option->get_name(), option->count()));
    }
  }
}

// Refuses those of the options that are given.
void refuse_any(std::initializer_list<const CLI::Option*> options, std::string_view why) {
  for (const CLI::Option* const option : options) {
    if (*option) throw UsageError(fmt::format("{}: {}", option->get_name(), why));
  }
}

constexpr std::string_view kFooter = R"(Examples:
  reduce-ladder                                   all stages over 16M values
  reduce-ladder --stages {0}-{1},{2} --n 2^28
  reduce-ladder --device sim --n 100000 --seed 7  check without a GPU
  reduce-ladder --input weights.npy --json result.json
  reduce-ladder --quiet --json - > result.json
  reduce-ladder --explain 3                       which cost does it remove?
  reduce-ladder --check --stages classic
  reduce-ladder --require-gpu --quiet && echo passed

Exit status:
  0  every stage passed
  1  a stage failed its check or its claim of determinism
  2  a usage error, an input that cannot be read or an output that cannot be written
  3  a GPU was required and none is usable
  4  a CUDA error, out of memory or another resource, or required counters that cannot be read
  5  compare: a stage became slower
  130  interrupted; the report holds the stages that were done

Compare two reports: reduce-ladder compare --help)";

}  // namespace

ParsedOptions parse_options(int argc, const char* const* argv, std::span<const Stage> stages) {
  ParsedOptions parsed;
  Options& options = parsed.options;
  options.stages = parse_stages("all", stages);

  CLI::App app(
      "Sums float32 values with every stage of a ladder of GPU reductions; checks and times each.",
      "reduce-ladder");
  app.get_formatter()->column_width(80 - kHelpWidth);
  app.footer(fmt::format(fmt::runtime(kFooter), stages.front().number,
                         stages[std::min<std::size_t>(2, stages.size() - 1)].number,
                         stages.back().name));
  app.allow_extras();   // named one by one in check_whole()
  app.set_help_flag();  // CLI11's own waits until every value is parsed

  app.add_flag_callback(
      "--help", [] { throw CLI::CallForHelp(); }, "Print this help and exit");
  app.set_version_flag("--version", "reduce-ladder " REDUCE_LADDER_VERSION,
                       "Print the version and exit");
  const CLI::Option* const stages_option = add_value(
      app, "--stages", options.stages,
      [stages](std::string_view text) { return parse_stages(text, stages); }, "LIST",
      fmt::format(
          "Stages to run, with commas between them: all\n(default), classic (1 to 9), modern "
          "(the rest), numbers\nand ranges of numbers ({}), and names:\n{}",
          list_numbers(stages), join_names(names_of(stages), kHelpWidth)));
  app.add_flag("--list", options.list, "List the stages and exit");
  const CLI::Option* const n =
      add_value(app, "--n", options.n, parse_count, "COUNT",
                "Values to sum: 1000000, 16M (default; K, M and G are\n2^10, 2^20 and 2^30) or "
                "2^24; at most 2^40");
  const CLI::Option* const block = add_value(
      app, "--block", options.block, parse_block, "THREADS",
      fmt::format("Threads a block: a power of two from {} to {}\n(default: {}, or by n and device "
                  "where the stage\nchooses: from stage 10 on)",
                  kMinBlock, kMaxBlock, kDefaultBlock));
  add_value(
      app, "--grid", options.grid,
      [](std::string_view text) { return parse_between(text, 1, kMaxChosenGrid); }, "BLOCKS",
      fmt::format(
          "Blocks of the first launch, 1 to {}, of the\nstages whose grid does not follow from "
          "n (default:\nby n and device)",
          kMaxChosenGrid));
  add_value(app, "--device", options.device, parse_device, "DEVICE",
            "auto (default: a GPU where one is usable, else sim),\ncuda, cuda:K (the K-th GPU, "
            "from 0), or sim (the\nsimulator on the CPU, which checks but does not time)");
  const CLI::Option* const input = add_value(app, "--input", options.input, parse_input, "FILE",
                                             "Sum the float32 values of a .npy, .f32 or .bin "
                                             "file\ninstead of generated ones (not with --n)");
  const CLI::Option* const data =
      add_value(app, "--data", options.data, parse_data, "KIND",
                fmt::format("Kind of the generated values (not with --input):\n{}\n(default: {})",
                            join_names(names_of(data_kinds()), kHelpWidth), options.data->name));
  add_value(app, "--seed", options.seed, parse_seed, "SEED",
            fmt::format("Seed of the generated values and of the simulator's\nschedule (default "
                        "{})",
                        options.seed));
  add_value(
      app, "--misalign", options.misalignment,
      [](std::string_view text) { return parse_between(text, 0, kMaxMisalignment); }, "K",
      fmt::format("Values that the input begins past a 16-byte border, 0\nto {} (default {})",
                  kMaxMisalignment, options.misalignment));
  const CLI::Option* const determinism = add_value(
      app, "--determinism", options.determinism,
      [](std::string_view text) { return parse_between(text, 1, kMaxRepeats); }, "K",
      fmt::format("Runs of each stage whose bits are compared, 1 to\n{} (default {})", kMaxRepeats,
                  options.determinism));
  const CLI::Option* const verify = add_value(
      app, "--verify", options.verify,
      [](std::string_view text) {
        return parse_word<Thoroughness>(
            text, {{"quick", Thoroughness::quick}, {"full", Thoroughness::full}});
      },
      "HOW",
      "Runs over arrays whose sum is known: quick (default;\n25 to 31 a stage) or full (thousands, "
      "of all block\nsizes and of sizes around their borders)");
  add_value(app, "--json", options.json, parse_output, "FILE",
            "Write the results as JSON; with - to standard output,\nand the report then goes to "
            "standard error");
  add_value(
      app, "--sweep", options.sweep, [](std::string_view text) { return parse_sweep(text, count); },
      "RANGE",
      "Climb for each of n=FIRST..LAST or block=FIRST..LAST,\ndoubling, such as n=2^10..2^30 or "
      "block=32..1024");
  add_value(app, "--csv", options.csv, parse_output, "FILE", "Write a row a stage as CSV");
  add_value(app, "--markdown", options.markdown, parse_output, "FILE",
            "Write the results as a Markdown table");
  Sampling& sampling = options.sampling;
  const CLI::Option* const cache = add_value(
      app, "--cache", sampling.cache,
      [](std::string_view text) {
        return parse_word<CacheMode>(text, {{"cold", CacheMode::cold}, {"warm", CacheMode::warm}});
      },
      "MODE",
      "cold (default: L2 holds other, clean data before each\nsample) or warm (what the sample "
      "before left)");
  const CLI::Option* const min_samples = add_value(
      app, "--min-samples", sampling.min_samples,
      [](std::string_view text) { return parse_between(text, 1, kMaxSamples); }, "COUNT",
      fmt::format("Samples of each stage at least (default {})", sampling.min_samples));
  const CLI::Option* const min_time = add_value(
      app, "--min-time", sampling.min_seconds, parse_seconds, "SECONDS",
      fmt::format("Time to sample each stage at least (default {})", sampling.min_seconds));
  const CLI::Option* const max_noise =
      add_value(app, "--max-noise", sampling.max_noise, parse_percent, "PERCENT",
                fmt::format("Sample until the median is known to within this, at\n95% confidence "
                            "(default {}%)",
                            sampling.max_noise * 100));
  const CLI::Option* const timeout = add_value(
      app, "--timeout", sampling.timeout_seconds, parse_seconds, "SECONDS",
      fmt::format("Time to sample each stage at most (default {})", sampling.timeout_seconds));
  add_value(
      app, "--color", options.color,
      [](std::string_view text) {
        return parse_word<ColorMode>(text, {{"auto", ColorMode::automatic},
                                            {"always", ColorMode::always},
                                            {"never", ColorMode::never}});
      },
      "WHEN",
      "auto (default: on a terminal, unless NO_COLOR is set\nor TERM is dumb), always, never");
  add_optional_value(
      app, "--counters",
      [&options](std::string_view text) {
        if (text != "require") throw UsageError("may be require, or nothing");
        options.counters = Options::Counters::required;
      },
      [&options] { options.counters = Options::Counters::wanted; }, "[=require]",
      "Count what every launch does: by the simulator, and by\na GPU's own counters where they can "
      "be read; with\n=require it is an error if they cannot");
  const CLI::Option* const explain = add_optional_value(
      app, "--explain",
      [&options, stages](std::string_view text) {
        options.explain = true;
        options.stages = parse_stages(text, stages);
      },
      [&options] { options.explain = true; }, "[STAGES]",
      fmt::format("Say what a stage (default: all that are chosen) does\ndifferently and what its "
                  "counters say of that, and run\nnothing else (default for --n: {})",
                  kSmallCount));
  app.add_flag("--check", options.check,
               fmt::format("Run on a simulator that finds races, words that nobody\nwrote and "
                           "accesses outside of an array (default for\n--n: {})",
                           kSmallCount));
  const CLI::Option* const warp_size = add_value(
      app, "--sim-warp", options.warp_size,
      [](std::string_view text) {
        return parse_word<unsigned>(text, {{"32", 32U}, {"64", 64U}});
      },
      "LANES", "Lanes of a warp of the simulator: 32 (default) or 64");
  app.add_flag(
      "--profile", options.profile,
      "Run each stage once, untimed, in an NVTX range of its\nname: for Nsight and the like");
  app.add_flag("--require-gpu", options.require_gpu, "Fail where no GPU is usable");
  app.add_flag("--quiet", options.quiet,
               "No report, no progress, no notices: the exit status\ntells. Errors still go to "
               "standard error");

  try {
    auto arguments = reversed_arguments(app, argc, argv);
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    parsed.text = app.help();
    return parsed;
  } catch (const CLI::CallForVersion& version) {
    parsed.text = fmt::format("{}\n", version.what());
    return parsed;
  } catch (const CLI::ParseError& error) {
    throw UsageError(printable(error.what()));
  }
  check_whole(app);
  if (*n && *input) {
    throw UsageError(
        "--n: not allowed with --input, where the file says how many values there are");
  }
  if (*data && *input) {
    throw UsageError("--data: not allowed with --input, which brings its own values");
  }
  if (options.profile) {
    refuse_any({determinism, verify}, "not allowed with --profile, which runs each stage once");
  }
  if (options.sweep) {
    const bool over_n = options.sweep->over == Sweep::Over::n;
    if (*input) throw UsageError("--input: not allowed with --sweep, which makes its own values");
    if (over_n && *n) throw UsageError("--n: not allowed with --sweep n=, which says it");
    if (!over_n && *block) {
      throw UsageError("--block: not allowed with --sweep block=, which says it");
    }
    if (options.profile) throw UsageError("--profile: not allowed with --sweep");
    if (options.markdown) {
      throw UsageError("--markdown: not allowed with --sweep; --json and --csv are");
    }
  }
  const auto refuse = [](bool both, std::string_view text) {
    if (both) throw UsageError(std::string(text));
  };
  const bool counts = options.counters != Options::Counters::none;
  const bool simulator = options.check || *warp_size;
  refuse(simulator && (options.require_gpu || options.device.kind == DeviceRequest::Kind::cuda),
         options.check ? "--check: not allowed with a GPU; it runs on the simulator"
                       : "--sim-warp: not allowed with a GPU; it is of the simulator");
  refuse(counts && options.sweep, "--counters: not allowed with --sweep");
  refuse(counts && options.profile, "--counters: not allowed with --profile");
  refuse(counts && options.warp_size != 32,
         "--counters: not allowed with --sim-warp 64; counters are of warps of 32 lanes");
  refuse(options.explain && options.warp_size != 32,
         "--explain: not allowed with --sim-warp 64; counters are of warps of 32 lanes");
  refuse(options.explain && (options.sweep || options.profile || options.check || counts),
         "--explain: not allowed with --sweep, --profile, --check and --counters; it runs the "
         "stages to count them alone");
  refuse(options.explain && (options.json || options.csv || options.markdown),
         "--explain: not allowed with --json, --csv and --markdown; --counters puts the counters "
         "into the JSON");
  if (options.explain) {
    refuse_any({determinism, verify, cache, min_samples, min_time, max_noise, timeout},
               "not allowed with --explain, which runs each stage once and times none");
  }
  refuse(options.explain && options.quiet,
         "--explain: not allowed with --quiet; it has nothing to say but its text");
  refuse(options.explain && *explain && !explain->results().front().empty() && *stages_option,
         "--explain: names its stages itself, or --stages does; not both");
  if (simulator) options.device = {.kind = DeviceRequest::Kind::sim};
  if ((options.check || options.explain) && !*n) options.n = kSmallCount;
  int on_stdout = 0;
  for (const auto& target : {options.json, options.csv, options.markdown}) {
    on_stdout += target == "-" ? 1 : 0;
  }
  if (on_stdout > 1) {
    throw UsageError("--json, --csv, --markdown: only one of them can be - (standard output)");
  }
  if (options.require_gpu && options.device.kind == DeviceRequest::Kind::sim) {
    throw UsageError("--require-gpu: not allowed with --device sim, which is no GPU");
  }
  return parsed;
}

}  // namespace reduce_ladder
