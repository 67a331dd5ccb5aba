// SPDX-License-Identifier: GPL-2.0-only
// A whole report: what was recorded, the account of thread time, the tables and the diagnostics.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/diagnostics.h"
#include "report/lock_stat.h"
#include "report/table.h"

namespace perf_latency {

// What a recording is (the "recording" object of the JSON). Times in ns of the recording's clock.
struct RecordingInfo {
  std::string path;
  std::string hostname;
  std::string os_release;
  std::string arch;
  uint64_t cpus = 0;
  std::vector<std::string> cmdline;
  std::optional<uint64_t> start_ns;  // of the first sample
  std::optional<uint64_t> end_ns;    // of the last sample
  uint64_t samples = 0;
  uint64_t lost = 0;
  bool complete = true;                                  // false for killed and cut files
  std::vector<std::pair<std::string, uint64_t>> events;  // samples of each event, by its name
};

// Where the threads' time went. The parts add up to thread_time_ns.
struct Totals {
  uint64_t threads = 0;
  uint64_t switches = 0;
  uint64_t thread_time_ns = 0;
  uint64_t running_ns = 0;
  uint64_t sleeping_ns = 0;
  std::optional<uint64_t> runnable_ns;      // none: not known apart from sleeping
  uint64_t hidden_ns = 0;                   // lost events make it unknowable
  uint64_t unknown_ns = 0;                  // the start of a wait for a CPU is not known
  uint64_t excluded_kernel_threads_ns = 0;  // sleeping and waiting of kernel threads left out

  // Adds another recording's account.
  void merge(const Totals& other);

  double accounted_percent() const {
    if (thread_time_ns == 0) return 100.0;
    return 100.0 * static_cast<double>(thread_time_ns - hidden_ns - unknown_ns) /
           static_cast<double>(thread_time_ns);
  }
};

// A record of the kernel's latencytop files: /proc/latency_stats and /proc/PID/task/TID/latency.
// Units are latencytop's: 1024 ns.
struct LatencyRecord {
  uint64_t count = 0;
  uint64_t total_units = 0;
  uint64_t max_units = 0;
  std::vector<std::string> frames;  // innermost first, at most 12
};
struct TaskLatencyRecords {
  int32_t pid = 0;
  int32_t tid = 0;
  std::string comm;
  std::vector<LatencyRecord> records;
};
struct LatencyStats {
  std::vector<LatencyRecord> global;      // in the order of the kernel's file
  std::vector<TaskLatencyRecords> tasks;  // filled with --per-task
  bool per_task = false;
};

// A named value beside the tables: a cell, a list, or a small object ("records": {"SAMPLE": 5}).
struct Fact {
  std::string key;    // the JSON key
  std::string title;  // its name in text; "" = not in text
  CellKind kind = CellKind::text;
  std::variant<Cell, std::vector<std::string>, std::vector<std::pair<std::string, Cell>>> value;
};

// Frames without a name by reason, in words for people.
using UnknownFrames = std::map<std::string, uint64_t>;

struct Report {
  std::string schema;  // "perf-latency.report.v1"
  std::string title;   // a line for people: what this report answers
  std::vector<RecordingInfo> recordings;
  std::vector<std::pair<std::string, std::string>> filters;  // option name without dashes, value
  std::optional<Totals> totals;                              // none: not known, all null in JSON
  bool with_totals = true;  // false: a report that has no account (info, causes)
  std::vector<Fact> facts;  // JSON: keys of the top object, after "totals"
  std::vector<Table> tables;
  std::vector<std::string> header_notes;  // lines of text under the account
  std::vector<std::string> footer_notes;  // lines of text at the end
  std::optional<LatencyStats> latency_stats;
  std::optional<LockStat> lock_stat;
  Diagnostics diagnostics;
  uint64_t frames_total = 0;    // frames that were to be named
  uint64_t frames_unknown = 0;  // of those, without a name
  UnknownFrames frames_unknown_why;
  bool partial = false;  // interrupted: what was found so far

  // Adds frames that were to be named, and those of them that were not.
  void add_frames(uint64_t total, const UnknownFrames& unknown);
};

}  // namespace perf_latency
