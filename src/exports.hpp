// A report for spreadsheets and for web pages. Pure functions of the results.
#pragma once

#include <optional>
#include <string>

#include "reduce_ladder/results.hpp"

namespace reduce_ladder {

// A row a stage. Fields are quoted as in RFC 4180; lines end in a newline alone. A cell is empty
// where there is nothing to say. SI units: seconds, bytes, bytes a second, shares of 1.
//   date, device             of the run, UTC; name of the device
//   incomplete               true where the run was interrupted: rows are missing
//   driver, runtime          of CUDA
//   n, bytes                 values summed, their size
//   grid, block              of the first launch: blocks, and threads of each; where a stage has no
//                            block of its own, or did not run, what --block asked for
//   cache                    cold or warm L2
//   stage, name              number and name
//   median_s, min_s, iqr_s   of the times of single runs
//   samples, discarded       how many times those are, and how many had host time inside
//   stable                   true where the median was stable before the time-out
//   bytes_per_s              bytes / median_s
//   share_of_copy            of the copy ceiling, read and written
//   share_of_read            of the read ceiling
//   copy_bytes_per_s, read_bytes_per_s, theoretical_bytes_per_s   the ceilings
//   floor_s                  median of an empty launch
//   result, reference        sum of the first run; sum that judges
//   reference_as_float       rounded once to float32
//   error, bound             absolute, of the worst run; what is allowed
//   expected_error           by chance; empty where it says nothing
//   accumulation, depth      fp32, fp64, compensated or exact; additions in a row
//   known_answers, known_answers_wrong   runs over arrays whose sum is known
//   verify                   passed, failed or skipped
//   determinism, repeats     what the stage promises; runs that were compared
//   distinct, span_ulps      bit patterns seen; float32 values from the least to the greatest
//   claim                    held, refuted, unclaimed or untested
//   launches                 kernel launches a run
//   note                     why it was skipped or failed
std::string csv_rows(const Report& report);

// The names of these columns, a line. So the rows of many reports can stand in one table.
std::string csv_header();

// A row for `n` values by blocks of `block` threads (nullopt: each stage's own) of which no stage
// was run, and why. `incomplete`: because the run was interrupted.
std::string csv_row_without_stage(Index n, std::optional<unsigned> block, bool incomplete,
                                  const std::string& why);

// Header and rows.
std::string to_csv(const Report& report);

// A heading that names the machine and the problem, the ceilings, the table of stages as GitHub
// renders it, the verdict.
std::string to_markdown(const Report& report);

}  // namespace reduce_ladder
