// Texts by their lines.
#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace reduce_ladder {

inline std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The first line that starts with `start`, or nothing.
inline std::string line_with(const std::string& text, const std::string& start) {
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with(start)) return line;
  }
  return "";
}

}  // namespace reduce_ladder
