// SPDX-License-Identifier: GPL-2.0-only
// The JSON report: one object, keys in the documented order, pure ASCII.
#include <nlohmann/json.hpp>

#include <cmath>

#include "render/cells.h"
#include "render/escape.h"
#include "render/formats.h"

namespace perf_latency {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Cell& cell, CellKind kind) {
  if (const auto* text = std::get_if<std::string>(&cell)) return valid_utf8(*text);
  if (const auto* value = std::get_if<uint64_t>(&cell)) {
    if (kind == CellKind::boolean) return *value != 0;
    return *value;
  }
  if (const auto* value = std::get_if<double>(&cell)) {
    if (kind == CellKind::duration_ns || kind == CellKind::time_ns) {
      const auto integer = integer_cell(cell);
      return integer ? Json(*integer) : Json();
    }
    return std::isfinite(*value) ? Json(*value) : Json();
  }
  return nullptr;
}

template <typename T>
Json json_of(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json json_of(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(valid_utf8(text));
  return list;
}

Json json_of(const RecordingInfo& recording) {
  Json object;
  object["path"] = valid_utf8(recording.path);
  object["hostname"] = valid_utf8(recording.hostname);
  object["os_release"] = valid_utf8(recording.os_release);
  object["arch"] = valid_utf8(recording.arch);
  object["cpus"] = recording.cpus;
  object["cmdline"] = json_of(recording.cmdline);
  object["start_ns"] = json_of(recording.start_ns);
  object["end_ns"] = json_of(recording.end_ns);
  object["samples"] = recording.samples;
  object["lost"] = recording.lost;
  object["complete"] = recording.complete;
  Json events = Json::object();
  for (const auto& [name, samples] : recording.events) events[valid_utf8(name)] = samples;
  object["events"] = std::move(events);
  return object;
}

// Without totals every field is null: scripts find the same keys in every report.
Json json_of(const std::optional<Totals>& totals) {
  const auto field = [&](uint64_t Totals::*member) {
    return totals ? Json((*totals).*member) : Json();
  };
  Json object;
  object["threads"] = field(&Totals::threads);
  object["switches"] = field(&Totals::switches);
  object["thread_time_ns"] = field(&Totals::thread_time_ns);
  object["running_ns"] = field(&Totals::running_ns);
  object["sleeping_ns"] = field(&Totals::sleeping_ns);
  object["runnable_ns"] = totals ? json_of(totals->runnable_ns) : Json();
  object["hidden_ns"] = field(&Totals::hidden_ns);
  object["unknown_ns"] = field(&Totals::unknown_ns);
  object["accounted_percent"] = totals ? Json(totals->accounted_percent()) : Json();
  object["excluded"]["kernel_threads_ns"] = field(&Totals::excluded_kernel_threads_ns);
  return object;
}

Json json_of(const Fact& fact) {
  if (const auto* cell = std::get_if<Cell>(&fact.value)) return json_of(*cell, fact.kind);
  if (const auto* list = std::get_if<std::vector<std::string>>(&fact.value)) return json_of(*list);
  Json object = Json::object();
  for (const auto& [name, cell] : std::get<2>(fact.value))
    object[valid_utf8(name)] = json_of(cell, fact.kind);
  return object;
}

Json json_of(const std::vector<StackShare>& stacks) {
  Json list = Json::array();
  for (const StackShare& stack : stacks) {
    Json object;
    object["count"] = stack.count;
    object["total_ns"] = stack.total_ns;
    object["max_ns"] = stack.max_ns;
    object["frames"] = json_of(stack.frames);
    list.push_back(std::move(object));
  }
  return list;
}

// "process.comm" becomes {"process": {"comm": …}}.
void set_nested(Json& object, std::string_view name, Json value) {
  Json* at = &object;
  for (;;) {
    PL_CHECK(at->is_object() || at->is_null());
    const size_t dot = name.find('.');
    at = &(*at)[std::string(name.substr(0, dot))];
    if (dot == std::string_view::npos) break;
    name.remove_prefix(dot + 1);
  }
  *at = std::move(value);
}

Json json_of(const Table& table, const Row& row) {
  PL_CHECK(row.cells.size() == table.columns.size());
  Json object = Json::object();
  for (size_t c = 0; c < table.columns.size(); ++c)
    set_nested(object, table.columns[c].name, json_of(row.cells[c], table.columns[c].kind));
  if (table.with_histogram) {
    Json buckets = Json::array();
    for (const HistogramBucket& bucket : row.histogram)
      buckets.push_back(Json::array({bucket.low_ns, bucket.high_ns, bucket.count}));
    object["histogram"] = std::move(buckets);
  }
  if (table.with_stacks) {
    object["stacks"] = json_of(row.stacks);
    if (row.stacks_left_out != 0) object["stacks_left_out"] = row.stacks_left_out;
  }
  return object;
}

Json diagnostics_list(const Diagnostics& diagnostics) {
  Json list = Json::array();
  for (size_t i = 0; i < static_cast<size_t>(Diag::count_); ++i) {
    const auto diag = static_cast<Diag>(i);
    if (diagnostics.count(diag) == 0) continue;
    const DiagnosticKind& kind = diagnostic_kind(diag);
    Json object;
    object["id"] = std::string(kind.id);
    object["severity"] = std::string(to_string(kind.severity));
    object["count"] = diagnostics.count(diag);
    object["text"] = std::string(kind.text);
    if (const std::string& detail = diagnostics.detail(diag); !detail.empty())
      object["detail"] = valid_utf8(detail);
    list.push_back(std::move(object));
  }
  return list;
}

Json filters(const Report& report) {
  Json object = Json::object();
  for (const auto& [name, value] : report.filters) {
    Json& slot = object[valid_utf8(name)];
    slot = slot.is_null() ? valid_utf8(value) : slot.get<std::string>() + "," + valid_utf8(value);
  }
  return object;
}

// Which columns tell one row from another, for programs that match the rows of several reports.
void add_keys(Json& root, const Report& report) {
  if (report.tables.empty() || report.tables[0].key != "rows") return;
  Json keys = Json::array();
  for (const Column& column : report.tables[0].columns)
    if (column.key) keys.push_back(column.name);
  if (!keys.empty()) root["keys"] = std::move(keys);
}

void add_tables(Json& root, const Report& report) {
  Json left_out = Json::object();
  for (const Table& table : report.tables) {
    Json rows = Json::array();
    for (const Row& row : table.rows) rows.push_back(json_of(table, row));
    root[table.key] = std::move(rows);
    if (table.left_out.rows != 0)
      left_out[table.key] = {{"rows", table.left_out.rows}, {"total_ns", table.left_out.total_ns}};
  }
  if (!left_out.empty()) root["left_out"] = std::move(left_out);
}

}  // namespace

