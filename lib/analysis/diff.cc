// SPDX-License-Identifier: GPL-2.0-only
// The part of Diff that matches rows and compares them; diff_table.cc makes the table.
#include "analysis/diff.h"

#include <algorithm>
#include <cmath>

#include "analysis/welch.h"
#include "symbolize/names.h"

namespace perf_latency {
namespace {

using Merge = DiffMeasure::Merge;
using Noise = DiffMeasure::Noise;

constexpr DiffMeasure kMeasures[] = {
    {"total_ns", CellKind::duration_ns, Merge::sum, Noise::total, true, "max_ns"},
    {"count", CellKind::count, Merge::sum, Noise::count, true, nullptr},
    {"mean_ns", CellKind::duration_ns, Merge::mean, Noise::mean, false, "max_ns"},
    {"max_ns", CellKind::duration_ns, Merge::largest, Noise::unknown, false, nullptr},
    {"p50_ns", CellKind::duration_ns, Merge::none, Noise::unknown, false, nullptr},
    {"p95_ns", CellKind::duration_ns, Merge::none, Noise::unknown, false, nullptr},
    {"p99_ns", CellKind::duration_ns, Merge::none, Noise::unknown, false, nullptr},
    {"samples", CellKind::count, Merge::sum, Noise::count, true, nullptr},
    {"percent", CellKind::percent, Merge::sum, Noise::unknown, false, nullptr},
    {"contended", CellKind::count, Merge::sum, Noise::count, true, nullptr},
    {"wait_total_ns", CellKind::duration_ns, Merge::sum, Noise::total, true, "wait_max_ns"},
    {"wait_max_ns", CellKind::duration_ns, Merge::largest, Noise::unknown, false, nullptr},
};

// An interval more or less at the edges of a recording: up to half of one, as standard deviation.
constexpr double kEdge = 0.5;
// Clocks and timers are no better than this.
constexpr double kLeastRelative = 1e-3;

std::optional<double> number_of(const Cell& cell) {
  if (const auto* number = std::get_if<uint64_t>(&cell)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<double>(&cell))
    if (std::isfinite(*number)) return *number;
  return std::nullopt;
}

// Ids of tasks are others in each run; a time of the recording is never met again.
bool is_stable_key(const Column& column) {
  return !column.name.ends_with(".pid") && !column.name.ends_with(".tid");
}

std::string stable_symbol(std::string_view name) {
  if (name.starts_with("0x")) return "[no name]";
  return std::string(strip_compiler_suffixes(name));
}

// Frames are joined by " <- ".
std::string stable_chain(std::string_view chain) {
  constexpr std::string_view kJoin = " <- ";
  std::string stable;
  for (size_t at = 0; at <= chain.size();) {
    const size_t end = std::min(chain.find(kJoin, at), chain.size());
    if (!stable.empty()) stable += kJoin;
    stable += stable_symbol(chain.substr(at, end - at));
    at = end + kJoin.size();
  }
  return stable;
}

Cell stable_cell(const Column& column, const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  if (text == nullptr) return cell;
  if (column.name == "stack") return stable_chain(*text);
  if (column.name == "caller" || column.name == "function" || column.name == "lock")
    return stable_symbol(*text);
  return cell;
}

void append_identity(std::string& identity, const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) identity += 't' + *text;
  if (const auto* number = std::get_if<uint64_t>(&cell)) identity += 'n' + std::to_string(*number);
  if (const auto* number = std::get_if<double>(&cell)) identity += 'd' + std::to_string(*number);
  identity += '\0';
}

// The sentence of a cause may change, its id does not.
std::string identity_of(const std::vector<Column>& columns, const std::vector<Cell>& cells) {
  std::string id;
  for (size_t i = 0; i < columns.size(); ++i)
    if (columns[i].name == "cause_id")
      if (const auto* text = std::get_if<std::string>(&cells[i])) id = *text;
  std::string identity;
  for (size_t i = 0; i < columns.size(); ++i)
    if (columns[i].name != "cause" || id.empty()) append_identity(identity, cells[i]);
  return identity;
}

// Of a report that was read back: titles are not in the JSON.
std::string title_of(const Column& column) {
  if (column.title != column.name) return column.title;
  if (column.name == "holder.comm") return "Holder";
  if (column.name == "waker.comm") return "Waker";
  if (column.name.ends_with(".comm")) return "Command";
  if (column.name == "cpu") return "CPU";
  if (column.name == "syscall") return "System call";
  if (column.name.empty()) return {};
  std::string title = column.name;
  title[0] =
      static_cast<char>(title[0] >= 'a' && title[0] <= 'z' ? title[0] - 'a' + 'A' : title[0]);
  return title;
}

std::string joined_filters(const Report& report) {
  std::string text;
  for (const auto& [name, value] : report.filters)
    if (name != "pid" && name != "tid")
      text.append(name).append(1, ' ').append(value).append(1, '\n');
  return text;
}

}  // namespace

