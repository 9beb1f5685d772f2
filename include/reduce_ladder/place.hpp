// A place in the source, for messages.
#pragma once

#include <string>

namespace reduce_ladder {

struct Place {
  const char* file = nullptr;
  unsigned line = 0;

  // As a default argument: the place of the call. (std::source_location would do the same, but
  // clang has no support for it before version 16.)
  static constexpr Place here(const char* file = __builtin_FILE(),
                              unsigned line = __builtin_LINE()) {
    return {file, line};
  }
  // "file.cuh:12"
  [[nodiscard]] std::string text() const {
    const std::string path = file;
    return path.substr(path.find_last_of('/') + 1) + ":" + std::to_string(line);
  }
  friend constexpr bool operator==(const Place&, const Place&) = default;
};

}  // namespace reduce_ladder
