// SPDX-License-Identifier: GPL-2.0-only
#include "render/parse_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace perf_latency {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxColumns = 256;
constexpr int kMaxNesting = 3;
constexpr size_t kMaxCells = 16'000'000;

std::string text_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<uint64_t> number_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<uint64_t>();
}

RecordingInfo parse_recording(const Json& object) {
  RecordingInfo info;
  if (!object.is_object()) return info;
  info.path = text_in(object, "path");
  info.hostname = text_in(object, "hostname");
  info.os_release = text_in(object, "os_release");
  info.arch = text_in(object, "arch");
  info.cpus = number_in(object, "cpus").value_or(0);
  info.start_ns = number_in(object, "start_ns");
  info.end_ns = number_in(object, "end_ns");
  info.samples = number_in(object, "samples").value_or(0);
  info.lost = number_in(object, "lost").value_or(0);
  info.complete = object.value("complete", Json()) != Json(false);
  if (const auto words = object.find("cmdline"); words != object.end() && words->is_array())
    for (const Json& word : *words)
      if (word.is_string()) info.cmdline.push_back(word.get<std::string>());
  if (const auto events = object.find("events"); events != object.end() && events->is_object())
    for (const auto& [name, samples] : events->items())
      if (samples.is_number_unsigned()) info.events.emplace_back(name, samples.get<uint64_t>());
  return info;
}

CellKind kind_of(std::string_view name, const Json& value) {
  const std::string_view last = name.substr(name.rfind('.') + 1);
  if (value.is_string()) return CellKind::text;
  if (value.is_boolean()) return CellKind::boolean;
  if (last == "pid" || last == "tid" || last == "cpu" || last.ends_with("_tid"))
    return CellKind::number;
  if (last.ends_with("percent")) return CellKind::percent;
  if (last.ends_with("start_ns")) return CellKind::time_ns;
  return last.ends_with("_ns") ? CellKind::duration_ns : CellKind::count;
}

Cell cell_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return uint64_t{value.get<bool>()};
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  if (value.is_number()) return value.get<double>();
  return {};
}

class RowsParser {
 public:
  explicit RowsParser(Table& table) : table_(table) {}

  bool add(const Json& object) {
    row_.clear();
    if (!object.is_object() || !flatten(object, "", 0)) return false;
    // In the end each row has all columns, also one that has but a few of them here.
    if (table_.rows.size() >= kMaxCells / std::max<size_t>(table_.columns.size(), 1)) return false;
    Row& row = table_.rows.emplace_back();
    row.cells.resize(table_.columns.size());
    for (auto& [column, cell] : row_) row.cells[column] = std::move(cell);
    return true;
  }

  // A column that the first rows lack is null there.
  void finish() {
    for (Row& row : table_.rows) row.cells.resize(table_.columns.size());
  }

 private:
  bool flatten(const Json& object, const std::string& prefix, int depth) {
    for (const auto& [name, value] : object.items()) {
      if (value.is_array()) continue;
      const std::string full = prefix + name;
      if (value.is_object()) {
        if (depth >= kMaxNesting || !flatten(value, full + ".", depth + 1)) return false;
        continue;
      }
      const auto [found, is_new] = index_.try_emplace(full, table_.columns.size());
      if (is_new) {
        if (table_.columns.size() == kMaxColumns) return false;
        table_.columns.push_back({full, full, kind_of(full, value)});
      } else if (value.is_string()) {
        table_.columns[found->second].kind = CellKind::text;  // null in the rows above
      }
      row_.emplace_back(found->second, cell_of(value));
    }
    return true;
  }

  Table& table_;
  std::unordered_map<std::string, size_t> index_;
  std::vector<std::pair<size_t, Cell>> row_;
};

void parse_diagnostics(const Json& list, Diagnostics& diagnostics) {
  if (!list.is_array()) return;
  std::unordered_map<std::string_view, Diag> by_id;
  for (size_t i = 0; i < static_cast<size_t>(Diag::count_); ++i)
    by_id.emplace(diagnostic_kind(static_cast<Diag>(i)).id, static_cast<Diag>(i));
  for (const Json& entry : list) {
    if (!entry.is_object()) continue;
    const std::string id = text_in(entry, "id");
    const auto known = by_id.find(id);
    if (known != by_id.end()) diagnostics.add(known->second, number_in(entry, "count").value_or(0));
  }
}

// The key columns in the order in which the report names them, then the others.
bool put_keys_first(const Json& keys, Table& table) {
  if (!keys.is_array() || keys.empty() || keys.size() > kMaxColumns) return false;
  std::vector<size_t> order;
  for (const Json& key : keys) {
    if (!key.is_string()) return false;
    size_t at = table.column(key.get<std::string>());
    if (at == table.columns.size()) {
      if (!table.rows.empty() || at == kMaxColumns) return false;
      table.columns.push_back({key.get<std::string>(), key.get<std::string>()});
    }
    if (table.columns[at].key) return false;
    table.columns[at].key = true;
    order.push_back(at);
  }
  for (size_t i = 0; i < table.columns.size(); ++i)
    if (!table.columns[i].key) order.push_back(i);
  std::vector<Column> columns;
  columns.reserve(order.size());
  for (const size_t at : order) columns.push_back(std::move(table.columns[at]));
  table.columns = std::move(columns);
  for (Row& row : table.rows) {
    std::vector<Cell> cells;
    cells.reserve(order.size());
    for (const size_t at : order) cells.push_back(std::move(row.cells[at]));
    row.cells = std::move(cells);
  }
  return true;
}

}  // namespace

Result<Report> parse_json_report(std::string_view text) {
  const Json root = Json::parse(text, nullptr, false);
  if (root.is_discarded() || !root.is_object()) return make_error("is not JSON");
  Report report;
  report.schema = text_in(root, "schema");
  if (!report.schema.starts_with("perf-latency."))
    return make_error("is JSON, but no report of perf latency");
  const auto rows = root.find("rows");
  if (rows == root.end() || !rows->is_array())
    return make_error("is a '" + report.schema + "' without rows");
  if (const auto many = root.find("recordings"); many != root.end() && many->is_array())
    for (const Json& one : *many) report.recordings.push_back(parse_recording(one));
  if (report.recordings.empty())
    report.recordings.push_back(parse_recording(root.value("recording", Json())));
  report.with_totals = root.contains("totals");
  report.partial = root.value("partial", Json()) == Json(true);
  parse_diagnostics(root.value("diagnostics", Json()), report.diagnostics);
  Table& table = report.tables.emplace_back();
  RowsParser parser(table);
  for (const Json& row : *rows)
    if (!parser.add(row)) return make_error("has a row that is none, or too many rows");
  parser.finish();
  if (!put_keys_first(root.value("keys", Json()), table))
    return make_error("does not say which columns are the keys of its rows");
  if (const auto left_out = root.find("left_out"); left_out != root.end() && left_out->is_object())
    table.left_out.rows = number_in(left_out->value("rows", Json::object()), "rows").value_or(0);
  return report;
}

}  // namespace perf_latency
