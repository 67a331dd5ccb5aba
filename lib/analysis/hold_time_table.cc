// SPDX-License-Identifier: GPL-2.0-only
// The part of HoldTimeReport that makes tables, notes and lock_stat out of the folded rows.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "analysis/hold_time_report.h"
#include "analysis/row_order.h"
#include "base/time.h"

namespace perf_latency {
namespace {

// Powers of two from the lowest to the highest value, empty ones too, as bpftrace's hist().
std::vector<HistogramBucket> log2_buckets(const Histogram& histogram) {
  std::vector<HistogramBucket> buckets;
  const auto low_of = [](unsigned width) { return width == 0 ? 0 : uint64_t{1} << (width - 1); };
  unsigned next = 0;
  histogram.for_each([&](uint64_t low, uint64_t, uint64_t count) {
    const auto width = static_cast<unsigned>(std::bit_width(low));
    if (buckets.empty()) next = width;
    for (; next <= width; ++next)
      buckets.push_back({low_of(next), next >= 64 ? UINT64_MAX : low_of(next + 1), 0});
    buckets.back().count += count;
  });
  return buckets;
}

LockTime lock_time(uint64_t count, uint64_t min_ns, uint64_t max_ns, uint64_t total_ns) {
  return {count, count == 0 ? 0 : min_ns, max_ns, total_ns};
}

}  // namespace

std::vector<Column> HoldTimeReport::columns() const {
  std::vector<Column> columns = key_columns();
  columns.push_back({"type", "Type", CellKind::text});
  columns.push_back({"how", "Known", CellKind::text, false});
  add_stats_columns(columns);
  columns.push_back({"contended", "Contended", CellKind::count});
  columns.push_back({"wait_total_ns", "Waited", CellKind::duration_ns});
  columns.push_back({"wait_max_ns", "Max wait", CellKind::duration_ns});
  return columns;
}

Result<void> HoldTimeReport::check_columns() const {
  Table table;
  table.columns = columns();
  return check_column_names(table, options());
}

Row HoldTimeReport::make_row(const FoldedRow& folded, uint64_t all_ns) const {
  Row row;
  row.cells = folded.keys;
  std::string types;
  for (const auto& [name, ns] : folded.types) types.append(types.empty() ? "" : ",").append(name);
  row.cells.emplace_back(std::move(types));
  const char* how = folded.exact && folded.contended_periods ? "exact,contended periods"
                    : folded.exact                           ? "exact"
                                                             : "contended periods";
  row.cells.push_back(folded.sums.hold.count == 0 ? Cell() : Cell(std::string(how)));
  RowStats hold = folded.sums.hold;
  hold.open = folded.sums.open;
  add_stats_cells(hold, all_ns, row.cells);
  if (hold.count == 0) {
    // Waited for, but no hold of it can be seen: unknown, not zero.
    const size_t first = row.cells.size() - 11;
    for (size_t i = first; i < row.cells.size() - 1; ++i) row.cells[i] = Cell();
  }
  row.cells.emplace_back(folded.sums.contended);
  row.cells.emplace_back(folded.sums.wait_total_ns);
  row.cells.emplace_back(folded.sums.wait_max_ns);
  if (lock_options().histogram) row.histogram = log2_buckets(hold.histogram);
  return row;
}

Table HoldTimeReport::make_table() {
  Table table;
  table.columns = columns();
  table.with_histogram = lock_options().histogram;
  uint64_t all_ns = 0;
  for (const FoldedRow& row : folded_) all_ns += row.sums.hold.total_ns;
  for (const FoldedRow& row : folded_)
    if (row.sums.hold.count + row.sums.contended + row.sums.open != 0)
      table.rows.push_back(make_row(row, all_ns));
  order_rows(table, options().sort, SortDefault{});
  limit_rows(table, options().limit);
  show_fields(table, options().fields);
  return table;
}

Table HoldTimeReport::make_interval_table() const {
  Table table;
  table.key = "intervals";
  table.title = "Per interval";
  table.columns = {{"start_ns", "From", CellKind::time_ns, true, true},
                   {"acquisitions", "Acquisitions", CellKind::count},
                   {"contended", "Contended", CellKind::count},
                   {"max_hold_ns", "Longest hold", CellKind::duration_ns},
                   {"max_wait_ns", "Longest wait", CellKind::duration_ns},
                   {"flushes", "Flushes", CellKind::count, has_rstat_},
                   {"yields", "Yields", CellKind::count, has_rstat_}};
  const uint64_t start = report_.recordings[0].start_ns.value_or(0);
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    Row& row = table.rows.emplace_back();
    row.cells = {start + i * options().interval_ns, part.acquisitions, part.contended,
                 part.max_hold_ns, part.max_wait_ns};
    row.cells.push_back(has_rstat_ ? Cell(part.flushes) : Cell());
    row.cells.push_back(has_rstat_ ? Cell(part.yields) : Cell());
  }
  return table;
}

