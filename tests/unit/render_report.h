// SPDX-License-Identifier: GPL-2.0-only
// A small report that the tests of the renderers share.
#pragma once

#include <limits>
#include <string>

#include "render/render.h"

namespace perf_latency::render_test {

inline constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

inline Table cause_table() {
  Table table;
  table.sections = {"", "Waiting for work"};
  table.columns = {{"cause", "cause", CellKind::text, true, true},
                   {"cause_id", "id", CellKind::text, false, true},
                   {"class", "class", CellKind::text, true},
                   {"state", "state", CellKind::text, false},
                   {"count", "count", CellKind::count},
                   {"total_ns", "total", CellKind::duration_ns},
                   {"mean_ns", "mean", CellKind::duration_ns},
                   {"max_ns", "max", CellKind::duration_ns},
                   {"share", "share", CellKind::percent},
                   {"max_start_ns", "at", CellKind::time_ns, false},
                   {"max_tid", "tid", CellKind::number, false},
                   {"max_comm", "comm", CellKind::text, false}};
  const auto row = [&](std::string cause, std::string id, std::string row_class, std::string state,
                       uint64_t count, uint64_t total, Cell mean, uint64_t max, double share,
                       uint32_t section) {
    Row& r = table.rows.emplace_back();
    r.section = section;
    r.cells = {cause,     id,         row_class, state, count,
               total,     mean,       max,       share, Cell(1'500'000'000u),
               Cell(82u), Cell("cat")};
  };
  row("Reading from a disk", "disk-read", "disk", "D", 3, 6'000'000, uint64_t{2'000'000}, 4'500'000,
      60.0, 0);
  row("sync: jbd2_log_wait_commit", "", "other", "D", 1, 1'000'000, Cell(), 1'000'000, 10.0, 0);
  row("Waiting for a CPU", "cpu", "cpu", "R", 12, 40'000, uint64_t{3'333}, 9'999, 0.4, 0);
  row("Sleeping for a set time", "nanosleep", "idle", "S", 2, 2'100'000'000,
      uint64_t{1'050'000'000}, 2'000'000'000, 29.6, 1);
  return table;
}

inline void add_stacks(Table& table) {
  table.with_stacks = true;
  table.rows[0].stacks = {
      {2, 4'500'000, 4'500'000, {"io_schedule", "filemap_read", "vfs_read", "do_syscall_64"}},
      {1, 1'000'000, 1'000'000, {"io_schedule", "filemap_fault", "asm_exc_page_fault"}}};
  table.rows[0].stacks_left_out = 1;
  table.rows[2].stacks = {
      {12, 40'000, 9'999, {"io_schedule", "filemap_read", "vfs_read", "do_syscall_64"}}};
}

inline Report cause_report() {
  Report report;
  report.schema = "perf-latency.report.v1";
  report.title = "Why tasks slept";
  RecordingInfo recording;
  recording.path = "perf.data";
  recording.hostname = "vm1";
  recording.os_release = "6.12.117";
  recording.arch = "x86_64";
  recording.cpus = 4;
  recording.cmdline = {"perf", "latency", "record", "--", "sh", "-c", "cat big file"};
  recording.start_ns = 1'000'000'000;
  recording.end_ns = 3'500'000'000;
  recording.samples = 345;
  recording.lost = 7;
  report.recordings = {recording};
  report.filters = {{"comm", "cat"}};
  Totals totals;
  totals.threads = 5;
  totals.switches = 18;
  totals.thread_time_ns = 10'000'000'000;
  totals.running_ns = 1'210'000'000;
  totals.sleeping_ns = 7'100'000'000;
  totals.runnable_ns = 1'688'000'000;
  totals.hidden_ns = 2'000'000;
  totals.excluded_kernel_threads_ns = 9'000'000;
  report.totals = totals;
  report.tables = {cause_table()};
  report.footer_notes = {"kernel threads are left out: 9.000 ms"};
  report.diagnostics.add_detail(Diag::lost_records, "CPU 3 at 1.250000", 7);
  report.diagnostics.add(Diag::woken_before_switch, 2);
  return report;
}

inline std::string rendered(const Report& report, Format format,
                            const RenderOptions& options = {}) {
  std::string out;
  return render(report, format, options, out) ? out : "render failed";
}

}  // namespace perf_latency::render_test
