// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/info.h"

#include <algorithm>

#include "analysis/registry.h"
#include "perfdata/features.h"

namespace perf_latency {
namespace {

std::string mode_name(RecordingMode mode) {
  switch (mode) {
    case RecordingMode::file:
      return "file";
    case RecordingMode::pipe:
      return "pipe";
    case RecordingMode::directory:
      return "directory";
  }
  return "file";
}

std::vector<std::pair<std::string, Cell>> record_counts(const RecordCounts& counts) {
  std::vector<std::pair<std::string, Cell>> records;
  for (uint32_t type = 0; type <= RecordCounts::kTypes; ++type) {
    if (counts[type] == 0) continue;
    const char* name = record_type_name(type);
    const std::string number = type == RecordCounts::kTypes ? "other" : std::to_string(type);
    records.emplace_back(name != nullptr ? name : number, Cell(counts[type]));
  }
  return records;
}

std::vector<std::string> feature_names(const std::bitset<kFeatureBits>& features) {
  std::vector<std::string> names;
  for (uint32_t bit = 0; bit < kFeatureBits; ++bit) {
    if (!features[bit]) continue;
    const char* name = feature_name(bit);
    names.emplace_back(name != nullptr ? name : "FEATURE_" + std::to_string(bit));
  }
  return names;
}

Table event_table(const SessionResult& result) {
  Table table;
  table.key = "events";
  table.columns = {{"name", "Event", CellKind::text, true, true},
                   {"samples", "Samples", CellKind::count, true, false}};
  for (size_t i = 0; i < result.metadata.events.size(); ++i) {
    // A pipe may name an event after its samples.
    const std::string& given = result.metadata.events[i].name;
    const std::string& planned =
        given.empty() && i < result.event_names.size() ? result.event_names[i] : given;
    const EventAttr& attr = result.metadata.events[i].attr;
    std::string name = planned;
    if (name.empty())
      name = "type " + std::to_string(attr.type) + " config " + std::to_string(attr.config);
    const uint64_t samples =
        i < result.counts.samples_of_event.size() ? result.counts.samples_of_event[i] : 0;
    Row row;
    row.cells = {Cell(std::move(name)), Cell(samples)};
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

Report make_info_report(const SessionResult& result, const Diagnostics& diagnostics) {
  Report report;
  report.schema = "perf-latency.info.v1";
  report.title = "What is in the recording";
  report.recordings.push_back(result.recording.info);
  report.with_totals = false;
  report.diagnostics = diagnostics;
  const Metadata& metadata = result.metadata;
  const auto text = [&](const char* key, const char* title, std::string value) {
    report.facts.push_back({key, title, CellKind::text, Cell(std::move(value))});
  };
  const auto number = [&](const char* key, const char* title, uint64_t value) {
    report.facts.push_back({key, title, CellKind::count, Cell(value)});
  };
  text("byte_order", "Byte order", metadata.big_endian ? "big" : "little");
  text("mode", "Mode", mode_name(metadata.mode));
  const bool own = metadata.features[kMachineStateBit];
  text("perf_version", own ? "Written by perf latency" : "Written by perf", metadata.perf_version);
  report.facts.push_back(
      {"records", "Records", CellKind::count, record_counts(result.counts.records)});
  report.facts.push_back(
      {"features", "Features", CellKind::text, feature_names(metadata.features)});
  number("undecodable", "Undecodable samples", diagnostics.count(Diag::undecodable_sample));
  number("unknown_id", "Samples of undeclared events", diagnostics.count(Diag::unknown_id));
  std::vector<std::pair<std::string, Cell>> reports;
  for (const ReportEntry& entry : report_registry())
    reports.emplace_back(std::string(entry.name),
                         Cell(uint64_t{can_answer(entry, result.recording.present)}));
  report.facts.push_back({"reports", "Reports", CellKind::boolean, std::move(reports)});
  report.tables.push_back(event_table(result));
  return report;
}

}  // namespace perf_latency
