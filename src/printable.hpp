// Text from outside on its way into a message.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace reduce_ladder {

// `text` with control characters, quotes, backslashes and invalid UTF-8 escaped: it stays on its
// line and cannot drive a terminal.
inline std::string printable(std::string_view text) {
  const std::string quoted = fmt::format("{:?}", text);
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace reduce_ladder
