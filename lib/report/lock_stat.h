// SPDX-License-Identifier: GPL-2.0-only
// What a /proc/lock_stat of version 0.4 holds: waits, holds and call sites of each lock class.
//
// Times are in nanoseconds. Classes stand in the order in which they are to be printed (the
// kernel's is by contentions, most first). What the recording cannot know is 0 here, because the
// format has no null; `unknown_columns` names those columns, so that a caller can say so. Kernel:
// kernel/locking/lockdep_proc.c (6.12), seq_stats() and seq_header().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perf_latency {

struct LockTime {
  uint64_t count = 0;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  uint64_t total_ns = 0;
};

// One side of a class: its write (or only) or its read acquisitions.
struct LockSide {
  uint64_t contention_bounces = 0;
  uint64_t acquisition_bounces = 0;
  LockTime wait;
  LockTime hold;
};

// A call site: where somebody waited, or whom he waited for.
struct LockPoint {
  uint64_t count = 0;
  uint64_t address = 0;
  std::string symbol;  // "do_exit+0x372/0xab0"; empty: the address stands for it
};

struct LockStatRow {
  std::string name;      // of the class, without suffixes
  uint32_t version = 1;  // 2 and more: another class of the same name, printed as NAME#2
  uint32_t subclass = 0;
  LockSide write;
  LockSide read;
  std::vector<LockPoint> contention_points;  // the waiters' call sites
  std::vector<LockPoint> contending_points;  // the holders' call sites
};

struct LockStat {
  std::vector<LockStatRow> rows;
  std::vector<std::string> unknown_columns;  // "acquisitions", "con-bounces", …
};

}  // namespace perf_latency