size_t Diff::measure_index(std::string_view name) const {
  size_t i = 0;
  while (i < measures_.size() && measures_[i]->name != name) ++i;
  return i;
}

Result<std::string> Diff::shown_measure() const {
  const std::string wanted = options_.measure.empty() ? "total" : options_.measure;
  std::string names;
  for (const DiffMeasure* measure : measures_) {
    std::string_view bare = measure->name;
    if (bare.ends_with("_ns")) bare.remove_suffix(3);
    if (wanted == measure->name || wanted == bare) return std::string(measure->name);
    names.append(names.empty() ? "" : ", ").append(bare);
  }
  return make_error("there is no measure '" + wanted + "'; there are " + names);
}

Result<void> Diff::take_columns(const Report& report) {
  const Table& table = report.tables[0];
  std::vector<std::string> keys;
  for (const Column& column : table.columns)
    if (column.key) keys.push_back(column.name);
  if (!schema_.empty()) {
    if (report.schema != schema_)
      return make_error("is a '" + report.schema + "', not a '" + schema_ + "' as the first one");
    if (keys == all_keys_) return {};
    std::string have;
    for (const std::string& key : keys) have.append(have.empty() ? "" : ", ").append(key);
    return make_error("has other rows than the first one: by " + have);
  }
  schema_ = report.schema;
  all_keys_ = keys;
  for (const Column& column : table.columns) {
    if (!column.key) continue;
    if (column.name == "interval_start_ns")
      return make_error("has rows for intervals (-I), which cannot be matched");
    if (!is_stable_key(column)) continue;
    keys_.push_back(column);
    keys_.back().title = title_of(column);
  }
  for (const DiffMeasure& measure : kMeasures)
    if (table.column(measure.name) < table.columns.size()) measures_.push_back(&measure);
  if (measures_.empty() || keys_.empty()) return make_error("has no rows that could be compared");
  has_idle_ = table.column("idle") < table.columns.size();
  return {};
}

Result<double> Diff::units(const Report& report) const {
  double sum = 0;
  for (const RecordingInfo& recording : report.recordings) {
    if (options_.per == DiffPer::second && recording.start_ns && recording.end_ns &&
        *recording.end_ns > *recording.start_ns)
      sum += static_cast<double>(*recording.end_ns - *recording.start_ns) / 1e9;
    if (options_.per != DiffPer::event) continue;
    for (const auto& [name, samples] : recording.events)
      if (name == options_.event) sum += static_cast<double>(samples);
  }
  switch (options_.per) {
    case DiffPer::run:
      return 1.0;
    case DiffPer::second:
      for (const auto& [name, value] : report.filters)
        if (name == "time" || name == "time-comm")
          return make_error("--per second needs the whole recording, not a part (--" + name + ")");
      if (sum == 0) return make_error("does not say how long it is");
      return sum;
    case DiffPer::event:
      if (sum == 0) return make_error("has no samples of the event '" + options_.event + "'");
      return sum;
  }
  return 1.0;
}

