#include "layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "text.hpp"

namespace reduce_ladder {
namespace {

constexpr std::size_t kLeastWidth = 64;  // characters a line

// The first byte of the UTF-8 character that covers byte `at`.
std::size_t character_start(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) {
    --at;
  }
  return at;
}

}  // namespace

std::string shorten(std::string_view text, std::size_t width) {
  if (text.size() <= width) return std::string(text);
  const std::size_t kept = width - 3;
  const std::size_t head = character_start(text, kept / 3);
  std::size_t tail = text.size() - (kept - kept / 3);
  while (character_start(text, tail) != tail) ++tail;
  return fmt::format("{}...{}", text.substr(0, head), text.substr(tail));
}

std::string wrap(std::string label, std::string_view text, std::size_t width) {
  const std::size_t room = width - label.size();
  std::string lines;
  while (text.size() > room) {
    std::size_t end = text.rfind(' ', room);
    if (end == std::string_view::npos || end == 0) end = character_start(text, room);
    lines += without_trailing_spaces(label.append(text.substr(0, end))) + "\n";
    text.remove_prefix(std::min(text.find_first_not_of(' ', end), text.size()));
    label.assign(width - room, ' ');
  }
  return lines + without_trailing_spaces(label.append(text)) + "\n";
}

std::size_t width_of(const TextStyle& style) {
  return std::max<std::size_t>(style.width, kLeastWidth);
}

std::string paint(std::string_view word) {
  const std::string_view color = word == "PASSED" ? "32" : word == "FAILED" ? "31" : "33";
  return fmt::format("\x1b[{}m{}\x1b[0m", color, word);
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

std::size_t width_of(const Column& column) {
  std::size_t width = column.header.size();
  for (const std::string& cell : column.cells) width = std::max(width, cell.size());
  return width;
}

std::size_t least_width(const std::vector<Column>& columns) {
  std::size_t width = columns.size() - 1;
  for (const Column& column : columns) width += width_of(column);
  return width;
}

std::string format_table(const std::vector<Column>& columns, const TextStyle& style) {
  const std::size_t least = least_width(columns);
  std::size_t spare = width_of(style) - std::min(width_of(style), least);
  std::vector<std::string> lines(columns.front().cells.size() + 1);
  for (const Column& column : columns) {
    const bool first = &column == &columns.front();
    const std::size_t gap = first ? 0 : spare > 0 ? 2 : 1;
    if (gap == 2) --spare;
    const std::size_t width = width_of(column);
    for (std::size_t row = 0; row < lines.size(); ++row) {
      const std::string& cell = row == 0 ? column.header : column.cells[row - 1];
      const std::string padding(width - cell.size(), ' ');
      const bool painted = style.color && row > 0 && column.header == "check";
      lines[row].append(gap, ' ');
      if (!column.left_aligned) lines[row] += padding;
      lines[row] += painted ? paint(cell) : cell;
      if (column.left_aligned) lines[row] += padding;
    }
  }
  std::string table;
  for (std::string& line : lines) table += without_trailing_spaces(std::move(line)) + "\n";
  return table;
}

}  // namespace reduce_ladder
