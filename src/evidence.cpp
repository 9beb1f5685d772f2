#include "evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "text.hpp"

namespace reduce_ladder {
namespace {

using Value = std::optional<double>;

// The sum of counters of a launch; nothing unless all are there.
Value sum(const LaunchCounters& launch, std::initializer_list<Counter> counters) {
  double total = 0;
  for (const Counter counter : counters) {
    if (!launch[counter]) return std::nullopt;
    total += *launch[counter];
  }
  return total;
}

Value ratio(Value of, Value to) {
  return of && to && *to > 0 ? Value(*of / *to) : std::nullopt;
}

// Of the first launch, where most of the work is.
template <auto quantity>
Value first(const Launches& launches, Index n) {
  return launches.empty() ? std::nullopt : quantity(launches.front(), n);
}

template <Counter counter>
Value plain(const LaunchCounters& launch, Index /*n*/) {
  return launch[counter];
}
template <Counter of, Counter to>
Value per(const LaunchCounters& launch, Index /*n*/) {
  return ratio(launch[of], launch[to]);
}
constexpr auto blocks = plain<Counter::blocks>;
constexpr auto block_barriers = per<Counter::block_barriers, Counter::warps>;
constexpr auto warp_barriers = per<Counter::warp_barriers, Counter::blocks>;
constexpr auto shuffles = per<Counter::shuffles, Counter::blocks>;
constexpr auto load_lanes = per<Counter::global_load_lanes, Counter::global_loads>;
constexpr auto load_sectors = per<Counter::global_load_sectors, Counter::global_loads>;
constexpr auto store_lanes = per<Counter::global_store_lanes, Counter::global_stores>;
constexpr auto store_sectors = per<Counter::global_store_sectors, Counter::global_stores>;
constexpr auto atomics = plain<Counter::global_atomics>;
constexpr auto atomic_lanes = per<Counter::global_atomic_lanes, Counter::global_atomics>;
constexpr auto lanes = plain<Counter::lanes_per_instruction>;

Value shared_instructions(const LaunchCounters& launch) {
  return sum(launch, {Counter::shared_loads, Counter::shared_stores});
}
Value shared_a_block(const LaunchCounters& launch, Index /*n*/) {
  return ratio(shared_instructions(launch), launch[Counter::blocks]);
}
Value shared_lanes(const LaunchCounters& launch, Index /*n*/) {
  return ratio(sum(launch, {Counter::shared_load_lanes, Counter::shared_store_lanes}),
               shared_instructions(launch));
}
Value shared_wavefronts(const LaunchCounters& launch, Index /*n*/) {
  return ratio(sum(launch, {Counter::shared_load_wavefronts, Counter::shared_store_wavefronts}),
               shared_instructions(launch));
}
Value conflicts(const LaunchCounters& launch, Index /*n*/) {
  return sum(launch, {Counter::shared_load_conflicts, Counter::shared_store_conflicts});
}
Value shared_conflicts(const LaunchCounters& launch, Index n) {
  return ratio(conflicts(launch, n), shared_instructions(launch));
}
Value for_32_values(Value count, Index n) {
  return ratio(count, static_cast<double>(n) / 32);
}
Value load_instructions(const LaunchCounters& launch, Index n) {
  return for_32_values(launch[Counter::global_loads], n);
}
Value memory_bytes(const LaunchCounters& launch, Index /*n*/) {
  return sum(launch, {Counter::global_load_bytes, Counter::global_store_bytes});
}
Value instructions(const LaunchCounters& launch, Index n) {
  return for_32_values(launch[Counter::warp_instructions], n);
}
Value barrier_stall(const LaunchCounters& launch, Index /*n*/) {
  return ratio(launch[Counter::barrier_stall], 0.01);
}

// A cost as a person compares it: of the first launch, except for the number of launches. Nothing
// where it was not counted, or where there is nothing to divide by.
struct Quantity {
  Cost cost = Cost::none;  // that it measures
  std::string_view name;
  std::optional<double> (*of)(const Launches& launches, Index n) = nullptr;
  double least = 0;     // where there is nothing more to remove
  double share = 0.75;  // of what lies above that: no more is left where the cost is removed
  std::string_view counted_with = {};  // what a GPU cannot tell from it
  bool for_values = false;             // per 32 values; one for all of them is the least
};

// Of block barriers: the same unit runs both.
constexpr std::string_view kRegisterReads = "reads of special registers";
// Of bank conflicts: the hardware meets some that do not follow from the addresses.
constexpr std::string_view kNoise = "noise";

constexpr Quantity kQuantities[] = {
    {Cost::launches, "launches",
     [](const Launches& launches, Index /*n*/) {
       return launches.empty() ? Value() : Value(static_cast<double>(launches.size()));
     },
     1, 0.1},
    {Cost::blocks, "blocks", first<blocks>, 1},
    {.cost = Cost::block_barriers,
     .name = "block barriers a block",
     .of = first<block_barriers>,
     .counted_with = kRegisterReads},
    {Cost::none, "warp barriers a block", first<warp_barriers>},
    {Cost::none, "shuffles a block", first<shuffles>},
    {Cost::shared_instructions, "shared-memory instructions a block", first<shared_a_block>},
    {Cost::none, "active lanes a shared-memory instruction", first<shared_lanes>},
    {Cost::bank_conflicts, "wavefronts a shared-memory instruction", first<shared_wavefronts>, 1,
     0.1},
    {.name = "bank conflicts a shared-memory instruction",
     .of = first<shared_conflicts>,
     .counted_with = kNoise},
    {.cost = Cost::load_instructions,
     .name = "global loads for 32 values",
     .of = first<load_instructions>,
     .for_values = true},
    {Cost::none, "sectors a global load", first<load_sectors>},
    {Cost::atomics, "atomic instructions", first<atomics>},
    {Cost::none, "active lanes an atomic instruction", first<atomic_lanes>},
    {.cost = Cost::instructions,
     .name = "warp instructions for 32 values",
     .of = first<instructions>,
     .for_values = true},
    {Cost::none, "active lanes an instruction", first<lanes>},
    {Cost::none, "warps waiting at a block barrier, %", first<barrier_stall>},
};

// "9", "65,536", "5.13"
std::string number(Value value) {
  if (!value) return "-";
  const double whole = std::round(*value);
  if (std::fabs(*value - whole) < 0.005) return with_separators(static_cast<Index>(whole));
  return fmt::format("{:.2f}", *value);
}

const Quantity* quantity_of(Cost cost) {
  const auto* const found = std::ranges::find(kQuantities, cost, &Quantity::cost);
  return cost == Cost::none || found == std::end(kQuantities) ? nullptr : found;
}

// Before and after; measured, where both were and nothing else is in it.
std::pair<Value, Value> change(const Quantity& quantity, const Evidence& before,
                               const Evidence& after, Index n) {
  const Value measured_before = quantity.of(before.measured, n);
  const Value measured_after = quantity.of(after.measured, n);
  const Value simulated_before = quantity.of(before.simulated, n);
  const Value simulated_after = quantity.of(after.simulated, n);
  const bool simulated = simulated_before && simulated_after;
  if (measured_before && measured_after && (quantity.counted_with.empty() || !simulated)) {
    return {measured_before, measured_after};
  }
  return {simulated_before, simulated_after};
}

bool differ(double a, double b) {
  return std::fabs(a - b) > 0.02 * std::max(std::fabs(a), std::fabs(b));
}

// The first line of `text`, which is left with the others.
std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

// The comment at the head of a rung's file, as running text.
std::string idea_of(std::string_view source) {
  std::string text;
  while (source.starts_with("//")) {
    std::string_view line = take_line(source);
    line.remove_prefix(std::min(line.find_first_not_of("/ "), line.size()));
    text += text.empty() ? "" : " ";
    text += line;
  }
  return text;
}

// From behind the empty line before `at` to the next line that is just "}", or "};".
std::string_view definition_around(std::string_view source, std::size_t at) {
  // A template's head stands on a line of its own.
  std::size_t begin = source.rfind("\n\n", at);
  begin = begin == std::string_view::npos ? 0 : begin + 2;
  std::size_t end = source.find("\n}", at);
  end = source.find('\n', end + 1);
  return source.substr(begin, end - begin);
}

// The kernel of a rung; of one that is another operator for a kernel, the operator.
std::string_view kernel_of(std::string_view source) {
  for (const std::string_view mark : {"__global__", "struct "}) {
    const std::size_t last = source.rfind(mark);
    if (last != std::string_view::npos) return definition_around(source, last);
  }
  return {};
}

// Code is not broken, however wide it is.
std::string excerpt(std::string_view code) {
  std::string text;
  while (!code.empty()) {
    text += without_trailing_spaces(fmt::format("  | {}", take_line(code))) + "\n";
  }
  return text;
}

std::string heading(const Stage& stage) {
  return fmt::format("{} {}", number_of(stage), stage.name);
}

// What a figure of a GPU has in it.
std::string with(std::string_view others) {
  return fmt::format("gpu with {}", others);
}

// Quantities of both, simulated and measured, a row each.
std::string comparison(const Evidence* before, const Evidence& after, Index n,
                       const TextStyle& style) {
  std::vector<Column> columns = {{"", {}, true}};
  struct Source {
    const Evidence* of;
    const Launches Evidence::*launches;
    std::string_view by;
  };
  std::vector<Source> sources;
  const bool measured = !after.measured.empty();
  for (const Evidence* of : {before, &after}) {
    if (of == nullptr) continue;
    if (!of->simulated.empty() || !measured) sources.push_back({of, &Evidence::simulated, "sim"});
    if (measured) sources.push_back({of, &Evidence::measured, "gpu"});
  }
  for (const Source& source : sources) {
    columns.push_back({fmt::format("{} {}", number_of(*source.of->stage), source.by), {}, false});
  }
  std::vector<std::string> notes;
  for (const Quantity& quantity : kQuantities) {
    std::vector<Value> values;
    values.reserve(sources.size());
    for (const Source& source : sources) {
      values.push_back(quantity.of(source.of->*source.launches, n));
    }
    if (std::ranges::none_of(values, [](const Value& value) { return value.has_value(); }))
      continue;
    columns.front().cells.emplace_back(quantity.name);
    for (std::size_t i = 0; i < values.size(); ++i) {
      columns[i + 1].cells.push_back(number(values[i]));
    }
    if (!quantity.counted_with.empty() && quantity.of(after.measured, n)) {
      notes.push_back(fmt::format("{}: {}", quantity.name, with(quantity.counted_with)));
    }
  }
  const std::string table = format_table(columns, style);
  return notes.empty() ? table : table + wrap("", join(notes, "; "), width_of(style));
}

// "block barriers a block 9 -> 3, ..." of what changed beside the claimed cost.
std::string other_changes(const Evidence& before, const Evidence& after, Index n) {
  std::vector<std::string> changes;
  for (const Quantity& quantity : kQuantities) {
    if (quantity.cost == after.stage->cost && quantity.cost != Cost::none) continue;
    const auto [from, to] = change(quantity, before, after, n);
    if (!from || !to || !differ(*from, *to)) continue;
    changes.push_back(fmt::format("{} {} -> {}", quantity.name, number(from), number(to)));
  }
  return join(changes, ", ");
}

std::string judgement(const Evidence& before, const Evidence& after, Index n) {
  const Removal what = removal(before, after, n);
  const std::string_view removes = after.stage->removes;
  if (what == Removal::none_claimed) {
    return fmt::format("What it removes is nothing that counters see: {}.", removes);
  }
  const Quantity& claimed = *quantity_of(after.stage->cost);
  if (what == Removal::not_counted) {
    return fmt::format("Not shown: {}. There is no figure of {}{}.", removes, claimed.name,
                       claimed.cost == Cost::instructions
                           ? ": the simulator does not count them, and no counters of a GPU are "
                             "at hand"
                           : " for so few values");
  }
  const auto [from, to] = change(claimed, before, after, n);
  const std::string_view verdict = what == Removal::removed       ? "Removed"
                                   : what == Removal::reduced     ? "Only reduced"
                                   : what == Removal::not_removed ? "NOT removed"
                                   : what == Removal::added       ? "Added, not removed"
                                                                  : "Nothing to remove here";
  return fmt::format("{}: {}. The counters say: {} {} -> {}.", verdict, removes, claimed.name,
                     number(from), number(to));
}

std::string first_cost(const Launches& launches, unsigned multiprocessors) {
  const std::vector<Share> all = shares(launches, multiprocessors);
  if (all.empty()) return "";
  std::string text = fmt::format("Now first: {}, with {:.0f}% of the estimated cost", all[0].work,
                                 all[0].share * 100);
  std::vector<std::string> rest;
  for (std::size_t i = 1; i < all.size() && all[i].share >= 0.005; ++i) {
    rest.push_back(fmt::format("{} {:.0f}%", all[i].work, all[i].share * 100));
  }
  return text + (rest.empty() ? "." : fmt::format("; then {}.", join(rest, ", ")));
}

// A column of --counters.
struct CounterColumn {
  std::string_view header;
  std::string_view meaning;  // empty: as the header says
  Value (*of)(const LaunchCounters& launch, Index n);
  std::string_view counted_with = {};  // what a GPU cannot tell from it
};

// Of both: blocks and what their threads share.
constexpr CounterColumn kCounted[] = {
    {"blocks", "", blocks},
    {"warps", "", plain<Counter::warps>},
    {"barriers", "__syncthreads, as each warp comes to them", block_barriers, kRegisterReads},
    {"warp bar", "__syncwarp a block", warp_barriers},
    {"shfl", "shuffles a block", shuffles},
    {"shared", "shared-memory instructions a block", shared_a_block},
    {"lanes", "active ones of these", shared_lanes},
    {"waves", "wavefronts of these", shared_wavefronts},
    {"confl", "bank conflicts, in all", conflicts, kNoise},
};
// Of both: global memory.
constexpr CounterColumn kMemory[] = {
    {"loads", "by a warp", plain<Counter::global_loads>},
    {"lanes", "active ones of a load", load_lanes},
    {"sectors", "of 32 bytes, a load", load_sectors},
    {"stores", "by a warp", plain<Counter::global_stores>},
    {"st lanes", "of a store", store_lanes},
    {"st sect", "sectors a store", store_sectors},
    {"bytes", "loaded and stored", memory_bytes},
    {"atomics", "by a warp", atomics},
};
constexpr CounterColumn kMeasured[] = {
    {"instr", "warp instructions", plain<Counter::warp_instructions>},
    {"lanes", "active ones of these, of 32", lanes},
    {"stall %", "of warps, at block barriers", barrier_stall},
    {"loads", "from shared memory, also without an active lane",
     plain<Counter::shared_loads_issued>},
    {"stores", "likewise", plain<Counter::shared_stores_issued>},
    {"DRAM MB", "10^6 bytes read and written",
     [](const LaunchCounters& launch, Index /*n*/) {
       return ratio(launch[Counter::dram_bytes], 1e6);
     }},
    {"DRAM %", "of its peak throughput",
     [](const LaunchCounters& launch, Index /*n*/) {
       return ratio(launch[Counter::dram_share], 0.01);
     }},
};

// Who counted, and where that is.
struct CountedBy {
  std::string_view name;
  Launches StageResult::*launches;
};
constexpr CountedBy kSimulator = {"sim", &StageResult::simulated};
constexpr CountedBy kGpu = {"gpu", &StageResult::measured};

// A table with a row for each launch of every stage, by those who counted it, and what its columns
// mean; empty where nobody did.
std::string format_launches(const Report& report, std::string_view title,
                            std::span<const CounterColumn> kinds,
                            const std::vector<CountedBy>& counters, const TextStyle& style) {
  std::vector<Column> columns = {
      {"#", {}, false}, {"stage", {}, true}, {"launch", {}, false}, {"by", {}, true}};
  for (const CounterColumn& kind : kinds) columns.push_back({std::string(kind.header), {}, false});
  for (const StageResult& result : report.stages) {
    for (const CountedBy& by : counters) {
      const Launches& launches = result.*by.launches;
      for (std::size_t i = 0; i < launches.size(); ++i) {
        columns[0].cells.push_back(number_of(*result.stage));
        columns[1].cells.push_back(shorten(result.stage->name, 20));
        columns[2].cells.push_back(fmt::format("{}/{}", i + 1, launches.size()));
        columns[3].cells.emplace_back(by.name);
        for (std::size_t k = 0; k < kinds.size(); ++k) {
          columns[4 + k].cells.push_back(number(kinds[k].of(launches[i], report.input.n)));
        }
      }
    }
  }
  if (columns.front().cells.empty()) return "";
  const bool measured = std::ranges::any_of(
      report.stages, [](const StageResult& result) { return !result.measured.empty(); });
  const std::size_t width = width_of(style);
  const auto drop = [&columns](std::string_view header) {
    std::erase_if(columns, [&](const Column& column) { return column.header == header; });
  };
  if (counters.size() == 1) drop("by");
  for (const std::string_view header :
       {"warps", "st lanes", "st sect", "warp bar", "stores", "lanes", "launch", "waves", "shfl",
        "sectors", "bytes", "DRAM MB"}) {
    if (least_width(columns) <= width) break;
    drop(header);
  }
  std::vector<std::string> legend;
  for (const CounterColumn& kind : kinds) {
    const bool shown = std::ranges::find(columns, kind.header, &Column::header) != columns.end();
    if (!shown || kind.meaning.empty()) continue;
    legend.push_back(fmt::format("{}: {}", kind.header, kind.meaning));
    if (measured && !kind.counted_with.empty()) {
      legend.back() += fmt::format(" ({})", with(kind.counted_with));
    }
  }
  return wrap("", title, width) + format_table(columns, style) +
         wrap("", join(legend, "; "), width);
}

}  // namespace

// Cycles of a multiprocessor for each event, from how much faster neighbouring rungs became on one
// H200 (132 multiprocessors at 1.98 GHz, 2^24 values): barriers from 4 to 5, shared-memory
// instructions from 1 to 2, conflicts from 2 to 3, launches from 8 to 9; sectors from the read
// ceiling, atomic operations from rung 0. With these, rungs 1 to 9 come out within 20% of their
// times.
std::vector<Share> shares(const Launches& launches, unsigned multiprocessors) {
  constexpr double kSector = 2.2;
  constexpr double kSharedInstruction = 2.4;
  constexpr double kConflict = 0.84;
  constexpr double kBarrier = 1.9;
  constexpr double kAtomicLane = 3.5;  // of the whole GPU: one at a time where all meet
  constexpr double kLaunch = 5000;     // likewise
  std::array<Share, 6> all = {{{"reading memory", 0},
                               {"shared-memory instructions", 0},
                               {"bank conflicts", 0},
                               {"block barriers", 0},
                               {"atomic operations at one address", 0},
                               {"further launches", 0}}};
  for (const LaunchCounters& launch : launches) {
    const Value sectors =
        sum(launch, {Counter::global_load_sectors, Counter::global_store_sectors});
    const Value shared = shared_instructions(launch);
    const Value met = conflicts(launch, {});
    const Value barriers = launch[Counter::block_barriers];
    const Value at_one = launch[Counter::global_atomic_lanes_at_one];
    if (!sectors || !shared || !met || !barriers || !at_one) return {};
    all[0].share += kSector * *sectors;
    all[1].share += kSharedInstruction * *shared;
    all[2].share += kConflict * *met;
    all[3].share += kBarrier * *barriers;
    all[4].share += kAtomicLane * multiprocessors * *at_one;
    all[5].share += &launch == &launches.front() ? 0 : kLaunch * multiprocessors;
  }
  double total = 0;
  for (const Share& share : all) total += share.share;
  std::vector<Share> sorted;
  for (const Share& share : all) {
    if (share.share > 0) sorted.push_back({share.work, share.share / total});
  }
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &Share::share);
  return sorted;
}

