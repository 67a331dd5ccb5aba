// SPDX-License-Identifier: GPL-2.0-only
// `perf latency report --format timehist`: a line for each run of a thread, as perf sched timehist
// prints them, with the wait beside the chain that caused it.
//
// perf prints, at a switch-out, the wait before the run that just ended beside the chain of the sleep
// that begins. Here the chain is the one of the wait in the same line, the wait is without the
// scheduling delay that stands in its own column, and sleeps that are still open at the end get a line
// of their own ("open" for a run time).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/task_analysis.h"

namespace perf_latency {

class Timehist final : public TaskAnalysis {
 public:
  using Write = std::function<void(std::string_view)>;

  Timehist(const AnalysisOptions& options, CauseTable& causes, Write write);

  Report make_report() override { return std::move(report_); }

 protected:
  void take(const Interval& interval, const TimeSpan& inside, TaskKind kind) override;
  void fold(const RecordingResult& result, const Totals& totals) override;

 private:
  // What a thread did since its last run.
  struct Pending {
    uint64_t wait_ns = 0;
    uint64_t delay_ns = 0;
    StackId stack;
  };

  void print(const Thread& thread, uint64_t time_ns, uint32_t cpu, const Pending& pending,
             uint64_t run_ns, bool open);
  const std::string& chain_text(StackId stack);

  Write write_;
  bool header_printed_ = false;
  std::vector<Pending> pending_;  // by ThreadId
  std::unordered_map<StackId, std::string> chains_;
  std::string line_;
  Report report_;
};

}  // namespace perf_latency