void render_json(const Report& report, std::string& out) {
  Json root;
  root["schema"] = report.schema;
  root["recording"] = json_of(report.recordings.empty() ? RecordingInfo{} : report.recordings[0]);
  if (report.recordings.size() > 1)
    for (const RecordingInfo& recording : report.recordings)
      root["recordings"].push_back(json_of(recording));
  if (report.with_totals) {
    root["filters"] = filters(report);
    root["totals"] = json_of(report.totals);
  }
  for (const Fact& fact : report.facts) root[fact.key] = json_of(fact);
  add_keys(root, report);
  add_tables(root, report);
  root["diagnostics"] = diagnostics_list(report.diagnostics);
  if (report.frames_total != 0) {
    root["frames"] = {{"total", report.frames_total}, {"unknown", report.frames_unknown}};
    for (const auto& [reason, count] : report.frames_unknown_why)
      root["frames"]["unknown_why"].push_back({{"reason", valid_utf8(reason)}, {"count", count}});
  }
  std::vector<std::string> notes = report.header_notes;
  notes.insert(notes.end(), report.footer_notes.begin(), report.footer_notes.end());
  if (!notes.empty()) root["notes"] = json_of(notes);
  if (report.partial) root["partial"] = true;
  out += root.dump(2, ' ', true);
  out += '\n';
}

}  // namespace perf_latency
