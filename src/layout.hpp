// How text is laid out for a terminal: every line goes through here, so that none is too long or
// ends in a space.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace reduce_ladder {

// `width` is in characters; less than 64 is taken as 64.
struct TextStyle {
  unsigned width = 100;
  bool color = false;  // PASSED, FAILED and SKIPPED, by the terminal's own green, red and yellow
};
std::size_t width_of(const TextStyle& style);

// A column of a table: a cell a row, "-" where there is nothing to say.
struct Column {
  std::string header;
  std::vector<std::string> cells;
  bool left_aligned = false;
};
std::size_t width_of(const Column& column);

// Leaves out the middle of what is longer than `width`. A path is told by its end, so that keeps
// the larger share.
std::string shorten(std::string_view text, std::size_t width);

// `text` after `label`, broken between words where it is too long and indented to where it began.
std::string wrap(std::string label, std::string_view text, std::size_t width);

// One of the words that have a color, in it.
std::string paint(std::string_view word);

std::string join(const std::vector<std::string>& parts, std::string_view separator);

// Characters a line, of a table whose columns are one space apart.
std::size_t least_width(const std::vector<Column>& columns);

// Columns two spaces apart, from the left, for as long as there is room; then one.
std::string format_table(const std::vector<Column>& columns, const TextStyle& style);

}  // namespace reduce_ladder
