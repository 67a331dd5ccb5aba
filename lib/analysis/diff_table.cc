// SPDX-License-Identifier: GPL-2.0-only
// The part of Diff that makes the table and the notes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/diff.h"
#include "analysis/row_order.h"

namespace perf_latency {
namespace {

constexpr const char* kIdleSection = "Waiting for work, or by own wish";

Cell number_cell(const std::optional<double>& value) {
  constexpr double kMaxExact = 9e15;
  if (!value) return {};
  if (*value >= 0 && *value < kMaxExact && *value == std::floor(*value))
    return static_cast<uint64_t>(*value);
  return *value;
}

Cell double_cell(const std::optional<double>& value) { return value ? Cell(*value) : Cell(); }

Cell flag_cell(const std::optional<bool>& value) { return value ? Cell(uint64_t{*value}) : Cell(); }

std::string plural(size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// "total_ns" -> "total time", for the title.
std::string measure_text(std::string_view name) {
  if (name == "total_ns") return "total time";
  if (name == "wait_total_ns") return "total time of waiting";
  if (name.ends_with("_ns")) name.remove_suffix(3);
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

}  // namespace

// The measure that is shown stands before the others.
std::vector<size_t> Diff::shown_first() const {
  const auto name = shown_measure();
  std::vector<size_t> order;
  if (name) order.push_back(measure_index(*name));
  for (size_t m = 0; m < measures_.size(); ++m)
    if (order.empty() || m != order[0]) order.push_back(m);
  return order;
}

Table Diff::columns() const {
  Table table;
  if (has_idle_) table.sections = {"", kIdleSection};
  table.columns = keys_;
  for (Column& column : table.columns)
    if (column.name == "cause_id") column.in_text = false;
  table.columns.push_back({"status", "Status", CellKind::text, false});
  table.columns.push_back({"marked", "Marked", CellKind::boolean, false});
  bool shown = true;
  for (const size_t m : shown_first()) {
    const DiffMeasure& measure = *measures_[m];
    const std::string name = measure.name;
    const auto add = [&](const char* part, const char* title, CellKind kind, bool in_text) {
      table.columns.push_back({name + "." + part, title, kind, in_text});
    };
    add("before", "Before", measure.kind, shown);
    add("before_stddev_percent", "\u00b1 %", CellKind::number, shown && paths_[0].size() > 1);
    add("change_percent", "Change", CellKind::change_percent, shown);
    add("after", "After", measure.kind, shown);
    add("after_stddev_percent", "\u00b1 %", CellKind::number, shown && paths_[1].size() > 1);
    add("marked", "Marked", CellKind::boolean, false);
    add("p_value", "p", CellKind::number, false);
    if (shown) table.columns.push_back({"mark", "", CellKind::text});
    shown = false;
  }
  return table;
}

Row Diff::make_row(const ComparedRow& compared) const {
  Row row;
  row.section = compared.entry->section;
  row.cells = compared.entry->keys;
  const std::vector<size_t> order = shown_first();
  const char* status = compared.entry->runs[0].empty()   ? "new"
                       : compared.entry->runs[1].empty() ? "gone"
                                                         : "both";
  const std::optional<bool> marked = compared.measures[order[0]].marked;
  row.cells.emplace_back(std::string(status));
  row.cells.push_back(flag_cell(marked));
  for (const size_t m : order) {
    const Comparison& comparison = compared.measures[m];
    row.cells.push_back(number_cell(comparison.sides[0].mean));
    row.cells.push_back(double_cell(comparison.sides[0].stddev_percent));
    row.cells.push_back(double_cell(comparison.change_percent));
    row.cells.push_back(number_cell(comparison.sides[1].mean));
    row.cells.push_back(double_cell(comparison.sides[1].stddev_percent));
    row.cells.push_back(flag_cell(comparison.marked));
    row.cells.push_back(double_cell(comparison.p));
    if (m != order[0]) continue;
    std::string mark = marked.value_or(false) ? "*" : "";
    if (std::string_view(status) != "both") mark += (mark.empty() ? "" : " ") + std::string(status);
    row.cells.emplace_back(std::move(mark));
  }
  return row;
}

// Marked rows first, then by how much the shown measure differs.
void Diff::sort_rows(std::vector<ComparedRow>& rows) const {
  const size_t shown = shown_first()[0];
  const auto difference = [&](const ComparedRow& row) {
    const auto& sides = row.measures[shown].sides;
    return std::fabs(sides[1].mean.value_or(0) - sides[0].mean.value_or(0));
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const ComparedRow& a, const ComparedRow& b) {
    if (a.entry->section != b.entry->section) return a.entry->section < b.entry->section;
    const bool a_marked = a.measures[shown].marked.value_or(false);
    const bool b_marked = b.measures[shown].marked.value_or(false);
    if (a_marked != b_marked) return a_marked;
    return difference(a) > difference(b);
  });
}

std::string Diff::unit_text() const {
  if (options_.per == DiffPer::second) return "per second of recording";
  if (options_.per == DiffPer::event) return "per event " + options_.event;
  return "per recording";
}

void Diff::add_notes(Report& report, size_t tested, size_t left_out) const {
  auto& notes = report.footer_notes;
  const DiffMeasure& shown = *measures_[shown_first()[0]];
  if (!has_noise())
    notes.push_back(
        "with one recording on a side nothing is known about the noise: no change is marked");
  else if (shown.noise == DiffMeasure::Noise::unknown)
    notes.push_back(fmt::format("no claim is made about '{}': it depends on single intervals",
                                measure_text(shown.name)));
  else
    notes.push_back(fmt::format(
        "*: the change is larger than the noise of {} and {} recordings (Welch's test; the chance "
        "of any mark among {} where nothing has changed is at most {} %)",
        paths_[0].size(), paths_[1].size(), plural(tested, "row"), 100 * kDiffAlpha));
  if (left_out != 0)
    notes.push_back(plural(left_out, "row") + " without a mark left out (--marked)");
  if (filters_differ_) notes.push_back("the reports were made with different filters");
  for (const std::string& path : limited_)
    notes.push_back("rows are missing in the report of " + path + " (--limit)");
}

Report Diff::make_report() const {
  PL_CHECK(!paths_[0].empty() && !paths_[1].empty());
  Report report;
  report.schema = "perf-latency.diff.v1";
  const DiffMeasure& shown = *measures_[shown_first()[0]];
  report.title =
      fmt::format("Before and after: {}{}{}", measure_text(shown.name),
                  shown.per ? " " : ", mean of the recordings", shown.per ? unit_text() : "");
  report.recordings = recordings_;
  report.with_totals = false;
  report.diagnostics = diagnostics_;
  report.partial = partial_;
  report.facts.push_back({"of", "", CellKind::text, Cell(schema_)});
  report.facts.push_back({"per", "", CellKind::text,
                          Cell(std::string(options_.per == DiffPer::run      ? "run"
                                           : options_.per == DiffPer::second ? "second"
                                                                             : options_.event))});
  report.facts.push_back({"before", "before", CellKind::text, paths_[0]});
  report.facts.push_back({"after", "after", CellKind::text, paths_[1]});

  std::vector<ComparedRow> rows = compare_all();
  const size_t all = rows.size();
  const size_t measure = shown_first()[0];
  const auto tested =
      static_cast<size_t>(std::count_if(rows.begin(), rows.end(), [&](const ComparedRow& row) {
        return row.measures[measure].p.has_value();
      }));
  if (options_.marked_only)
    std::erase_if(rows, [&](const ComparedRow& row) {
      return !row.measures[measure].marked.value_or(false);
    });
  sort_rows(rows);
  Table& table = report.tables.emplace_back(columns());
  for (const ComparedRow& row : rows) table.rows.push_back(make_row(row));
  if (!options_.sort.empty()) order_rows(table, options_.sort, {});
  show_fields(table, options_.fields);
  add_notes(report, tested, all - rows.size());
  return report;
}

}  // namespace perf_latency
