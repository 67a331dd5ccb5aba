// SPDX-License-Identifier: GPL-2.0-only
// The part of CausesReport that makes the table out of the folded rows.
#include <algorithm>

#include "analysis/causes_report.h"
#include "analysis/row_order.h"
#include "base/time.h"

namespace perf_latency {
namespace {

Column column(const char* name, const char* title, CellKind kind, bool in_text = true,
              bool key = false) {
  return Column{name, title, kind, in_text, key};
}

std::string times(uint64_t count) {
  return std::to_string(count) + (count == 1 ? " time" : " times");
}

Cell percentile(const RowStats& stats, double percent) {
  return stats.histogram.count() == 0 ? Cell() : Cell(stats.histogram.percentile(percent));
}

}  // namespace

std::vector<Column> CausesReport::columns() const {
  std::vector<Column> columns;
  const auto key = [&](const char* name, const char* title, CellKind kind, bool in_text = true) {
    columns.push_back(column(name, title, kind, in_text, true));
  };
  if (options().interval_ns != 0) key("interval_start_ns", "From", CellKind::time_ns);
  for (const ReportKey by : by_) {
    switch (by) {
      case ReportKey::cause:
        key("cause", "Cause", CellKind::text);
        key("cause_id", "Id", CellKind::text, false);
        columns.push_back(column("class", "Class", CellKind::text, false));
        break;
      case ReportKey::stack:
        key("stack", "Stack", CellKind::text);
        break;
      case ReportKey::syscall:
        key("syscall", "System call", CellKind::text);
        break;
      case ReportKey::process:
        key("process.comm", "Command", CellKind::text);
        key("process.pid", "Pid", CellKind::number);
        break;
      case ReportKey::thread:
        key("thread.comm", "Command", CellKind::text);
        key("thread.pid", "Pid", CellKind::number);
        key("thread.tid", "Tid", CellKind::number);
        break;
      case ReportKey::cpu:
        key("cpu", "CPU", CellKind::number);
        break;
      case ReportKey::cgroup:
        key("cgroup", "Cgroup", CellKind::text);
        break;
      case ReportKey::waker:
        key("waker.comm", "Waker", CellKind::text);
        key("waker.pid", "Pid", CellKind::number);
        key("waker.tid", "Tid", CellKind::number);
        break;
      case ReportKey::state:
        break;  // the state column below is the key
      case ReportKey::class_:
        if (!needs_key(ReportKey::cause)) key("class", "Class", CellKind::text);
        break;
    }
  }
  const bool by_state = needs_key(ReportKey::state);
  columns.push_back(
      column("state", "State", CellKind::text, by_state || !needs_key(ReportKey::cause), by_state));
  columns.push_back(column("count", "Count", CellKind::count));
  columns.push_back(column("total_ns", "Total", CellKind::duration_ns));
  columns.push_back(column("percent", "%", CellKind::percent));
  columns.push_back(column("mean_ns", "Mean", CellKind::duration_ns));
  columns.push_back(column("max_ns", "Max", CellKind::duration_ns));
  columns.push_back(column("total_low_ns", "At least", CellKind::duration_ns, false));
  columns.push_back(column("total_high_ns", "At most", CellKind::duration_ns, false));
  columns.push_back(column("p50_ns", "p50", CellKind::duration_ns, false));
  columns.push_back(column("p95_ns", "p95", CellKind::duration_ns, false));
  columns.push_back(column("p99_ns", "p99", CellKind::duration_ns, false));
  columns.push_back(column("max_start_ns", "Max at", CellKind::time_ns, false));
  columns.push_back(column("max_tid", "Max tid", CellKind::number, false));
  columns.push_back(column("max_comm", "Max command", CellKind::text, false));
  columns.push_back(column("open", "Open", CellKind::count));
  columns.push_back(column("idle", "Idle", CellKind::boolean, false));
  columns.push_back(column("after_wakeup_ns", "After wakeup", CellKind::duration_ns, false));
  columns.push_back(column("preempted_ns", "Preempted", CellKind::duration_ns, false));
  return columns;
}

Result<void> CausesReport::check_columns() const {
  Table table;
  table.columns = columns();
  return check_column_names(table, options());
}

Row CausesReport::make_row(const FoldedRow& folded, uint64_t all_ns) {
  const RowStats& stats = folded.stats;
  Row row;
  if (options().interval_ns != 0)
    row.cells.emplace_back(folded.part * options().interval_ns +
                           report_.recordings[0].start_ns.value_or(0));
  const bool by_class_twice = needs_key(ReportKey::cause);
  size_t cell = 0;
  for (const ReportKey by : by_) {
    size_t cells = 1;
    if (by == ReportKey::cause || by == ReportKey::thread || by == ReportKey::waker) cells = 3;
    if (by == ReportKey::process) cells = 2;
    const bool shown = by != ReportKey::state && !(by == ReportKey::class_ && by_class_twice);
    for (; cells != 0; --cells, ++cell)
      if (shown) row.cells.push_back(folded.keys[cell]);
  }
  const uint64_t known = stats.histogram.count();
  row.cells.emplace_back(state_letters(stats));
  row.cells.emplace_back(stats.count);
  row.cells.emplace_back(stats.total_ns);
  row.cells.emplace_back(all_ns == 0 ? 0.0
                                     : 100.0 * static_cast<double>(stats.total_ns) /
                                           static_cast<double>(all_ns));
  row.cells.push_back(known == 0 ? Cell() : Cell(stats.known_total_ns / known));
  row.cells.emplace_back(stats.max_ns);
  row.cells.emplace_back(stats.total_ns - stats.uncertain_ns);
  row.cells.emplace_back(stats.total_ns + stats.hidden_ns);
  row.cells.push_back(percentile(stats, 50));
  row.cells.push_back(percentile(stats, 95));
  row.cells.push_back(percentile(stats, 99));
  row.cells.emplace_back(stats.max_start_ns);
  row.cells.push_back(stats.max_tid < 0 ? Cell() : Cell(static_cast<uint64_t>(stats.max_tid)));
  row.cells.emplace_back(folded.max_comm);
  row.cells.emplace_back(stats.open);
  row.cells.emplace_back(uint64_t{folded.idle});
  row.cells.push_back(folded.runnable ? Cell(folded.after_wakeup_ns) : Cell());
  row.cells.push_back(folded.runnable ? Cell(folded.preempted_ns) : Cell());
  row.section = folded.part * 2 + (folded.idle ? 1 : 0);
  // The wait for a CPU is no cause: its one row is always shown.
  row.pinned = folded.runnable && by_.size() == 1 && needs_key(ReportKey::cause);
  for (const auto& [frames, share] : folded.stacks) {
    row.stacks.push_back(share);
    row.stacks.back().frames = frames;
    if (frames.size() > options().max_stack) row.stacks.back().frames.resize(options().max_stack);
  }
  std::stable_sort(row.stacks.begin(), row.stacks.end(),
                   [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
  return row;
}

// With --interval each part of the recording has its own two sections.
std::vector<std::string> CausesReport::section_titles() const {
  constexpr const char* kIdle = "Waiting for work, or by own wish";
  if (options().interval_ns == 0) return {"", kIdle};
  uint32_t parts = 0;
  for (const FoldedRow& row : folded_) parts = std::max(parts, row.part + 1);
  const uint64_t start_ns = report_.recordings[0].start_ns.value_or(0);
  std::vector<std::string> titles;
  for (uint64_t part = 0; part < parts; ++part) {
    const std::string from = format_timestamp(start_ns + part * options().interval_ns);
    titles.push_back("From " + from + " s");
    titles.push_back("From " + from + " s: " + kIdle);
  }
  return titles;
}

Table CausesReport::make_table() {
  Table table;
  table.columns = columns();
  table.sections = section_titles();
  table.with_stacks = options().stacks;
  uint64_t all_ns = 0;
  for (const FoldedRow& row : folded_) all_ns += row.stats.total_ns;
  for (const FoldedRow& row : folded_)
    if (row.stats.count != 0 || row.stats.hidden_ns != 0)
      table.rows.push_back(make_row(row, all_ns));
  order_rows(table, options().sort, SortDefault{.open_first = true});
  show_fields(table, options().fields);
  return table;
}

Report CausesReport::make_report() {
  report_.schema = "perf-latency.report.v1";
  report_.title = options().latencytop ? "Why tasks slept, by the rules of the kernel's latencytop"
                                       : "Why tasks slept";
  for (const FoldedRow& row : folded_) {
    if (!row.runnable || row.stats.count == 0 || !needs_key(ReportKey::cause) || by_.size() != 1 ||
        options().interval_ns != 0)
      continue;
    report_.footer_notes.insert(report_.footer_notes.begin(),
                                "Waiting for a CPU: " + times(row.after_wakeup) +
                                    " after a wakeup, " + format_duration(row.after_wakeup_ns) +
                                    "; " + times(row.preempted) + " preempted, " +
                                    format_duration(row.preempted_ns));
  }
  report_.tables.push_back(make_table());
  if (report_.totals && !options().kernel_threads &&
      report_.totals->excluded_kernel_threads_ns != 0)
    report_.footer_notes.push_back(
        "left out: " + format_duration(report_.totals->excluded_kernel_threads_ns) +
        " of kernel threads (--kernel-threads)");
  return std::move(report_);
}

}  // namespace perf_latency
