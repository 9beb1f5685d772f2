#include "input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "host_memory.hpp"
#include "parallel.hpp"
#include "printable.hpp"
#include "reduce_ladder/errors.hpp"
#include "regular_file.hpp"

namespace reduce_ladder {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "files are read without swapping bytes");
static_assert(std::numeric_limits<float>::is_iec559 && sizeof(float) == 4);

// The readers below throw InputErrors that say what is wrong; read_input() puts the path in front.

void read_exactly(std::ifstream& file, void* to, std::uintmax_t bytes) {
  file.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
  if (!file) {
    throw InputError(
        fmt::format("cannot be read: {} bytes were due, {} came", bytes, file.gcount()));
  }
}

// Text out of a file, short enough for a message.
std::string excerpt(std::string_view text) {
  constexpr std::size_t longest = 40;
  return text.size() <= longest ? printable(text) : printable(text.substr(0, longest)) + "...";
}

// The number of values of an array with these extents; 1 for none.
Index product(const std::vector<Index>& extents) {
  if (std::ranges::find(extents, Index{0}) != extents.end()) return 0;
  Index n = 1;
  for (const Index extent : extents) {
    if (extent > std::numeric_limits<Index>::max() / sizeof(float) / n) {
      throw InputError("its shape asks for 2^64 bytes or more");
    }
    n *= extent;
  }
  return n;
}

// Parses the header of a .npy file (numpy.lib.format): a Python dictionary with exactly the keys
// descr, fortran_order and shape, spaced and quoted in whatever way its writer liked.
class NpyHeader {
 public:
  explicit NpyHeader(std::string_view text) : rest_(text) {}

  // The number of values. Throws InputError, also for values that are not little-endian float32.
  Index parse_count() {
    std::set<std::string_view> keys;
    Index n = 0;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = parse_string();
      expect(':');
      if (key == "descr") {
        check_type();
      } else if (key == "fortran_order") {
        if (!accept("True") && !accept("False")) refuse();  // either: a sum has no use for it
      } else if (key == "shape") {
        n = product(parse_extents());
      } else {
        throw InputError(
            fmt::format("its header has the key '{}'; {}", excerpt(key), kAllowedKeys));
      }
      if (!keys.insert(key).second) {
        throw InputError(fmt::format("its header has two keys '{}'; {}", key, kAllowedKeys));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (!rest_.empty()) refuse();
    if (keys.size() != 3) {
      throw InputError(fmt::format("its header has {} of its keys; {}", keys.size(), kAllowedKeys));
    }
    return n;
  }

 private:
  static constexpr std::string_view kAllowedKeys =
      "each of 'descr', 'fortran_order' and 'shape' is needed once, and no other is allowed";

  [[noreturn]] void refuse() const {
    throw InputError(fmt::format(
        "its header is not as NumPy writes it, {}",
        rest_.empty() ? "it ends too early" : fmt::format("from '{}' on", excerpt(rest_))));
  }

  void skip_space() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }

  bool accept(std::string_view token) {
    skip_space();
    const bool found = rest_.starts_with(token);
    if (found) rest_.remove_prefix(token.size());
    return found;
  }
  bool accept(char token) { return accept(std::string_view(&token, 1)); }

  void expect(char token) {
    if (!accept(token)) refuse();
  }

  std::string_view parse_string() {
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect(quote);
    const std::size_t end = rest_.find(quote);
    if (end == std::string_view::npos) refuse();
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }

  void check_type() {
    constexpr std::string_view allowed = "only '<f4', little-endian float32, is allowed";
    skip_space();
    if (rest_.starts_with('[')) {
      throw InputError(fmt::format("its values are records, '{}'; {}", excerpt(rest_), allowed));
    }
    const std::string_view type = parse_string();
    if (type != "<f4") {
      throw InputError(fmt::format("its values are of type '{}'; {}", excerpt(type), allowed));
    }
  }