Table HoldTimeReport::make_long_table() {
  Table table;
  table.key = "long_holds";
  table.title = "Held for " + format_duration(*lock_options().long_ns) + " or longer";
  table.columns = {
      {"start_ns", "Time", CellKind::time_ns, true, true},
      {"hold_ns", "Held", CellKind::duration_ns},
      {"cpu", "CPU", CellKind::number},
      {"comm", "Command", CellKind::text},
      {"pid", "Pid", CellKind::number, false},
      {"tid", "Tid", CellKind::number},
      {"lock", "Lock", CellKind::text},
      {"type", "Type", CellKind::text, false},
      {"caller", "Caller", CellKind::text},
      {"softirq_delay_ns", "Softirq late", CellKind::duration_ns, has(EventKind::softirq_raise)}};
  table.with_stacks = true;
  table.rows = std::move(long_rows_);
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [](const Row& a, const Row& b) { return a.cells[0] < b.cells[0]; });
  table.left_out.rows = long_holds_dropped_;
  return table;
}

LockStat HoldTimeReport::make_lock_stat() const {
  LockStat stat;
  stat.unknown_columns = unknown_columns_;
  for (const auto& [side, sums] : sides_) {
    if (sums.hold.count + sums.contended == 0) continue;
    if (stat.rows.empty() || stat.rows.back().name != side.name) {
      LockStatRow& row = stat.rows.emplace_back();
      row.name = side.name;
      if (const auto points = points_.find(side.name); points != points_.end())
        for (const auto& [symbol, point] : points->second) row.contention_points.push_back(point);
    }
    LockSide& into = side.read ? stat.rows.back().read : stat.rows.back().write;
    into.wait = lock_time(sums.contended, sums.wait_min_ns, sums.wait_max_ns, sums.wait_total_ns);
    into.hold = lock_time(sums.hold.count, sums.hold_min_ns, sums.hold.max_ns, sums.hold.total_ns);
  }
  std::stable_sort(
      stat.rows.begin(), stat.rows.end(), [](const LockStatRow& a, const LockStatRow& b) {
        return a.write.wait.count + a.read.wait.count > b.write.wait.count + b.read.wait.count;
      });
  for (LockStatRow& row : stat.rows) {
    // The kernel keeps four call sites (LOCKSTAT_POINTS).
    std::stable_sort(row.contention_points.begin(), row.contention_points.end(),
                     [](const LockPoint& a, const LockPoint& b) { return a.count > b.count; });
    if (row.contention_points.size() > 4) row.contention_points.resize(4);
  }
  return stat;
}

Report HoldTimeReport::make_report() {
  report_.schema = "perf-latency.hold-time.v1";
  report_.title = "How long kernel locks were held";
  report_.tables.push_back(make_table());
  if (options().interval_ns != 0) report_.tables.push_back(make_interval_table());
  if (lock_options().long_ns) report_.tables.push_back(make_long_table());
  if (lock_options().lock_stat) report_.lock_stat = make_lock_stat();
  if (contended_only_)
    report_.footer_notes.push_back(
        "holds of locks without lockdep, mmap_lock or rstat events are contended periods only: the "
        "owner had waited itself, and its release woke the next one");
  if (counts_.releases_without_acquire != 0)
    report_.footer_notes.push_back(fmt::format(
        "{} releases of locks that were taken before the recording, or whose taking was lost",
        counts_.releases_without_acquire));
  return std::move(report_);
}

}  // namespace perf_latency
