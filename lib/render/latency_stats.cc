// SPDX-License-Identifier: GPL-2.0-only
// latencytop's own files, as the kernel prints them (kernel/latencytop.c, lstats_show(); for tasks
// fs/proc/base.c, lstats_show_proc(); 6.12): a version line, then "count total max frame frame …".
//
// The global table is what /proc/latency_stats would have held. With --per-task there is a block
// for each task instead, blocks apart by an empty line, each headed by a line that names the file
// and the task:
//   # /proc/PID/task/TID/latency COMM
//   Latency Top version : v0.1
//   2 61859 51731 rcu_gp_kthread kthread ret_from_fork ret_from_fork_asm
#include <fmt/format.h>

#include "render/escape.h"
#include "render/formats.h"

namespace perf_latency {
namespace {

void append_records(std::string& out, const std::vector<LatencyRecord>& records) {
  out += "Latency Top version : v0.1\n";
  for (const LatencyRecord& record : records) {
    out += fmt::format("{} {} {}", record.count, record.total_units, record.max_units);
    for (const std::string& frame : record.frames) {
      out += ' ';
      append_terminal_text(out, frame);
    }
    out += '\n';
  }
}

}  // namespace

void render_latency_stats(const LatencyStats& stats, std::string& out) {
  if (!stats.per_task) {
    append_records(out, stats.global);
    return;
  }
  for (const TaskLatencyRecords& task : stats.tasks) {
    if (&task != &stats.tasks.front()) out += '\n';
    out += fmt::format("# /proc/{}/task/{}/latency ", task.pid, task.tid);
    append_terminal_text(out, task.comm);
    out += '\n';
    append_records(out, task.records);
  }
}

}  // namespace perf_latency
