#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "output_file.hpp"
#include "reduce_ladder/errors.hpp"

namespace reduce_ladder {
namespace {

namespace fs = std::filesystem;

// A directory for one test, removed with it.
class OutputFile : public testing::Test {
 protected:
  OutputFile() : directory_(fs::path(testing::TempDir()) / unique_name()) {
    fs::create_directories(directory_);
  }
  ~OutputFile() override { fs::remove_all(directory_); }

  [[nodiscard]] std::string path(const std::string& name) const { return directory_ / name; }

  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }

 private:
  static std::string unique_name() {
    return std::string("reduce-ladder-output-") + std::to_string(getpid()) + "-" +
           testing::UnitTest::GetInstance()->current_test_info()->name();
  }

  fs::path directory_;
};

// Sends a descriptor elsewhere for the length of a scope.
class Redirection {
 public:
  Redirection(int descriptor, int target) : descriptor_(descriptor), saved_(dup(descriptor)) {
    if (target >= 0) {
      dup2(target, descriptor);
    } else {
      close(descriptor);
    }
  }
  Redirection(const Redirection&) = delete;
  Redirection& operator=(const Redirection&) = delete;
  ~Redirection() {
    dup2(saved_, descriptor_);
    close(saved_);
  }

 private:
  int descriptor_;
  int saved_;
};

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void put(const std::string& path, std::string_view text) {
  std::ofstream(path) << text;
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777U;
}

// The line that refuses `path`, first by the check and then by the writing, without the path.
std::string refusal(const std::string& path) {
  std::string first;
  for (const bool writing : {false, true}) {
    try {
      writing ? write_file(path, "text") : check_writable(path);
      ADD_FAILURE() << path << (writing ? " was written" : " passed the check");
    } catch (const OutputError& error) {
      const std::string text = error.what();
      EXPECT_TRUE(text.starts_with(path + ": ")) << text;
      if (writing) {
        EXPECT_EQ(text.substr(path.size() + 2), first);
      }
      first = text.substr(path.size() + 2);
    }
  }
  return first;
}

TEST_F(OutputFile, WritesANewFileAndLeavesNothingBesideIt) {
  check_writable(path("x.json"));
  EXPECT_EQ(entries(), 0U) << "the check left something";
  write_file(path("x.json"), "{}\n");
  EXPECT_EQ(content(path("x.json")), "{}\n");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(OutputFile, WritesBytesAsTheyAreHoweverMany) {
  const std::string text = std::string(3'000'000, 'x') + std::string("\0\r\n\xff", 4);
  write_file(path("x"), text);
  EXPECT_EQ(content(path("x")), text);
  write_file(path("x"), "");
  EXPECT_EQ(content(path("x")), "");
}

TEST_F(OutputFile, WritesIntoTheWorkingDirectoryByABareName) {
  const fs::path before = fs::current_path();
  fs::current_path(path(""));
  check_writable("bare.json");
  write_file("bare.json", "{}");
  fs::current_path(before);
  EXPECT_EQ(content(path("bare.json")), "{}");
}

TEST_F(OutputFile, NewFilesFollowTheUmask) {
  const mode_t before = umask(027);
  write_file(path("x"), "text");
  umask(before);
  EXPECT_EQ(mode_of(path("x")), 0640U);
}

TEST_F(OutputFile, ReplacedFilesKeepTheirMode) {
  put(path("x"), "a longer text before");
  for (const mode_t mode : {0600U, 0666U, 0755U}) {
    chmod(path("x").c_str(), mode);
    write_file(path("x"), "text");
    EXPECT_EQ(mode_of(path("x")), mode);
    EXPECT_EQ(content(path("x")), "text");
  }
}

TEST_F(OutputFile, ReadersOfTheOldFileNeverSeeHalfOfTheNew) {
  put(path("x"), "old text");
  std::ifstream reader(path("x"));
  write_file(path("x"), "new");
  std::string seen;
  std::getline(reader, seen);
  EXPECT_EQ(seen, "old text");
}

TEST_F(OutputFile, LinksAreFollowedAndStay) {
  fs::create_directory(path("sub"));
  put(path("sub/target"), "old");
  fs::create_symlink("sub/target", path("second"));
  fs::create_symlink(path("second"), path("first"));
  check_writable(path("first"));
  write_file(path("first"), "new");
  EXPECT_TRUE(fs::is_symlink(path("first")));
  EXPECT_TRUE(fs::is_symlink(path("second")));
  EXPECT_FALSE(fs::is_symlink(path("sub/target")));
  EXPECT_EQ(content(path("sub/target")), "new");
}

TEST_F(OutputFile, DanglingLinksGetTheirTarget) {
  fs::create_symlink("target", path("link"));
  check_writable(path("link"));
  write_file(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content(path("target")), "new");
}

TEST_F(OutputFile, RefusesLinksInACircle) {
  fs::create_symlink("b", path("a"));
  fs::create_symlink("a", path("b"));
  EXPECT_EQ(refusal(path("a")), "cannot be written: Too many levels of symbolic links");
}

TEST_F(OutputFile, RefusesAMissingDirectory) {
  EXPECT_EQ(refusal(path("no/x.json")),
            "cannot be written in the directory " + path("no") + ": No such file or directory");
  fs::create_symlink("gone/x", path("link"));
  EXPECT_EQ(refusal(path("link")),
            "cannot be written in the directory " + path("gone") + ": No such file or directory");
}

TEST_F(OutputFile, RefusesAFileInPlaceOfADirectory) {
  put(path("file"), "");
  EXPECT_EQ(refusal(path("file/x.json")), "cannot be written: Not a directory");
}

TEST_F(OutputFile, RefusesDirectories) {
  EXPECT_EQ(refusal(path(".")), "is a directory, not a file");
  EXPECT_EQ(refusal(path("")), "is a directory, not a file");
  EXPECT_EQ(refusal(path("new/")), "names no file");
}

TEST_F(OutputFile, RefusesNamesThatAreTooLong) {
  EXPECT_EQ(refusal(path(std::string(300, 'x'))), "cannot be written: File name too long");
  write_file(path(std::string(255, 'x')), "text");  // the longest one is fine
  EXPECT_EQ(entries(), 1U);
}

TEST_F(OutputFile, RefusesWhatItMayNotWrite) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everything";
  put(path("x"), "precious");
  chmod(path("x").c_str(), 0444);
  EXPECT_EQ(refusal(path("x")), "cannot be written: Permission denied");
  EXPECT_EQ(content(path("x")), "precious");
  fs::create_directory(path("locked"));
  chmod(path("locked").c_str(), 0555);
  EXPECT_EQ(refusal(path("locked/x")),
            "cannot be written in the directory " + path("locked") + ": Permission denied");
}

TEST_F(OutputFile, AFailedWriteLeavesTheOldFileAndNoOther) {
  put(path("x"), "old");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit tiny{.rlim_cur = 4096, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &tiny);
  EXPECT_THROW(write_file(path("x"), std::string(10'000, 'x')), OutputError);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(content(path("x")), "old");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(OutputFile, PassesOverTemporaryFilesThatACrashLeft) {
  const std::string left = path(".reduce-ladder-" + std::to_string(getpid()) + "-0.tmp");
  put(left, "left");
  write_file(path("x"), "text");
  EXPECT_EQ(content(path("x")), "text");
  EXPECT_EQ(content(left), "left");
}

TEST_F(OutputFile, PipesAreWrittenAndStayPipes) {
  const std::string pipe = path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  check_writable(pipe);  // must not wait for a reader
  std::string received;
  std::thread reader([&] { received = content(pipe); });
  write_file(pipe, "text");
  reader.join();
  EXPECT_EQ(received, "text");
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(entries(), 1U);
}

TEST_F(OutputFile, DevicesAreWrittenAndStayDevices) {
  check_writable("/dev/null");
  write_file("/dev/null", "text");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(OutputFile, AFullDeviceIsAnError) {
  check_writable("/dev/full");
  try {
    write_file("/dev/full", "text");
    FAIL() << "/dev/full took it";
  } catch (const OutputError& error) {
    EXPECT_STREQ(error.what(), "/dev/full: cannot be written: No space left on device");
  }
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(OutputFile, StandardOutputByItsNameIsContinuedNotReplaced) {
  for (const std::string& name : {std::string("/dev/stdout"), path("x")}) {
    const int file = open(path("x").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    {
      const Redirection redirection(STDOUT_FILENO, file);
      write_stdout("before\n");
      check_writable(name);
      write_file(name, "json\n");
      write_stdout("after\n");
    }
    close(file);
    EXPECT_EQ(content(path("x")), "before\njson\nafter\n") << name;
    EXPECT_EQ(entries(), 1U);
  }
}

TEST_F(OutputFile, KeepsControlCharactersOfAPathOutOfItsMessages) {
  try {
    check_writable(path("no\n\x1b/x"));
    FAIL() << "there is no such directory";
  } catch (const OutputError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with(path(R"(no\n\x1b/x: )"))) << error.what();
  }
}

TEST_F(OutputFile, StandardStreamsTakeText) {
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    const int file = open(path("x").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    {
      const Redirection redirection(descriptor, file);
      descriptor == STDOUT_FILENO ? write_stdout("text") : write_stderr("text");
    }
    close(file);
    EXPECT_EQ(content(path("x")), "text");
  }
}

TEST_F(OutputFile, AFullOrClosedStandardOutputIsAnError) {
  const int full = open("/dev/full", O_WRONLY);
  {
    const Redirection redirection(STDOUT_FILENO, full);
    EXPECT_THROW(write_stdout("text"), OutputError);
  }
  close(full);
  const Redirection redirection(STDOUT_FILENO, -1);
  EXPECT_THROW(write_stdout("text"), OutputError);
}

TEST_F(OutputFile, AReaderThatWentAwayIsNoError) {
  const auto handler = signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  {
    const Redirection redirection(STDOUT_FILENO, ends[1]);
    EXPECT_NO_THROW(write_stdout("text"));
  }
  close(ends[1]);
  signal(SIGPIPE, handler);
}

TEST_F(OutputFile, ANonBlockingPipeGetsEverything) {
  const std::string text(1'000'000, 'x');
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  fcntl(ends[0], F_SETFL, 0);  // the reader may wait
  std::string received;
  std::thread reader([&] {
    std::string buffer(4096, '\0');
    for (ssize_t got = 1; (got = read(ends[0], buffer.data(), buffer.size())) > 0;) {
      received.append(buffer, 0, static_cast<std::size_t>(got));
    }
  });
  {
    const Redirection redirection(STDOUT_FILENO, ends[1]);
    write_stdout(text);
  }
  close(ends[1]);
  reader.join();
  close(ends[0]);
  EXPECT_EQ(received, text);
}

}  // namespace
}  // namespace reduce_ladder
