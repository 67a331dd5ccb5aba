// SPDX-License-Identifier: GPL-2.0-only
// The call chains of a report's first table as one weighted profile: what folded, svg, speedscope
// and pprof are made of.
//
// Invariant: the weights add up to the total_ns of the rows. What a row's chains do not cover (no
// chain was recorded, or a limit removed it) stands as one chain "[cause of the row]", or "[no call
// chain]" and "[other call chains]" in a table without causes.
// Equal chains are merged; chains are sorted by their frames, outermost first.
//
// The root frame is the comm of the row where it has one (comm, thread.comm or process.comm). Time
// in which a task waited for a CPU (rows of state R) has "[cause]" or "[waiting for a CPU]" as
// innermost frame, so that it never mixes with sleep in the same function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/report.h"

namespace perf_latency {

struct ProfileStack {
  std::vector<std::string> frames;  // outermost first, the comm above all; raw text
  std::string row_class;            // class of the cause, "" where the table has none
  bool comm_root = false;           // frames[0] is a comm
  bool waiting_for_cpu = false;     // runnable, not asleep
  uint64_t count = 0;
  uint64_t total_ns = 0;
};

std::vector<ProfileStack> stack_profile(const Report& report);

}  // namespace perf_latency
