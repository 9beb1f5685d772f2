// What may be read as an input: a regular file, and nothing that only looks like one.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "reduce_ladder/errors.hpp"

namespace reduce_ladder {

// Throws InputError that says what `path` is instead; the caller puts the path in front.
inline void require_regular_file(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    throw InputError("there is no such file");
  }
  if (error) throw InputError(fmt::format("cannot be read: {}", error.message()));
  if (std::filesystem::is_directory(status)) throw InputError("is a directory, not a file");
  if (!std::filesystem::is_regular_file(status)) throw InputError("is not a regular file");
}

}  // namespace reduce_ladder
