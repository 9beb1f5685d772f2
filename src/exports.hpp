// A report for spreadsheets and for web pages. Pure functions of the results.
#pragma once

#include <string>

#include "reduce_ladder/results.hpp"

namespace reduce_ladder {

// A header line and a row a stage, so that the rows of many reports can stand in one table. Fields
// are quoted as in RFC 4180; lines end in a newline alone. A cell is empty where there is nothing
// to say. SI units: seconds, bytes, bytes a second, shares of 1.
//   date, device             of the run, UTC; name of the device
//   incomplete               true where the run was interrupted: rows are missing
//   driver, runtime          of CUDA
//   n, bytes, block, cache   values summed, their size, threads a block, cold or warm L2
//   stage, name              number and name
//   median_s, min_s, iqr_s   of the times of single runs
//   samples, discarded       how many times those are, and how many had host time inside
//   stable                   true where the median was stable before the time-out
//   bytes_per_s              bytes / median_s
//   share_of_copy            of the copy ceiling, read and written
//   share_of_read            of the read ceiling
//   floor_s                  median of an empty launch
//   result, reference        sum of the first run; sum that judges
//   error, bound, depth      absolute, of the worst run; what is allowed; additions in a row
//   verify, note             passed, failed or skipped, and why
//   determinism, repeats     what the stage promises; runs that were compared
//   distinct, claim          bit patterns seen; held, refuted, unclaimed or untested
//   launches                 kernel launches a run
std::string to_csv(const Report& report);

// A heading that names the machine and the problem, the ceilings, the table of stages as GitHub
// renders it, the verdict.
std::string to_markdown(const Report& report);

}  // namespace reduce_ladder
