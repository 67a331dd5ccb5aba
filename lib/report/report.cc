// SPDX-License-Identifier: GPL-2.0-only
#include "report/report.h"

namespace perf_latency {

void Totals::merge(const Totals& other) {
  threads += other.threads;
  switches += other.switches;
  thread_time_ns += other.thread_time_ns;
  running_ns += other.running_ns;
  sleeping_ns += other.sleeping_ns;
  // Where one recording cannot tell waiting from sleeping, the sum of both cannot either.
  if (runnable_ns && other.runnable_ns) {
    *runnable_ns += *other.runnable_ns;
  } else {
    sleeping_ns += runnable_ns.value_or(0) + other.runnable_ns.value_or(0);
    runnable_ns.reset();
  }
  hidden_ns += other.hidden_ns;
  unknown_ns += other.unknown_ns;
  excluded_kernel_threads_ns += other.excluded_kernel_threads_ns;
}

void Report::add_frames(uint64_t total, const UnknownFrames& unknown) {
  frames_total += total;
  for (const auto& [reason, count] : unknown) {
    frames_unknown += count;
    frames_unknown_why[reason] += count;
  }
}

}  // namespace perf_latency
