// SPDX-License-Identifier: GPL-2.0-only
// Finds the files that name code made at run time by a process.
//
// The jitdump that the process mapped; perf-PID.map in /tmp (below symfs), or, for a process that
// still runs, in its own mount namespace under its own pid namespace's number. Files that belong
// neither to us nor to root are not used: anyone can write to /tmp (tools/perf/util/symbol.c
// symbol__is_filename_owned(), 6.12).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "symbolize/runtime_code.h"
#include "symbolize/symbolizer.h"

namespace perf_latency {

struct OpenCode {
  std::string path;
  RuntimeCode functions;
};

// In the order in which they should be asked.
std::vector<OpenCode> open_runtime_code(const SymbolizerOptions& options, int32_t pid,
                                        std::string_view jitdump);

}  // namespace perf_latency
