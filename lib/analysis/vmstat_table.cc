// SPDX-License-Identifier: GPL-2.0-only
// The part of VmstatReport that makes the table, and the verdicts, out of the folded rows.
#include <algorithm>

#include "analysis/row_order.h"
#include "analysis/vmstat_report.h"
#include "base/range_list.h"
#include "base/time.h"

namespace perf_latency {
namespace {

Column column(const char* name, const char* title, CellKind kind, bool in_text = true,
              bool key = false) {
  return Column{name, title, kind, in_text, key};
}

Cell max_or_null(const RowStats& stats) { return stats.count == 0 ? Cell() : Cell(stats.max_ns); }

// A histogram's part may reach beyond the largest value in it.
Cell percentile(const RowStats& stats, double percent) {
  if (stats.histogram.count() == 0) return {};
  return std::min(stats.histogram.percentile(percent), stats.max_ns);
}

Cell mean_or_null(const RowStats& stats) {
  const uint64_t known = stats.histogram.count();
  return known == 0 ? Cell() : Cell(stats.known_total_ns / known);
}

Cell number_or_null(int64_t number) {
  return number < 0 ? Cell() : Cell(static_cast<uint64_t>(number));
}

std::string times(uint64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

std::vector<Column> VmstatReport::columns() const {
  using enum CellKind;
  std::vector<Column> columns;
  const bool by_task = has(VmstatKey::task);
  const bool by_work = has(VmstatKey::work) && !by_task;
  const bool lines = vmstat_.verdict;
  const auto add = [&](const char* name, const char* title, CellKind kind, bool in_text = true,
                       bool key = false) {
    columns.push_back(column(name, title, kind, in_text && (!lines || key), key));
  };
  if (options().interval_ns != 0) add("interval_start_ns", "From", time_ns, true, true);
  if (lines) columns.push_back(column("verdict", "Verdict", text));
  if (has(VmstatKey::cpu)) add("cpu", "CPU", number, true, true);
  if (lines) columns.push_back(column("why", "Why", text));
  if (by_task) {
    add("task.comm", "Command", text, true, true);
    add("task.pid", "Pid", number, false, true);
    add("task.tid", "Tid", number, true, true);
    add("policy", "Policy", text);
    add("priority", "Priority", text);
  }
  if (by_task || by_work) add("work", by_task ? "By" : "Work", text, true, true);
  if (by_task) {
    add("preemptions", "Preempted", count);
    add("preempted_ns", "Time off CPU", duration_ns);
    add("preempted_mean_ns", "Mean", duration_ns, false);
    add("preempted_max_ns", "Max", duration_ns);
    add("preempted_max_start_ns", "Max at", time_ns);
    add("open", "Still off", count, false);
    add("held_up_ns", "Kept work waiting", duration_ns);
    add("cpus", "CPUs", text, !has(VmstatKey::cpu));
    return columns;
  }
  if (by_work) {
    add("executed", "Executed", count);
    add("total_ns", "Time", duration_ns);
    add("mean_ns", "Mean", duration_ns, false);
    add("max_ns", "Max", duration_ns);
  } else {
    add("isolated", "Isolated", boolean);
    add("nohz_full", "Nohz", boolean);
    add("syncs", "Syncs", count);
    add("sync_ns", "Sync time", duration_ns);
    add("sync_max_ns", "Longest", duration_ns);
    add("sync_max_start_ns", "Longest at", time_ns, false);
  }
  add("queue_delay_max_ns", "Delay max", duration_ns);
  add("queue_delay_p99_ns", "p99", duration_ns);
  add("queue_delay_max_start_ns", "Delay max at", time_ns, false);
  add("never_executed", "Never ran", count);
  add("oldest_pending_ns", "Oldest", duration_ns);
  add("preempted_tasks", "Tasks hit", count);
  add("preemptions", "Times", count, false);
  add("preempted_ns", "For", duration_ns);
  add("preempted_max_ns", "Longest hit", duration_ns, false);
  if (!by_work) {
    add("ticks_stopped", "Ticks stopped", count);
    add("stopped_unsynced", "Unsynced", count);
  }
  add("pending_ns", "In timer", duration_ns);
  add("queued_by.shepherd", "By shepherd", count, by_work);
  add("queued_by.timer", "By timer", count, by_work);
  add("queued_by.stat_refresh", "By refresh", count, by_work);
  add("queued_by.other", "By other", count, by_work);
  add("queued_by.unknown", "By unknown", count, false);
  if (by_work) {
    add("cpus", "CPUs", text, !has(VmstatKey::cpu));
    return columns;
  }
  add("shepherd_runs", "Shepherd", count, false);
  add("other_works", "Other work", count);
  add("other_works_ns", "Other time", duration_ns, false);
  if (!lines) add("verdict", "Verdict", text);
  return columns;
}

Result<void> VmstatReport::check_columns() const {
  for (const std::string& name : options().by)
    if (!parse_vmstat_key(name))
      return make_error("--by: '" + name + "' is none of cpu, task, work");
  if (vmstat_.verdict && (has(VmstatKey::task) || has(VmstatKey::work)))
    return make_error("--verdict is per CPU: it goes with --by cpu only");
  Table table;
  table.columns = columns();
  return check_column_names(table, options());
}

// A CPU that is to be left alone fails when vmstat work ran there, waits there, or was found to be due
// after its tick had stopped.
std::optional<std::string> VmstatReport::verdict(const Folded& row) const {
  if (!row.cpu || !is_isolated(*row.cpu)) return std::nullopt;
  const bool disturbed = row.runs.count != 0 || row.shepherd_runs != 0 || row.never_executed != 0 ||
                         (row.unsynced_known && row.stopped_unsynced != 0);
  return disturbed ? "FAIL" : "PASS";
}

std::string VmstatReport::reasons(const Folded& row) const {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (row.runs.count != 0)
    add(times(row.runs.count, "vmstat sync") + ", the longest " + format_duration(row.runs.max_ns) +
        " at " + format_timestamp(row.runs.max_start_ns));
  if (row.shepherd_runs != 0) add("vmstat_shepherd ran " + times(row.shepherd_runs, "time"));
  if (row.pushes.count != 0)
    add("pushed a task off " + times(row.pushes.count, "time") + ", the longest " + row.worst_push +
        " for " + format_duration(row.pushes.max_ns) + " at " +
        format_timestamp(row.pushes.max_start_ns));
  constexpr uint64_t kWorthTellingNs = 10'000'000;  // longer than any tick
  if (row.worst_delay_ns >= kWorthTellingNs) add(row.worst_delay);
  if (row.never_executed != 0)
    add(times(row.never_executed, "vmstat work item") + " never ran: " + row.worst_pending);
  if (row.unsynced_known && row.stopped_unsynced != 0)
    add("the tick stopped with counters unsynced " + times(row.stopped_unsynced, "time"));
  if (text.empty()) add("no vmstat work in " + format_duration(observed_ns_));
  if (row.timer_pending_ns.value_or(0) != 0)
    add("vmstat_update waits in a timer since " + format_duration(*row.timer_pending_ns));
  if (!row.other_functions.empty()) {
    std::string list;
    for (const auto& [function, count] : row.other_functions)
      list += (list.empty() ? "" : ", ") + function + " " + std::to_string(count);
    add("other work: " + list);
  }
  return text;
}

Row VmstatReport::make_row(const Folded& folded) const {
  Row row;
  const bool by_task = has(VmstatKey::task);
  const bool by_work = has(VmstatKey::work) && !by_task;
  const auto add = [&](auto&& value) {
    row.cells.emplace_back(std::forward<decltype(value)>(value));
  };
  const auto known_if = [](bool known, uint64_t value) { return known ? Cell(value) : Cell(); };
  const auto verdict_cell = [&] {
    const auto judged = verdict(folded);
    return judged ? Cell(*judged) : Cell();
  };
  std::string cpus = format_range_list({folded.cpus.begin(), folded.cpus.end()});
  if (options().interval_ns != 0)
    add(report_.recordings[0].start_ns.value_or(0) + folded.part * options().interval_ns);
  if (vmstat_.verdict) add(verdict_cell());
  if (has(VmstatKey::cpu)) add(folded.cpu ? Cell(uint64_t{*folded.cpu}) : Cell());
  if (vmstat_.verdict) add(reasons(folded));
  if (by_task) {
    add(folded.task.comm);
    add(number_or_null(folded.task.pid));
    add(number_or_null(folded.task.tid));
    add(vmstat_policy(folded.task.prio));
    add(vmstat_priority(folded.task.prio));
  }
  if (by_task || by_work) add(folded.work);
  const RowStats& pushes = folded.pushes;
  if (by_task) {
    add(pushes.count);
    add(pushes.total_ns);
    add(mean_or_null(pushes));
    add(max_or_null(pushes));
    add(pushes.count == 0 ? Cell() : Cell(pushes.max_start_ns));
    add(pushes.open);
    add(folded.held_ns);
    add(std::move(cpus));
    return row;
  }
  if (!by_work) {
    const uint32_t cpu = folded.cpu.value_or(0);
    add(known_if(isolated_known_, uint64_t{isolated_.contains(cpu)}));
    add(known_if(nohz_full_known_, uint64_t{nohz_full_.contains(cpu)}));
  }
  add(folded.runs.count);
  add(folded.runs.total_ns);
  if (by_work) add(mean_or_null(folded.runs));
  add(max_or_null(folded.runs));
  if (!by_work) add(folded.runs.count == 0 ? Cell() : Cell(folded.runs.max_start_ns));
  add(max_or_null(folded.delays));
  add(percentile(folded.delays, 99));
  add(folded.delays.count == 0 ? Cell() : Cell(folded.delays.max_start_ns));
  add(folded.never_executed);
  add(folded.oldest_ns);
  add(uint64_t{folded.pushed_tids.size()});
  add(pushes.count);
  add(pushes.total_ns);
  add(max_or_null(pushes));
  if (!by_work) {
    add(known_if(folded.ticks_known, folded.ticks_stopped));
    add(known_if(folded.unsynced_known, folded.stopped_unsynced));
  }
  add(folded.timer_pending_ns ? Cell(*folded.timer_pending_ns) : Cell());
  for (const uint64_t count : folded.queued) add(count);
  if (by_work) {
    add(std::move(cpus));
    return row;
  }
  add(folded.shepherd_runs);
  add(folded.other_runs.count);
  add(folded.other_runs.total_ns);
  if (!vmstat_.verdict) add(verdict_cell());
  return row;
}

Table VmstatReport::make_table() {
  Table table;
  table.columns = columns();
  for (const auto& [key, row] : rows_) {
    const auto judged = verdict(row);
    failed_ = failed_ || judged == "FAIL";
    if (judged) ++judged_;
    if (!vmstat_.verdict || judged) table.rows.push_back(make_row(row));
  }
  std::vector<SortKey> keys = options().sort;
  if (keys.empty()) {
    if (options().interval_ns != 0) keys.push_back({"interval_start_ns", true});
    if (has(VmstatKey::task)) {
      keys.push_back({"preempted_ns", false});
      keys.push_back({"held_up_ns", false});
    } else if (has(VmstatKey::cpu)) {
      keys.push_back({"cpu", true});
    }
    if (has(VmstatKey::work))
      keys.push_back({has(VmstatKey::task) ? "preemptions" : "total_ns", false});
  }
  order_rows(table, keys, SortDefault{});
  show_fields(table, options().fields);
  return table;
}

Report VmstatReport::make_report() {
  report_.schema = "perf-latency.vmstat-sync.v1";
  report_.title = "Which CPUs were disturbed by vmstat work";
  if (!vmstat_.verdict) {
    const auto list = [](const std::set<uint32_t>& cpus) {
      return cpus.empty() ? std::string("none") : format_range_list({cpus.begin(), cpus.end()});
    };
    if (isolated_known_ || nohz_full_known_)
      report_.header_notes.push_back("isolated: " + list(isolated_) +
                                     (nohz_full_known_ ? "; nohz_full: " + list(nohz_full_) : ""));
  }
  report_.tables.push_back(make_table());
  return std::move(report_);
}

}  // namespace perf_latency
