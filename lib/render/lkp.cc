// SPDX-License-Identifier: GPL-2.0-only
// The numbers of a report as "key: value" lines, for LKP's statistics and other line-based scripts.
//
// Keys are:
//   recording.samples, recording.lost, recording.span_ns
//   totals.NAME                   the account, NAME as in JSON
//   KEY.ROW.COLUMN                each number of each row: KEY is the row's first key column
//                                 ("cause", "process"), ROW its identity, COLUMN as in JSON
//   TABLE.KEY.ROW.COLUMN          the same for tables after the first
//   NAME, NAME.FIELD              single values beside the tables
// A row is known by its columns marked as keys (the first column where none is); a cause by its
// cause_id where it has one. Whatever is not a letter, a digit, or one of _ . + - becomes one '_'.
// A second row of the same key gets ".2" and so on. Durations are in ns. Null has no line;
// identifiers and time stamps (max_tid, max_start_ns) are no measures and have none either.
#include <fmt/format.h>

#include <string>
#include <unordered_map>

#include "render/cells.h"
#include "render/formats.h"

namespace perf_latency {
namespace {

void append_key(std::string& out, std::string_view text) {
  bool gap = false;
  bool any = false;
  for (const char c : text) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '.' || c == '+' || c == '-';
    if (kept) {
      if (gap && any) out += '_';
      out += c;
      any = true;
    }
    gap = !kept;
  }
  if (!any) out += '_';
}

void append_line(std::string& out, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  out += key;
  out += ": ";
  out += value;
  out += '\n';
}

std::vector<size_t> key_columns(const Table& table) {
  std::vector<size_t> keys;
  for (size_t c = 0; c < table.columns.size(); ++c)
    if (table.columns[c].key) keys.push_back(c);
  if (keys.empty() && !table.columns.empty()) keys.push_back(0);
  return keys;
}

std::string row_key(const Table& table, const Row& row, const std::vector<size_t>& keys) {
  const Cell* cause_id = find_cell(table, row, "cause_id");
  std::string key;
  bool cause_named = false;
  for (const size_t c : keys) {
    std::string_view name = table.columns[c].name;
    std::string text = plain_cell(row.cells[c], table.columns[c].kind);
    if (name == "cause" || name == "cause_id") {
      if (cause_named) continue;
      cause_named = true;
      if (cause_id != nullptr && !text_of(*cause_id).empty()) text = text_of(*cause_id);
    }
    if (key.empty()) {
      append_key(key, name == "cause_id" ? "cause" : name.substr(0, name.find('.')));
    }
    key += '.';
    append_key(key, text);
  }
  return key;
}

bool is_measure(const Column& column) {
  return !column.key && column.kind != CellKind::text && column.kind != CellKind::number &&
         column.kind != CellKind::time_ns;
}

std::string measure_text(const Cell& cell, CellKind kind) {
  if (kind == CellKind::boolean) {
    const auto value = integer_cell(cell);
    return value ? std::to_string(*value != 0) : "";
  }
  return plain_cell(cell, kind);
}

void append_table(std::string& out, const Table& table, bool first) {
  const std::vector<size_t> keys = key_columns(table);
  std::unordered_map<std::string, unsigned> seen;
  for (const Row& row : table.rows) {
    PL_CHECK(row.cells.size() == table.columns.size());
    std::string key = first ? "" : table.key + ".";
    key += row_key(table, row, keys);
    const unsigned times = ++seen[key];
    if (times > 1) key += fmt::format(".{}", times);
    for (size_t c = 0; c < table.columns.size(); ++c)
      if (is_measure(table.columns[c]))
        append_line(out, key + "." + table.columns[c].name,
                    measure_text(row.cells[c], table.columns[c].kind));
  }
}

void append_totals(std::string& out, const Totals& totals) {
  const auto line = [&](std::string_view name, uint64_t value) {
    append_line(out, fmt::format("totals.{}", name), std::to_string(value));
  };
  line("threads", totals.threads);
  line("switches", totals.switches);
  line("thread_time_ns", totals.thread_time_ns);
  line("running_ns", totals.running_ns);
  line("sleeping_ns", totals.sleeping_ns);
  if (totals.runnable_ns) line("runnable_ns", *totals.runnable_ns);
  line("hidden_ns", totals.hidden_ns);
  line("unknown_ns", totals.unknown_ns);
  append_line(out, "totals.accounted_percent", fmt::format("{}", totals.accounted_percent()));
  line("excluded.kernel_threads_ns", totals.excluded_kernel_threads_ns);
}

void append_fact(std::string& out, const Fact& fact) {
  if (fact.kind == CellKind::text) return;
  if (const auto* cell = std::get_if<Cell>(&fact.value)) {
    append_line(out, fact.key, measure_text(*cell, fact.kind));
  } else if (const auto* fields = std::get_if<2>(&fact.value)) {
    for (const auto& [name, value] : *fields) {
      std::string key = fact.key + ".";
      append_key(key, name);
      append_line(out, key, measure_text(value, fact.kind));
    }
  }
}

}  // namespace

void render_lkp(const Report& report, std::string& out) {
  // Several recordings are one sum here; their span has no meaning then.
  uint64_t samples = 0;
  uint64_t lost = 0;
  for (const RecordingInfo& recording : report.recordings) {
    samples += recording.samples;
    lost += recording.lost;
  }
  append_line(out, "recording.samples", std::to_string(samples));
  append_line(out, "recording.lost", std::to_string(lost));
  if (report.recordings.size() == 1) {
    const RecordingInfo& recording = report.recordings[0];
    if (recording.start_ns && recording.end_ns && *recording.end_ns >= *recording.start_ns)
      append_line(out, "recording.span_ns",
                  std::to_string(*recording.end_ns - *recording.start_ns));
  }
  if (report.totals) append_totals(out, *report.totals);
  for (const Fact& fact : report.facts) append_fact(out, fact);
  for (const Table& table : report.tables)
    append_table(out, table, &table == &report.tables.front());
}

}  // namespace perf_latency
