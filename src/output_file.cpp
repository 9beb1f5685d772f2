#include "output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "printable.hpp"
#include "reduce_ladder/errors.hpp"

namespace reduce_ladder {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(std::string_view name, std::string_view why) {
  throw OutputError(fmt::format("{}: {}", printable(name), why));
}

// What the call that just failed left in errno.
[[noreturn]] void refuse_by_errno(std::string_view name) {
  refuse(name, fmt::format("cannot be written: {}", std::generic_category().message(errno)));
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  [[nodiscard]] int number() const { return number_; }
  // False where the system reports late that a write failed.
  bool close() { return ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

// A file that is gone again unless it was moved to where it belongs.
class TemporaryFile {
 public:
  explicit TemporaryFile(fs::path path) : path_(std::move(path)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!moved_) ::unlink(path_.c_str());
  }

  bool move_to(const fs::path& target) {
    moved_ = std::rename(path_.c_str(), target.c_str()) == 0;
    return moved_;
  }

 private:
  fs::path path_;
  bool moved_ = false;
};

// Where a path leads: to a descriptor that is open already, to a stream that takes bytes but cannot
// be replaced, or to a regular file that can, there or not.
struct Destination {
  enum class Kind { descriptor, stream, file };
  Kind kind = Kind::file;
  int descriptor = -1;
  fs::path path;                      // of a file, symbolic links followed
  std::optional<struct stat> status;  // of a file that exists
};

// Standard output or error, where `status` is what it leads to. To open /dev/stdout, or the file
// behind it, anew would overwrite what went there before; to replace the file would lose that.
std::optional<int> standard_descriptor(const struct stat& status) {
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat standard {};
    if (::fstat(descriptor, &standard) == 0 && standard.st_dev == status.st_dev &&
        standard.st_ino == status.st_ino) {
      return descriptor;
    }
  }
  return std::nullopt;
}

fs::path follow_links(const std::string& name) {
  constexpr int max_links = 40;  // as in Linux
  fs::path path = name;
  std::error_code error;
  for (int links = 0; fs::is_symlink(fs::symlink_status(path, error)); ++links) {
    if (links == max_links) {
      errno = ELOOP;
      refuse_by_errno(name);
    }
    path = path.parent_path() / fs::read_symlink(path, error);
  }
  return path;
}

fs::path directory_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

Destination find_destination(const std::string& name) {
  struct stat status {};
  Destination destination;
  const bool exists = ::stat(name.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) refuse_by_errno(name);
  if (exists) {
    if (const auto descriptor = standard_descriptor(status)) {
      destination.kind = Destination::Kind::descriptor;
      destination.descriptor = *descriptor;
      return destination;
    }
    if (S_ISDIR(status.st_mode)) refuse(name, "is a directory, not a file");
    if (::access(name.c_str(), W_OK) != 0) refuse_by_errno(name);
    if (!S_ISREG(status.st_mode)) {
      destination.kind = Destination::Kind::stream;
      return destination;
    }
    destination.status = status;
  }
  destination.path = follow_links(name);
  if (!destination.path.has_filename()) refuse(name, "names no file");
  const fs::path directory = directory_of(destination.path);
  if (::access(directory.c_str(), W_OK | X_OK) != 0) {
    const std::string reason = std::generic_category().message(errno);
    refuse(name, fmt::format("cannot be written in the directory {}: {}",
                             printable(directory.string()), reason));
  }
  return destination;
}

// A reader that went away has read all that it wants: not an error. (SIGPIPE must be ignored.)
void write_all(int descriptor, std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // another process may have made a shared pipe non-blocking
      pollfd ready{.fd = descriptor, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, -1);
    } else if (errno == EPIPE) {
      return;
    } else if (errno != EINTR) {
      refuse_by_errno(name);
    }
  }
}

void write_stream(const std::string& name, std::string_view text) {
  Descriptor stream(::open(name.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
  if (stream.number() < 0) refuse_by_errno(name);
  write_all(stream.number(), text, name);
  if (!stream.close()) refuse_by_errno(name);
}

void replace_file(const std::string& name, const Destination& destination, std::string_view text) {
  constexpr int max_attempts = 100;
  fs::path path;
  int opened = -1;
  for (int attempt = 0; opened < 0 && attempt < max_attempts; ++attempt) {
    path = directory_of(destination.path) /
           fmt::format(".reduce-ladder-{}-{}.tmp", ::getpid(), attempt);
    opened = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                    destination.status ? destination.status->st_mode & 07777U : 0666);
    if (opened < 0 && errno != EEXIST) break;
  }
  if (opened < 0) refuse_by_errno(name);
  TemporaryFile temporary(path);
  Descriptor file(opened);
  if (destination.status) {
    // The owner first, since a change of owner takes away some of the mode. Only root may give
    // files away.
    if (::fchown(file.number(), destination.status->st_uid, destination.status->st_gid) != 0 &&
        errno != EPERM) {
      refuse_by_errno(name);
    }
    if (::fchmod(file.number(), destination.status->st_mode & 07777U) != 0) refuse_by_errno(name);
  }
  write_all(file.number(), text, name);
  if (::fsync(file.number()) != 0) refuse_by_errno(name);
  if (!file.close()) refuse_by_errno(name);
  if (!temporary.move_to(destination.path)) refuse_by_errno(name);
}

}  // namespace

bool leads_to_stdout(const std::string& path) {
  if (path == "-") return true;
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && standard_descriptor(status) == STDOUT_FILENO;
}

void check_writable(const std::string& path) {
  find_destination(path);
}

void write_file(const std::string& path, std::string_view text) {
  const Destination destination = find_destination(path);
  switch (destination.kind) {
    case Destination::Kind::descriptor:
      return write_all(destination.descriptor, text, path);
    case Destination::Kind::stream:
      return write_stream(path, text);
    case Destination::Kind::file:
      return replace_file(path, destination, text);
  }
}

void write_stdout(std::string_view text) {
  write_all(STDOUT_FILENO, text, "standard output");
}

void write_stderr(std::string_view text) {
  write_all(STDERR_FILENO, text, "standard error");
}

}  // namespace reduce_ladder
