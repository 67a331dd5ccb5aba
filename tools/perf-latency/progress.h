// SPDX-License-Identifier: GPL-2.0-only
// How far a long input has been read: a line on a terminal, gone when the input is done.
//
//   perf.data: [=============>               ]  46 %  1.2 of 2.6 GB  310.5 MB/s  5 s left
// Nothing for inputs that take less than kFirstAfter, and nothing where standard error is no terminal.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace perf_latency::tool {

class Progress {
 public:
  Progress(std::string input, bool wanted);
  ~Progress();  // removes the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `all` bytes: 0 when nobody knows (a pipe).
  void update(uint64_t done, uint64_t all);

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kFirstAfter{1000};
  static constexpr std::chrono::milliseconds kEvery{100};

  std::string input_;
  bool wanted_;
  bool shown_ = false;
  Clock::time_point start_;
  Clock::time_point next_;
};

// The line, no wider than `width` columns (for a test to look at, and for update()).
std::string progress_line(const std::string& input, uint64_t done, uint64_t all, double seconds,
                          unsigned width);

}  // namespace perf_latency::tool
