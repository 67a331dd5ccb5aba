// SPDX-License-Identifier: GPL-2.0-only
// The options that the lock reports share.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "analysis/lock_analysis.h"
#include "analysis_command.h"

namespace perf_latency::tool {

class LockCommand {
 public:
  LockCommand(const std::string& name, const std::string& help, std::vector<Format> formats)
      : command_(name, help, std::move(formats)) {
    command_.app().add_option("--type", types_, "Lock types as perf lock names them (a list)");
    command_.app().add_option("-k,--key", command_keys_, "Sort keys, as in perf lock");
    command_.app()
        .add_option("--callchain", callchain_, "Call chains under each row")
        ->expected(0, 1);
  }

  AnalysisCommand& command() { return command_; }
  LockOptions& lock_options() { return lock_options_; }

  // Parses and checks; -1 to go on, else the exit status. `allowed` are the report's --by keys.
  int parse(int argc, char** argv, std::initializer_list<LockBy> allowed);

 private:
  AnalysisCommand command_;
  LockOptions lock_options_;
  std::string types_;
  std::string command_keys_;
  std::string callchain_;
};

// --type: adds the types of a list of names ("rwsem" is both sides); -1 to go on, else the exit status.
int parse_lock_types(const std::string& list, std::vector<LockType>& types);

// One line on stderr about columns of /proc/lock_stat that a recording cannot know.
void complain_about_unknown(const std::vector<std::string>& columns);

}  // namespace perf_latency::tool