void Diff::merge(Values& into, const Values& from) const {
  const size_t count = measure_index("count");
  const auto weight = [&](const Values& values) {
    return count < values.size() ? values[count].value_or(1.0) : 1.0;
  };
  const double a = weight(into);
  const double b = weight(from);
  for (size_t m = 0; m < measures_.size(); ++m) {
    auto& have = into[m];
    const auto& more = from[m];
    if (measures_[m]->merge == Merge::none || !have || !more) {
      if (measures_[m]->merge == Merge::none)
        have.reset();
      else if (!have)
        have = more;
      continue;
    }
    if (measures_[m]->merge == Merge::sum) *have += *more;
    if (measures_[m]->merge == Merge::largest) *have = std::max(*have, *more);
    if (measures_[m]->merge == Merge::mean && a + b > 0) *have = (*have * a + *more * b) / (a + b);
  }
}

void Diff::take_row(const Table& table, const Row& row, size_t side, double units) {
  std::vector<Cell> cells;
  cells.reserve(keys_.size());
  for (const Column& column : keys_)
    cells.push_back(stable_cell(column, row.cells[table.column(column.name)]));
  Values values(measures_.size());
  for (size_t m = 0; m < measures_.size(); ++m) {
    const size_t column = table.column(measures_[m]->name);
    if (column == table.columns.size()) continue;
    values[m] = number_of(row.cells[column]);
    if (values[m] && measures_[m]->per) *values[m] /= units;
  }
  const size_t run = paths_[side].size() - 1;
  Entry& entry = entries_[identity_of(keys_, cells)];
  entry.keys = std::move(cells);
  if (const size_t idle = table.column("idle"); idle < table.columns.size())
    entry.section = number_of(row.cells[idle]).value_or(0) != 0 ? 1 : 0;
  const auto [found, is_new] = entry.runs[side].try_emplace(run, values);
  if (!is_new) merge(found->second, values);
}

Result<void> Diff::add(bool after, const Report& report) {
  if (report.tables.empty()) return make_error("has no table");
  if (auto taken = take_columns(report); !taken) return taken;
  const auto divided_by = units(report);
  if (!divided_by) return divided_by.error();
  const size_t side = after ? 1 : 0;
  const std::string filters = joined_filters(report);
  if (recordings_.empty()) filters_ = filters;
  filters_differ_ = filters_differ_ || filters != filters_;
  const std::string path = report.recordings.empty() ? "" : report.recordings[0].path;
  if (report.tables[0].left_out.rows != 0) limited_.push_back(path);
  paths_[side].push_back(path);
  units_[side].push_back(*divided_by);
  recordings_.insert(recordings_.end(), report.recordings.begin(), report.recordings.end());
  diagnostics_.merge(report.diagnostics);
  partial_ = partial_ || report.partial;
  for (const Row& row : report.tables[0].rows) take_row(report.tables[0], row, side, *divided_by);
  return {};
}

// A recording without the row had nothing of it.
std::vector<double> Diff::values_of(const Entry& entry, size_t side, size_t measure) const {
  std::vector<double> values;
  for (size_t run = 0; run < paths_[side].size(); ++run) {
    const auto found = entry.runs[side].find(run);
    if (found == entry.runs[side].end()) {
      if (measures_[measure]->merge == Merge::sum) values.push_back(0);
    } else if (found->second[measure]) {
      values.push_back(*found->second[measure]);
    }
  }
  return values;
}

// Over the recordings of both sides that have the row.
std::optional<double> Diff::mean_of(const Entry& entry, size_t measure) const {
  std::vector<double> values;
  for (const auto& side : entry.runs)
    for (const auto& [run, row] : side)
      if (measure < row.size() && row[measure]) values.push_back(*row[measure]);
  if (values.empty()) return std::nullopt;
  return describe(values).mean;
}

