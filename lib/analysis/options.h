// SPDX-License-Identifier: GPL-2.0-only
// The options that the analysis commands share, already parsed. Durations and times in ns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace perf_latency {

// --time: either absolute, or a part of the recording (needs the file's SAMPLE_TIME).
struct TimeSelection {
  std::optional<uint64_t> start_ns;
  std::optional<uint64_t> stop_ns;
  std::optional<std::pair<double, double>> part;  // 0.1, 0.2 for 10%-20%
};

struct SortKey {
  std::string column;
  bool ascending = false;
};

enum class CallchainMode : uint8_t { none, kernel, user, both };

struct AnalysisOptions {
  // Which threads and CPUs.
  std::vector<uint32_t> pids;
  std::vector<uint32_t> tids;
  std::vector<uint32_t> cpus;
  std::vector<std::string> comms;
  bool kernel_threads = false;
  // Which time.
  TimeSelection time;
  std::optional<std::pair<std::string, std::string>> time_comm;
  uint64_t min_latency_ns = 0;
  uint64_t interval_ns = 0;  // 0: one table
  // What to show.
  std::vector<std::string> by;      // empty: the report's default
  std::vector<SortKey> sort;        // empty: the report's default
  std::vector<std::string> fields;  // empty: the report's default
  uint64_t limit = 0;               // rows; 0: all
  std::string states = "S,D";
  CallchainMode callchain = CallchainMode::none;
  uint32_t max_stack = 127;
  bool stacks = false;  // rows carry their call chains, whatever is printed
  // latencytop
  bool latencytop = false;  // rows by the rules of the kernel's latencytop
  bool latency_stats = false;
  bool per_task = false;
  bool vs_latencytop = false;
  // Symbols.
  std::string symfs;
  std::string vmlinux;
  std::string kallsyms;
  bool inline_frames = false;
  bool source_lines = false;
  bool full_source_path = false;  // with source_lines; else the file's name alone
  // Input.
  bool force = false;
  unsigned jobs = 0;  // 0: as many as help
};

}  // namespace perf_latency
