// SPDX-License-Identifier: GPL-2.0-only
// Records for what runs already: FORK, COMM and MMAP2 of each process and thread, CGROUP of each
// cgroup. Their time is 0: a reader takes them as known from the start.
//
// Order per process: FORK, COMM, MMAP2s, then FORK and COMM of each further thread. Sources: /proc
// (fs/proc/array.c, task_mmu.c) and the cgroup hierarchy that perf events belong to.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "perfdata/writer_bytes.h"

namespace perf_latency {

struct ProcStat {
  uint32_t tid = 0;
  std::string comm;  // as in task_struct: at most 15 bytes, without what /proc adds for workers
  uint32_t parent_pid = 0;
  bool kernel_thread = false;
};
std::optional<ProcStat> parse_proc_stat(std::string_view text);

// Appends MMAP2 records for the executable mappings in the text of /proc/PID/maps.
void append_maps(ByteWriter& out, uint32_t pid, std::string_view maps);

// Gets the records of one process or of all cgroups; returns false to stop.
using RecordSink = std::function<bool(std::span<const std::byte>)>;

// `with_maps` decides per process. False when the sink stopped it.
bool synthesize_tasks(const std::string& proc, const std::function<bool(uint32_t pid)>& with_maps,
                      const RecordSink& sink);

struct CgroupMount {
  std::string directory;
  bool v2 = false;
};
// The hierarchy whose ids PERF_SAMPLE_CGROUP gives: v1's perf_event if mounted, else v2.
std::optional<CgroupMount> perf_cgroup_mount(std::string_view proc_mounts);
bool synthesize_cgroups(const std::string& directory, const RecordSink& sink);

// The threads of a process; empty when it has ended.
std::vector<pid_t> threads_of(const std::string& proc, pid_t pid);

}  // namespace perf_latency
