// SPDX-License-Identifier: GPL-2.0-only
// The options that the lock reports share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analysis/lock_analysis.h"
#include "analysis_command.h"

namespace perf_latency::tool {

class LockCommand {
 public:
  LockCommand(const std::string& name, const std::string& help, std::vector<Format> formats)
      : name_(name), command_(name, help, std::move(formats)) {
    command_.app().add_option("--type", types_, "Lock types as perf lock names them (a list)");
    command_.app().add_option("-k,--key", command_keys_, "Sort keys, as in perf lock");
    command_.app()
        .add_option("--callchain", callchain_, "Call chains under each row")
        ->expected(0, 1);
  }

  AnalysisCommand& command() { return command_; }
  LockOptions& lock_options() { return lock_options_; }

  // Parses and checks; -1 to go on, else the exit status.
  int parse(int argc, char** argv);

 private:
  std::string name_;
  AnalysisCommand command_;
  LockOptions lock_options_;
  std::string types_;
  std::string command_keys_;
  std::string callchain_;
};

// One line on stderr about columns of /proc/lock_stat that a recording cannot know.
void complain_about_unknown(const std::vector<std::string>& columns);

}  // namespace perf_latency::tool
