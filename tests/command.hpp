// Runs a program as a user would, and catches what it says.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace reduce_ladder::testing {

struct Outcome {
  int status = -1;  // exit status, or 128 + the signal that ended it
  std::string out;
  std::string err;
};

inline std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A path in the temporary directory that no other test process uses.
inline std::string temporary_path(const std::string& name) {
  return ::testing::TempDir() + "reduce-ladder-" + std::to_string(getpid()) + "-" + name;
}

// `out_path`, if given, receives standard output instead of Outcome::out.
inline Outcome run_command(const std::string& program, std::vector<std::string> arguments,
                           const std::string& out_path = "") {
  const std::string out = out_path.empty() ? temporary_path("out") : out_path;
  const std::string err = temporary_path("err");
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const int out_file = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int err_file = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (out_file < 0 || err_file < 0) _exit(126);
    dup2(out_file, STDOUT_FILENO);
    dup2(err_file, STDERR_FILENO);
    execv(program.c_str(), argv.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  Outcome outcome;
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.err = read_whole(err);
  unlink(err.c_str());
  if (out_path.empty()) {
    outcome.out = read_whole(out);
    unlink(out.c_str());
  }
  return outcome;
}

}  // namespace reduce_ladder::testing
