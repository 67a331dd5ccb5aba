// SPDX-License-Identifier: GPL-2.0-only
#include "workload.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace perf_latency::tool {

namespace {

bool is_executable_file(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

// As execvp() looks for it.
bool command_exists(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_executable_file(name);
  const char* path = std::getenv("PATH");
  std::istringstream in(path ? path : "/usr/local/bin:/bin:/usr/bin");
  for (std::string directory; std::getline(in, directory, ':');)
    if (is_executable_file((directory.empty() ? "." : directory) + "/" + name)) return true;
  return false;
}

[[noreturn]] void run_child(const std::vector<std::string>& command, int go, int failure) {
  char byte = 0;
  ssize_t n = 0;
  do {
    n = ::read(go, &byte, 1);
  } while (n < 0 && errno == EINTR);
  if (n != 1) ::_exit(0);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  const int error = errno;
  if (::write(failure, &error, sizeof error) != sizeof error) ::_exit(126);
  ::_exit(127);
}

}  // namespace

Result<Workload> Workload::fork(const std::vector<std::string>& command, bool output_to_stderr) {
  if (!command_exists(command.front())) return make_error("command not found: " + command.front());
  int go[2] = {-1, -1}, failure[2] = {-1, -1};
  if (::pipe2(go, O_CLOEXEC) != 0 || ::pipe2(failure, O_CLOEXEC) != 0)
    return make_error(std::string("cannot create a pipe: ") + std::strerror(errno));
  const pid_t pid = ::fork();
  if (pid < 0) return make_error(std::string("cannot fork: ") + std::strerror(errno));
  if (pid == 0) {
    ::close(go[1]);
    ::close(failure[0]);
    if (output_to_stderr) ::dup2(STDERR_FILENO, STDOUT_FILENO);
    run_child(command, go[0], failure[1]);
  }
  ::close(go[0]);
  ::close(failure[1]);
  return Workload(pid, go[1], failure[0]);
}

Workload::Workload(Workload&& other) noexcept
    : pid_(other.pid_), go_(other.go_), failure_(other.failure_), status_(other.status_) {
  other.pid_ = -1;
  other.go_ = other.failure_ = -1;
}

Workload::~Workload() {
  if (go_ >= 0) ::close(go_);
  if (failure_ >= 0) ::close(failure_);
  if (pid_ > 0 && !status_) wait(true);
}

Result<void> Workload::start() {
  const char byte = 1;
  const bool told = ::write(go_, &byte, 1) == 1;
  ::close(go_);
  go_ = -1;
  // The pipe closes by itself when exec succeeds.
  int error = told ? 0 : EPIPE;
  if (told && ::read(failure_, &error, sizeof error) <= 0) error = 0;
  ::close(failure_);
  failure_ = -1;
  if (error == 0) return {};
  return make_error(std::string("cannot run the command: ") + std::strerror(error));
}

int Workload::wait(bool block) {
  int status = 0;
  pid_t pid = 0;
  do {
    pid = ::waitpid(pid_, &status, block ? 0 : WNOHANG);
  } while (pid < 0 && errno == EINTR);
  if (pid == pid_)
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  else if (pid < 0)
    status_ = 1;
  return status_.value_or(0);
}

std::optional<int> Workload::poll() {
  if (!status_) wait(false);
  return status_;
}

int Workload::end() {
  if (!poll()) {
    ::kill(pid_, SIGTERM);
    wait(true);
  }
  return *status_;
}

}  // namespace perf_latency::tool
