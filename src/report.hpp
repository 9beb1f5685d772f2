// A report as text for a terminal, and as JSON. Pure functions of the results.
#pragma once

#include <span>
#include <string>

#include "reduce_ladder/results.hpp"

namespace reduce_ladder {

// Device, input, reference, copy ceiling, a row a stage, the probe, the verdict; lines of at most
// 100 characters, ending in a newline.
std::string format_report(const Report& report);

// The one-line verdict alone.
std::string format_verdict(const Report& report);

// What --list prints: each stage with its idea, the cost it removes and its determinism class.
std::string format_stages(std::span<const Stage> stages);

// The report by the schema "reduce-ladder/1" (see the README), indented, ending in a newline.
std::string to_json(const Report& report);

}  // namespace reduce_ladder