double Diff::least_stddev(const Entry& entry, size_t measure) const {
  const DiffMeasure& what = *measures_[measure];
  const double own = mean_of(entry, measure).value_or(0);
  const double longest =
      what.longest == nullptr ? 0 : mean_of(entry, measure_index(what.longest)).value_or(0);
  double units = *std::max_element(units_[0].begin(), units_[0].end());
  units = std::max(units, *std::max_element(units_[1].begin(), units_[1].end()));
  double least = 0;
  switch (what.noise) {
    case Noise::unknown:
      break;
    case Noise::count:
      least = kEdge / units;
      break;
    case Noise::total:
      least = kEdge * longest / units;
      break;
    case Noise::mean: {
      const double count = mean_of(entry, measure_index("count")).value_or(0) * units;
      least = kEdge * std::max(longest - own, 0.0) / std::max(count, 1.0);
      break;
    }
  }
  return std::max(least, kLeastRelative * std::fabs(own));
}

Diff::Comparison Diff::compare(const Entry& entry, size_t measure, bool tested) const {
  Comparison comparison;
  std::array<Sample, 2> samples;
  for (size_t side = 0; side < 2; ++side) {
    const std::vector<double> values = values_of(entry, side, measure);
    samples[side] = describe(values);
    if (values.empty() || entry.runs[side].empty()) continue;
    comparison.sides[side].mean = samples[side].mean;
    if (values.size() >= 2 && samples[side].mean != 0)
      comparison.sides[side].stddev_percent =
          100.0 * samples[side].stddev / std::fabs(samples[side].mean);
  }
  const auto& [before, after] = comparison.sides;
  if (before.mean && after.mean && *before.mean != 0)
    comparison.change_percent = 100.0 * (*after.mean - *before.mean) / *before.mean;
  if (!has_noise() || measures_[measure]->noise == Noise::unknown) return comparison;
  comparison.marked = false;
  if (!tested || samples[0].count < 2 || samples[1].count < 2) return comparison;
  comparison.p = welch_test(samples[0], samples[1], least_stddev(entry, measure)).p;
  return comparison;
}

// Chosen by size alone, not by the change: else the level of the test would not hold.
std::map<const Diff::Entry*, bool> Diff::large_entries() const {
  const size_t total = measure_index("total_ns");
  const size_t by = total < measures_.size() ? total : 0;
  std::array<double, 2> whole{};
  std::map<const Entry*, double> sizes;
  for (const auto& [identity, entry] : entries_) {
    double size = 0;
    for (size_t side = 0; side < 2; ++side) size += describe(values_of(entry, side, by)).mean;
    sizes[&entry] = size;
    whole[entry.section] += size;
  }
  std::map<const Entry*, bool> large;
  for (const auto& [entry, size] : sizes)
    large[entry] = size >= kDiffLeastShare * whole[entry->section];
  return large;
}

std::vector<Diff::ComparedRow> Diff::compare_all() const {
  std::vector<ComparedRow> rows;
  const std::map<const Entry*, bool> large = large_entries();
  for (const auto& [identity, entry] : entries_) {
    ComparedRow& row = rows.emplace_back();
    row.entry = &entry;
    const bool is_large = large.at(&entry);
    for (size_t m = 0; m < measures_.size(); ++m)
      row.measures.push_back(compare(entry, m, is_large));
  }
  mark(rows);
  return rows;
}

// Measure by measure over all rows.
void Diff::mark(std::vector<ComparedRow>& rows) const {
  for (size_t m = 0; m < measures_.size(); ++m) {
    std::vector<double> p_values;
    std::vector<Comparison*> tested;
    for (ComparedRow& row : rows) {
      if (!row.measures[m].p) continue;
      p_values.push_back(*row.measures[m].p);
      tested.push_back(&row.measures[m]);
    }
    const std::vector<bool> claims = holm(p_values, kDiffAlpha);
    for (size_t i = 0; i < tested.size(); ++i) {
      const auto change = tested[i]->change_percent;
      tested[i]->marked = claims[i] && (!change || std::fabs(*change) >= kDiffLeastChangePercent);
    }
  }
}

}  // namespace perf_latency
