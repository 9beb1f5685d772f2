// Spreads independent chunks of work over the host's cores.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "reduce_ladder/fill.hpp"

namespace reduce_ladder {

// Cores that this process may use, at least 1.
unsigned host_cores();

// Calls body(chunk) once for every chunk in [0, chunks), in any order and from several threads;
// returns when all are done. The first exception that a body throws is rethrown here. What a chunk
// is must not depend on the number of cores where results are to be the same on every machine.
void parallel_chunks(std::size_t chunks, const std::function<void(std::size_t chunk)>& body);

// Fills `out` with the values from position `begin` on.
void fill_in_parallel(const Fill& fill, Index begin, std::span<float> out);

}  // namespace reduce_ladder
