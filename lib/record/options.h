// SPDX-License-Identifier: GPL-2.0-only
// What a user asks of `record`, as the recorder takes it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "record/attrs.h"

namespace perf_latency {

struct RecordOptions {
  // Whose tasks: all when none of these is set.
  bool all_cpus = false;    // -a, said explicitly
  std::vector<pid_t> pids;  // -p
  std::vector<pid_t> tids;  // -t
  std::string cgroup;       // -G
  bool only_command = false;
  std::vector<uint32_t> cpus;  // -C; empty: all that are online

  std::vector<std::string> sets;  // -e; empty: the default sets
  CallGraph call_graph = CallGraph::kernel;
  uint32_t stack_dump_bytes = 8192;
  std::string clock;                   // -k; empty: CLOCK_MONOTONIC where reading it is cheap
  std::optional<uint64_t> ring_bytes;  // -m, per CPU

  std::string output = "perf.data";  // "-": stdout, as a pipe
  int level = 1;                     // -z; 0: no compression
  uint64_t max_bytes = 0;            // --max-size; 0: no limit
  bool switch_output = false;        // each trigger, and request_switch(), starts a new file
  uint64_t switch_bytes = 0;
  uint64_t switch_ns = 0;
  uint64_t delay_ns = 0;        // -D
  uint64_t duration_ns = 0;     // 0: until stopped
  bool cache_build_ids = true;  // -B turns it off
  size_t cpus_per_reader = 8;

  std::vector<std::string> cmdline;  // of this program, for the file's header
  std::string version;

  bool restricted_to_tasks() const {
    return !pids.empty() || !tids.empty() || !cgroup.empty() || only_command;
  }
};

// "monotonic", "CLOCK_MONOTONIC_RAW", "boot", … or a number; "perf" is the kernel's own perf clock,
// which has no number (nullopt inside the result).
Result<std::optional<int32_t>> parse_clock(std::string_view name);

// "4M", "512K", "8192B", or a bare number in units of `bare_unit`; overflow and 0 fail.
Result<uint64_t> parse_size(std::string_view text, uint64_t bare_unit);

}  // namespace perf_latency
