// SPDX-License-Identifier: GPL-2.0-only
// The command that is recorded: forked early, started when the events are on.
//
// The child waits before exec, so that its pid is known while the events are opened and nothing of it
// is missed. It is forked before any thread or event exists and inherits neither.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace perf_latency::tool {

class Workload {
 public:
  // Fails when there is no such command. `output_to_stderr`: stdout is taken by the recording.
  static Result<Workload> fork(const std::vector<std::string>& command, bool output_to_stderr);
  Workload(Workload&& other) noexcept;
  Workload& operator=(Workload&&) = delete;
  ~Workload();  // a child that was never started is ended

  pid_t pid() const { return pid_; }
  // Lets the child exec; fails when the kernel refuses to run the file.
  Result<void> start();
  // The exit status as a shell gives it (128 + signal); nullopt while it runs.
  std::optional<int> poll();
  // Ends it (SIGTERM) if it still runs, and waits.
  int end();

 private:
  Workload(pid_t pid, int go, int failure) : pid_(pid), go_(go), failure_(failure) {}
  int wait(bool block);

  pid_t pid_;
  int go_;       // closing it unwritten ends the child
  int failure_;  // gets the errno of a failed exec
  std::optional<int> status_;
};

}  // namespace perf_latency::tool
