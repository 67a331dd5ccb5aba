// SPDX-License-Identifier: GPL-2.0-only
#include "pager.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "config.h"

namespace perf_latency::tool {
namespace {

bool forbidden = false;
pid_t pager_pid = -1;

std::string pager_command() {
  if (const char* own = std::getenv("PERF_PAGER")) return own;
  if (configured_pager()) return *configured_pager();
  if (const char* usual = std::getenv("PAGER")) return usual;
  for (const char* program : {"/usr/bin/pager", "/usr/bin/less"})
    if (::access(program, X_OK) == 0) return program;
  return "";
}

// The end of the output is the end of the pager's input.
void wait_for_pager() {
  std::fflush(stdout);
  std::fflush(stderr);
  ::close(STDOUT_FILENO);
  ::close(STDERR_FILENO);
  int status = 0;
  while (::waitpid(pager_pid, &status, 0) < 0 && errno == EINTR) {
  }
}

[[noreturn]] void run_pager(const std::string& command, int input) {
  ::dup2(input, STDIN_FILENO);
  // Less clears the screen when it starts: not before there is something to show.
  pollfd ready{STDIN_FILENO, POLLIN, 0};
  ::poll(&ready, 1, -1);
  ::setenv("LESS", "FRSX", 0);
  ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
  ::_exit(127);
}

}  // namespace

void forbid_pager() { forbidden = true; }

void start_pager() {
  if (forbidden || pager_pid >= 0 || ::isatty(STDOUT_FILENO) != 1) return;
  const std::string command = pager_command();
  if (command.empty() || command == "cat") return;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  std::fflush(stdout);
  std::fflush(stderr);
  pager_pid = ::fork();
  if (pager_pid < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return;
  }
  if (pager_pid == 0) {
    ::close(ends[1]);
    std::signal(SIGINT, SIG_DFL);
    run_pager(command, ends[0]);
  }
  ::close(ends[0]);
  ::dup2(ends[1], STDOUT_FILENO);
  if (::isatty(STDERR_FILENO) == 1) ::dup2(ends[1], STDERR_FILENO);
  ::close(ends[1]);
  std::signal(SIGINT, SIG_IGN);  // Ctrl-C is for the pager now
  std::atexit(wait_for_pager);
}

}  // namespace perf_latency::tool
