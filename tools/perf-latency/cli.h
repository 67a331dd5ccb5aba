// SPDX-License-Identifier: GPL-2.0-only
// What all commands share on the command line: parsing with perf's exit status, messages, output.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace perf_latency::tool {

// Parses; returns -1 to go on, else the exit status (help printed, or one line about what is wrong).
int parse_command_line(CLI::App& app, int argc, char** argv);

// "perf latency: WHAT" on stderr, safe for a terminal.
void complain(std::string_view what);
// "perf latency: FILE: what (offset N)"
void complain_about_file(std::string_view file, const Error& error);

// Writes to a file or standard output; a broken pipe ends the program quietly, as SIGPIPE does.
class Output {
 public:
  Output() = default;
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // "" or "-": standard output.
  Result<void> open(const std::string& path);
  Result<void> write(std::string_view text);
  Result<void> close();
  bool is_terminal() const;
  // What is written from now on is for people to read: through the pager where it is a terminal.
  void page();

 private:
  int fd_ = 1;
  bool owned_ = false;
};

// Columns of the terminal; 0 when standard output is none.
unsigned terminal_width();

}  // namespace perf_latency::tool
