// SPDX-License-Identifier: GPL-2.0-only
// Names of code that was made while the program ran: perf-PID.map and jitdump files.
//
// perf-PID.map: "START SIZE NAME" a line, hexadecimal, the name up to the end of the line; a later
// line replaces earlier ones where they overlap. jitdump: binary, either byte order, every function
// with the time from which it is there (tools/perf/Documentation/jitdump-specification.txt and
// tools/perf/util/jitdump.h, 6.12); functions can move and be replaced. Invariant: of the functions
// that hold an address, the last one made before the asked time is meant; where there is none
// (clocks that differ), the last one at all.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "symbolize/file_bytes.h"

namespace perf_latency {

class RuntimeCode {
 public:
  struct Function {
    uint64_t start = 0;
    uint64_t end = 0;
    uint64_t from = 0;  // time, or the number of the line in a map
    std::string_view name;
  };

  static constexpr size_t kMaxFunctions = 4u << 20;

  // Damaged lines and records are stepped over; damaged ends cut the file short.
  static RuntimeCode from_perf_map(FileBytes file);
  static Result<RuntimeCode> from_jitdump(FileBytes file);

  const Function* find(uint64_t address, uint64_t time_ns) const;
  size_t size() const { return functions_.size(); }

 private:
  void finish();

  FileBytes file_;                     // holds the names
  bool has_times_ = false;             // Function::from is a time of the recording's clock
  std::vector<Function> functions_;    // by start
  std::vector<uint64_t> highest_end_;  // of functions_[0 … i]
};

// "…jit-123.dump": the file that a JIT compiler maps to show where its jitdump is.
bool is_jitdump_name(std::string_view path);

}  // namespace perf_latency
