// SPDX-License-Identifier: GPL-2.0-only
// The command line of `perf latency record`.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "record/options.h"

namespace perf_latency::tool {

struct RecordCommandLine {
  RecordOptions options;
  std::vector<std::string> command;
  bool list = false;
  bool quiet = false;
};

// What is to be printed instead of recording: help, or what is wrong with the command line.
struct RecordUsage {
  std::string text;
  bool is_error = false;
};

std::variant<RecordCommandLine, RecordUsage> parse_record_command_line(int argc, char** argv);

}  // namespace perf_latency::tool
