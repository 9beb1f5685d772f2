// Reports on their way out: whole, or not at all.
#pragma once

#include <string>
#include <string_view>

namespace reduce_ladder {

// "-", or a path behind which standard output is open already, such as /dev/stdout.
bool leads_to_stdout(const std::string& path);

// Checks, before a long run, that write_file(path) can be expected to work. Throws OutputError.
void check_writable(const std::string& path);

// Writes `text` to `path` so that no reader ever sees half of it: a new file beside it is renamed
// over it when complete. What is no regular file (a pipe, /dev/stdout) is written directly. Throws
// OutputError.
void write_file(const std::string& path, std::string_view text);

// Writes `text` to standard output, or to standard error. Throws OutputError.
void write_stdout(std::string_view text);
void write_stderr(std::string_view text);

}  // namespace reduce_ladder
