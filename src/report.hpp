// A report as text for a terminal, and as JSON. Pure functions of the results.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "layout.hpp"
#include "reduce_ladder/results.hpp"

namespace reduce_ladder {

// Device, its state, input, reference, ceilings and floor, a row a stage, the probe, the verdict;
// lines of at most `style.width` characters, ending in a newline. Where the table would be wider,
// it has fewer columns.
std::string format_report(const Report& report, const TextStyle& style = {});

// The verdict alone.
std::string format_verdict(const Report& report, const TextStyle& style = {});

// What --list prints: each stage with its idea, the cost it removes and its determinism class.
std::string format_stages(std::span<const Stage> stages, const TextStyle& style = {});

// All columns of the table of stages; a "~" after the spread marks a median that was not stable.
std::vector<Column> stage_columns(const Report& report);

// The report by the schema "reduce-ladder/1" (report.schema.json), indented, ending in a newline.
std::string to_json(const Report& report);

}  // namespace reduce_ladder