  std::vector<Index> parse_extents() {
    std::vector<Index> extents;
    expect('(');
    while (!accept(')')) {
      skip_space();
      Index extent = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (error != std::errc{}) refuse();
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      extents.push_back(extent);
      accept('L');  // as Python 2 wrote them
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return extents;
  }

  std::string_view rest_;
};

// Reads the front of a .npy file, up to its values, and says how many there are.
Index read_npy_front(std::ifstream& file, std::uintmax_t file_bytes) {
  constexpr std::string_view magic = "\x93NUMPY";
  constexpr std::size_t max_header_bytes = std::size_t{1} << 20;  // far beyond any real one
  std::array<char, 8> front{};  // the magic string, then the version's two bytes
  if (file_bytes < front.size()) {
    throw InputError(fmt::format("is no .npy file: it has only {} bytes", file_bytes));
  }
  read_exactly(file, front.data(), front.size());
  if (!std::string_view(front.data(), front.size()).starts_with(magic)) {
    throw InputError(R"(is no .npy file: it does not begin with "\x93NUMPY")");
  }
  const int major = static_cast<unsigned char>(front[6]);
  const int minor = static_cast<unsigned char>(front[7]);
  if (major < 1 || major > 3 || minor != 0) {
    throw InputError(
        fmt::format("is of .npy version {}.{}; 1.0, 2.0 and 3.0 are allowed", major, minor));
  }
  std::uint32_t header_bytes = 0;
  const std::uintmax_t length_bytes = major == 1 ? 2 : 4;
  const std::uintmax_t header_begin = front.size() + length_bytes;
  if (file_bytes >= header_begin) read_exactly(file, &header_bytes, length_bytes);
  if (file_bytes < header_begin || file_bytes - header_begin < header_bytes) {
    throw InputError(fmt::format("is cut off in its header: it has {} bytes, its header ends at {}",
                                 file_bytes, header_begin + header_bytes));
  }
  if (header_bytes > max_header_bytes) {
    throw InputError(fmt::format("has a header of {} bytes; at most {} are allowed", header_bytes,
                                 max_header_bytes));
  }
  std::string header(header_bytes, '\0');
  read_exactly(file, header.data(), header.size());
  const Index n = NpyHeader(header).parse_count();
  const std::uintmax_t data_bytes = file_bytes - header_begin - header_bytes;
  if (data_bytes != n * sizeof(float)) {
    throw InputError(
        fmt::format("has {} bytes of data; its shape asks for {}", data_bytes, n * sizeof(float)));
  }
  return n;
}

Index count_raw(std::uintmax_t file_bytes) {
  if (file_bytes % sizeof(float) != 0) {
    throw InputError(fmt::format("has {} bytes; float32 values need a multiple of {}", file_bytes,
                                 sizeof(float)));
  }
  return file_bytes / sizeof(float);
}

Input read_values(const fs::path& path) {
  require_regular_file(path);

  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool npy = extension == ".npy";
  if (!npy && extension != ".f32" && extension != ".bin") {
    throw InputError(
        "has no name that tells its format; .npy, .f32 and .bin (raw float32) are allowed");
  }

  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw InputError(fmt::format("cannot be read: {}", std::generic_category().message(errno)));
  }
  std::error_code error;
  const std::uintmax_t file_bytes = fs::file_size(path, error);
  if (error) throw InputError(fmt::format("cannot be read: {}", error.message()));

  Input input;
  input.info.n = npy ? read_npy_front(file, file_bytes) : count_raw(file_bytes);
  input.info.source = path.string();
  input.storage = allocate_values(input.info.n);
  read_exactly(file, input.storage.get(), input.info.n * sizeof(float));
  // As with a file that grows, or one of /proc, whose size is said to be 0.
  if (file.peek() != std::ifstream::traits_type::eof()) {
    throw InputError(fmt::format("holds more than the {} bytes that it is said to", file_bytes));
  }
  return input;
}

}  // namespace

Input Input::first(Index n) const {
  Input part = *this;
  part.info.n = n;
  return part;
}

Input generate(const DataKind& kind, Index n, std::uint64_t seed, Index most_held) {
  Input input;
  input.info = {.n = n, .source = std::string(kind.source), .seed = seed};
  input.has_prefixes = !kind.depends_on_n;
  Fill fill = [make = kind.fill, draw = Draw{.seed = seed, .n = n}](
                  Index begin, std::span<float> out) { make(draw, begin, out); };
  if (n > most_held) {
    input.fill = std::move(fill);
  } else {
    input.storage = allocate_values(n);
    fill_in_parallel(fill, 0, {input.storage.get(), n});
  }
  return input;
}

Input generate_uniform(Index n, std::uint64_t seed) {
  return generate(data_kinds().front(), n, seed, n);
}

void load(Device& device, const Input& input, unsigned misalignment) {
  if (input.fill) {
    device.load(input.info.n, input.fill, misalignment);
  } else {
    device.load(input.values(), misalignment);
  }
}

void load_reversed(Device& device, const Input& input, unsigned misalignment) {
  const Index n = input.info.n;
  const Fill forward = input.fill ? input.fill : fill_from(input.values());
  const auto backward = [&](Index begin, std::span<float> out) {
    forward(n - begin - out.size(), out);
    std::ranges::reverse(out);
  };
  device.load(n, backward, misalignment);
}

Input read_input(const fs::path& path) {
  try {
    return read_values(path);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", printable(path.string()), error.what()));
  }
}

}  // namespace reduce_ladder
