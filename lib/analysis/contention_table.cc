// SPDX-License-Identifier: GPL-2.0-only
// The part of ContentionReport that makes tables and notes out of the folded rows.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/contention_report.h"
#include "analysis/row_order.h"
#include "base/time.h"

namespace perf_latency {
namespace {

// The entry with the largest time; of equal ones the first name.
std::string largest(const std::map<std::string, uint64_t>& by_name) {
  std::string best;
  uint64_t most = 0;
  for (const auto& [name, ns] : by_name)
    if (ns > most || best.empty()) most = ns, best = name;
  return best;
}

Cell text_or_null(const std::string& text) { return text.empty() ? Cell() : Cell(text); }

std::vector<StackShare> largest_first(const std::map<std::vector<std::string>, StackShare>& from,
                                      uint32_t max_stack) {
  std::vector<StackShare> stacks;
  for (const auto& [frames, share] : from) {
    stacks.push_back(share);
    stacks.back().frames = frames;
    if (frames.size() > max_stack) stacks.back().frames.resize(max_stack);
  }
  std::stable_sort(stacks.begin(), stacks.end(),
                   [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
  return stacks;
}

double share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::vector<Column> ContentionReport::columns() const {
  std::vector<Column> columns = key_columns();
  if (!is_by(LockBy::type)) columns.push_back({"type", "Type", CellKind::text});
  if (is_by(LockBy::lock)) {
    columns.push_back({"address", "Address", CellKind::text, false});
    columns.push_back({"instances", "Instances", CellKind::count, false});
  }
  add_stats_columns(columns);
  const bool holder = lock_options().holder;
  columns.push_back({"spin_ns", "Spinning", CellKind::duration_ns, !holder});
  columns.push_back({"sleep_ns", "Sleeping", CellKind::duration_ns, !holder});
  columns.push_back({"failed", "Failed", CellKind::count, false});
  columns.push_back({"failed_ns", "Failed time", CellKind::duration_ns, false});
  if (!holder && !is_by(LockBy::holder)) return columns;
  columns.push_back({"holder_running_ns", "Running", CellKind::duration_ns});
  columns.push_back({"holder_preempted_ns", "Preempted", CellKind::duration_ns});
  columns.push_back({"holder_sleeping_ns", "Asleep", CellKind::duration_ns});
  columns.push_back({"holder_unknown_ns", "Unknown", CellKind::duration_ns});
  if (!is_by(LockBy::holder)) {
    columns.push_back({"holder.comm", "Holder", CellKind::text});
    columns.push_back({"holder.pid", "Holder pid", CellKind::number, false});
    columns.push_back({"holder.tid", "Tid", CellKind::number});
  }
  columns.push_back({"holder_how", "Known by", CellKind::text, is_by(LockBy::holder)});
  columns.push_back({"holder_cause", "Asleep on", CellKind::text, is_by(LockBy::holder)});
  columns.push_back({"holder_preempted_by", "Preempted by", CellKind::text, is_by(LockBy::holder)});
  return columns;
}

Result<void> ContentionReport::check_columns() const {
  Table table;
  table.columns = columns();
  return check_column_names(table, options());
}

Row ContentionReport::make_row(const FoldedRow& folded, uint64_t all_ns) const {
  const WaitStats& sums = folded.sums;
  Row row;
  row.cells = folded.keys;
  if (!is_by(LockBy::type)) {
    std::string types;
    for (const auto& [name, ns] : folded.types) types.append(types.empty() ? "" : ",").append(name);
    row.cells.emplace_back(std::move(types));
  }
  if (is_by(LockBy::lock)) {
    row.cells.push_back(folded.addresses.size() == 1
                            ? Cell(fmt::format("0x{:x}", folded.addresses.begin()->first))
                            : Cell());
    row.cells.emplace_back(uint64_t{folded.addresses.size()});
  }
  add_stats_cells(sums.stats, all_ns, row.cells);
  row.cells.push_back(sums.phases_known ? Cell(sums.spin_ns) : Cell());
  row.cells.push_back(sums.phases_known ? Cell(sums.sleep_ns) : Cell());
  row.cells.emplace_back(sums.failed);
  row.cells.emplace_back(sums.failed_ns);
  row.stacks = largest_first(folded.stacks, options().max_stack);
  if (!lock_options().holder && !is_by(LockBy::holder)) return row;
  for (const uint64_t ns : sums.holder.ns) row.cells.emplace_back(ns);
  const NamedHolder* main = nullptr;
  std::map<std::string, uint64_t> causes;
  std::map<std::string, uint64_t> preempted_by;
  for (const auto& [id, holder] : folded.holders) {
    if (holder.how == "unknown" && !is_by(LockBy::holder)) continue;
    if (main == nullptr || holder.total_ns > main->total_ns) main = &holder;
    for (const auto& [name, ns] : holder.causes) causes[name] += ns;
    for (const auto& [name, ns] : holder.preempted_by) preempted_by[name] += ns;
  }
  if (!is_by(LockBy::holder)) {
    row.cells.push_back(main == nullptr ? Cell() : Cell(main->comm));
    row.cells.push_back(main == nullptr ? Cell() : main->pid);
    row.cells.push_back(main == nullptr ? Cell() : main->tid);
  }
  row.cells.push_back(main == nullptr ? Cell() : Cell(main->how));
  row.cells.push_back(text_or_null(largest(causes)));
  row.cells.push_back(text_or_null(largest(preempted_by)));
  return row;
}

Table ContentionReport::make_table() {
  Table table;
  table.columns = columns();
  table.with_stacks = options().stacks;
  uint64_t all_ns = 0;
  for (const FoldedRow& row : folded_) all_ns += row.sums.stats.total_ns;
  for (const FoldedRow& row : folded_)
    if (row.sums.stats.count != 0 || row.sums.failed != 0)
      table.rows.push_back(make_row(row, all_ns));
  order_rows(table, options().sort, SortDefault{});
  show_fields(table, options().fields);
  return table;
}

// Row by row in the order of the first table, each holder with its share; release chains under it.
Table ContentionReport::make_holder_table(const Table& rows) const {
  Table table;
  table.key = "holders";
  table.title = "Who held them";
  table.columns = key_columns();
  const size_t keys = table.columns.size();
  for (const Column& column : {Column{"holder.comm", "Holder", CellKind::text, true, true},
                               Column{"holder.pid", "Pid", CellKind::number, false, true},
                               Column{"holder.tid", "Tid", CellKind::number, true, true},
                               Column{"how", "Known by", CellKind::text, true, true},
                               Column{"waits", "Waits", CellKind::count},
                               Column{"total_ns", "Total", CellKind::duration_ns},
                               Column{"holder_running_ns", "Running", CellKind::duration_ns},
                               Column{"holder_preempted_ns", "Preempted", CellKind::duration_ns},
                               Column{"holder_sleeping_ns", "Asleep", CellKind::duration_ns},
                               Column{"holder_unknown_ns", "Unknown", CellKind::duration_ns, false},
                               Column{"cause", "Asleep on", CellKind::text},
                               Column{"preempted_by", "Preempted by", CellKind::text}})
    table.columns.push_back(column);
  table.with_stacks = options().stacks;
  for (const Row& above : rows.rows) {
    const auto row = std::find_if(folded_.begin(), folded_.end(), [&](const FoldedRow& folded) {
      return std::equal(folded.keys.begin(), folded.keys.end(), above.cells.begin());
    });
    if (row == folded_.end()) continue;
    std::vector<const NamedHolder*> holders;
    for (const auto& [id, holder] : row->holders) holders.push_back(&holder);
    std::stable_sort(holders.begin(), holders.end(),
                     [](const auto* a, const auto* b) { return a->total_ns > b->total_ns; });
    constexpr size_t kShown = 5;
    const bool all = options().limit == 0;
    for (size_t i = 0; i < holders.size() && (all || i < kShown); ++i) {
      const NamedHolder& holder = *holders[i];
      Row& line = table.rows.emplace_back();
      line.cells.assign(above.cells.begin(), above.cells.begin() + static_cast<ptrdiff_t>(keys));
      line.cells.emplace_back(holder.comm);
      line.cells.push_back(holder.pid);
      line.cells.push_back(holder.tid);
      line.cells.emplace_back(holder.how);
      line.cells.emplace_back(holder.waits);
      line.cells.emplace_back(holder.total_ns);
      for (const uint64_t ns : holder.ns) line.cells.emplace_back(ns);
      line.cells.push_back(text_or_null(largest(holder.causes)));
      line.cells.push_back(text_or_null(largest(holder.preempted_by)));
      if (options().stacks) line.stacks = largest_first(holder.stacks, options().max_stack);
    }
    for (size_t i = kShown; !all && i < holders.size(); ++i) {
      ++table.left_out.rows;
      table.left_out.total_ns += holders[i]->total_ns;
    }
  }
  return table;
}

void ContentionReport::add_notes() {
  auto& notes = report_.footer_notes;
  const bool with_holders = lock_options().holder || is_by(LockBy::holder);
  uint64_t all = 0;
  for (const uint64_t ns : how_ns_) all += ns;
  if (with_holders) {
    const uint64_t known = all - how_ns_[0];
    notes.push_back(fmt::format(
        "the holder is known for {:.1f} % of the wait time: {:.1f} % exactly, {:.1f} % by the "
        "wakeup "
        "that ended a wait, {:.1f} % by hand-over",
        share(known, all), share(how_ns_[1], all), share(how_ns_[2], all), share(how_ns_[3], all)));
    if (released_ns_ != 0)
      notes.push_back(fmt::format(
          "{:.1f} % of it the lock had been released already, and the waiter was on its way",
          share(released_ns_, all)));
    report_.facts.push_back(
        {"holder_known_percent", "", CellKind::percent, Cell(share(known, all))});
  }
  if (has(EventKind::contention_begin))
    notes.push_back(
        "not visible in these events: spinning for an rwsem, the first waiter of a spinlock, and "
        "acquisitions without waiting");
  if (sources_overlap_)
    notes.push_back(
        "some waits are seen by several kinds of events: rows by lock and by type show "
        "each kind, all others the main one (--type chooses)");
  if (counts_.ends_without_begin + counts_.waits_without_end != 0)
    notes.push_back(
        fmt::format("waits of which only one end is in the recording: {} without the "
                    "beginning, {} without the end; not counted",
                    counts_.ends_without_begin, counts_.waits_without_end));
  report_.facts.push_back(
      {"ends_without_begin", "", CellKind::count, Cell(counts_.ends_without_begin)});
  report_.facts.push_back(
      {"waits_without_end", "", CellKind::count, Cell(counts_.waits_without_end)});
}

Report ContentionReport::make_report() {
  report_.schema = "perf-latency.contention.v1";
  report_.title = "Waits for kernel locks";
  report_.tables.push_back(make_table());
  if (lock_options().holder && !is_by(LockBy::holder))
    report_.tables.push_back(make_holder_table(report_.tables[0]));
  add_notes();
  return std::move(report_);
}

}  // namespace perf_latency