Removal removal(const Evidence& before, const Evidence& after, Index n) {
  const Quantity* const claimed = quantity_of(after.stage->cost);
  if (claimed == nullptr) return Removal::none_claimed;
  const auto [from, to] = change(*claimed, before, after, n);
  if (!from || !to) return Removal::not_counted;
  const double least = claimed->for_values ? 32 / static_cast<double>(n) : claimed->least;
  const double there = *from - least;
  const double left = *to - least;
  if (there < 0.02) return left < 0.02 ? Removal::not_there : Removal::added;
  if (left <= claimed->share * there) return Removal::removed;
  return *to < *from && differ(*from, *to) ? Removal::reduced : Removal::not_removed;
}

std::optional<int> changed_by(const Stage& stage, std::span<const Stage> stages) {
  std::optional<int> before;
  for (const Stage& other : stages) {
    if (other.number == stage.number) break;
    if (stage.changes < 0 || other.number == stage.changes) before = other.number;
  }
  return stage.removes.starts_with("nothing") ? std::nullopt : before;
}

std::string format_explanation(const Evidence* before, const Evidence& after, Index n,
                               unsigned multiprocessors, const TextStyle& style) {
  const std::size_t width = width_of(style);
  const Stage& stage = *after.stage;
  const std::string_view source = rung_source(stage.number);
  std::string text = wrap("", fmt::format("{}: {}", heading(stage), stage.idea), width) + "\n";
  if (!source.empty()) {
    text += wrap("  ", idea_of(source), width) + "\n" + excerpt(kernel_of(source)) + "\n";
  }
  if (after.simulated.empty() && after.measured.empty()) {
    return text + wrap("Not counted: ", after.fault, width);
  }
  text += wrap("",
               before == nullptr ? fmt::format("Counted, n = {}:", with_separators(n))
                                 : fmt::format("Counted, n = {}, beside {}:", with_separators(n),
                                               heading(*before->stage)),
               width);
  text += comparison(before, after, n, style) + "\n";
  if (before != nullptr) {
    text += wrap("", judgement(*before, after, n), width);
    if (const std::string others = other_changes(*before, after, n); !others.empty()) {
      text += wrap("Also: ", others + ".", width);
    }
  }
  if (const std::string line = first_cost(after.simulated, multiprocessors); !line.empty()) {
    text += wrap("", line, width);
  }
  return text;
}

bool measured(const Report& report) {
  const auto ran = [](const StageResult& result) { return result.ran; };
  return std::ranges::any_of(report.stages, ran) &&
         std::ranges::all_of(report.stages, [](const StageResult& result) {
           return !result.ran || !result.measured.empty();
         });
}

std::string format_counters(const Report& report, const TextStyle& style) {
  const std::vector<std::string> tables = {
      format_launches(report, "Counted, launch by launch:", kCounted, {kSimulator, kGpu}, style),
      format_launches(report, "Counted of global memory:", kMemory, {kSimulator, kGpu}, style),
      format_launches(report, "What a GPU alone counts:", kMeasured, {kGpu}, style)};
  std::string text;
  for (const std::string& table : tables) {
    if (!table.empty()) text += (text.empty() ? "" : "\n") + table;
  }
  return text;
}

}  // namespace reduce_ladder
