// SPDX-License-Identifier: GPL-2.0-only
// One wait told step by step: what `explain` found, with names. Data only.
//
// The steps are in order of time and fill the wait without gap or overlap.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/interval_row.h"

namespace perf_latency {

// Who is named in a step: a task, or an interrupt, which has a name ("[timer]") and no tid.
struct StepTask {
  std::string comm;
  int32_t tid = -1;
  int32_t pid = -1;
};

struct ExplainedStep {
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  std::string_view what;         // running, runnable, sleeping, wakeup, idle, unknown
  std::optional<StepTask> task;  // none: not known
  std::optional<uint64_t> cpu;   // running, idle: where; runnable, sleeping: of the switch-out
  char state = 0;                // sleeping
  bool preempted = false;        // runnable: taken off the CPU; else after a wakeup
  bool began_before = false;     // going on when the recording began
  std::string cause;             // sleeping, runnable
  std::string cause_id;
  std::vector<std::string> stack;  // sleeping, innermost first
  std::optional<StepTask> by;      // sleeping: who ended it; preempted: who got the CPU
  uint64_t depth = 0;              // how many wakers lie between the sleeper and this task
};

struct Explanation {
  Explanation() = default;
  Explanation(const Explanation&) = delete;  // `wait` points into its own strings
  Explanation& operator=(const Explanation&) = delete;

  IntervalRow wait;
  PlaceText place;
  std::vector<std::string> frames;
  StepTask task;
  StepTask other;
  std::vector<ExplainedStep> steps;
  // Steps before this time were too many to be kept; 0: all were.
  uint64_t kept_from_ns = 0;
};

}  // namespace perf_latency
