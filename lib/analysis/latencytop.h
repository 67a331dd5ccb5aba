// SPDX-License-Identifier: GPL-2.0-only
// The kernel's latencytop statistics, rebuilt: /proc/latency_stats and /proc/PID/task/TID/latency.
//
// Rules, with lines of 6.12: kernel/latencytop.c (account_global_scheduler_latency, 128 records;
// __account_scheduler_latency, 32 records a task, no interruptible sleep over 5000 units, none of zero)
// and kernel/sched/stats.c (__update_stats_enqueue_sleeper: ns >> 10, at the enqueue).
// A record is the sleep's first 12 return addresses outside scheduler and lock text. The tables take
// the first distinct records in the order of the wakeups, so it is enough to remember, for each chain,
// when it came first: names, text ranges and the limits are applied at the end.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/stack_names.h"
#include "model/interval.h"
#include "model/thread_table.h"
#include "report/report.h"

namespace perf_latency {

class LatencytopTables {
 public:
  static constexpr size_t kGlobalRecords = 128;  // MAXLR
  static constexpr size_t kTaskRecords = 32;     // LT_SAVECOUNT
  static constexpr size_t kDepth = 12;           // LT_BACKTRACEDEPTH
  static constexpr uint64_t kMaxInterruptibleUnits = 5000;

  void clear() { *this = LatencytopTables(); }

  // A sleep of `ns` that a wakeup ended. False when the kernel would drop it; those are counted.
  bool add(ThreadId thread, StackId stack, bool interruptible, uint64_t ns);

  // Whether a sleep in this chain belongs to the system's table.
  static bool had_mm(StackId stack, StackNames& names);

  // Fills the tables; `diagnostics` gets what the limits dropped.
  LatencyStats make(StackNames& names, const ThreadTable& threads, const StringPool& strings,
                    bool per_task, Diagnostics& diagnostics) const;

  // What latencytop's rules hide, for --vs-latencytop.
  struct Hidden {
    uint64_t over_5ms = 0;
    uint64_t over_5ms_ns = 0;
    uint64_t too_short = 0;
    uint64_t too_short_ns = 0;
    uint64_t no_mm = 0;  // kernel threads, and tasks late in their exit
    uint64_t no_mm_ns = 0;
    uint64_t table_full = 0;
    uint64_t table_full_ns = 0;
    uint64_t no_chain = 0;  // the recording lacks the chain: no rule of the kernel's
    uint64_t no_chain_ns = 0;
    uint64_t kept = 0;
    uint64_t kept_ns = 0;
    uint64_t kept_units = 0;
  };
  Hidden hidden(StackNames& names) const;

 private:
  struct Sum {
    uint64_t first = 0;  // number of the sleep that was the first of this chain
    uint64_t count = 0;
    uint64_t units = 0;
    uint64_t max_units = 0;
    uint64_t ns = 0;
  };
  using Sums = std::unordered_map<StackId, Sum>;
  struct Record {
    std::vector<uint64_t> addresses;
    Sum sum;
  };

  static std::vector<Record> fill(const Sums& sums, StackNames& names, size_t limit, bool needs_mm,
                                  uint64_t& dropped, uint64_t& dropped_ns);

  uint64_t sleeps_ = 0;
  Sums global_;
  std::unordered_map<ThreadId, Sums> tasks_;
  Hidden hidden_;
};

}  // namespace perf_latency
