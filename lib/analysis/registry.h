// SPDX-License-Identifier: GPL-2.0-only
// Which reports there are and which events each of them can be made from.
//
// A row a report: it feeds `info` (what a recording can answer) and the messages about what a
// recording lacks.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tracepoint/decode_plan.h"

namespace perf_latency {

struct ReportEntry {
  std::string_view name;
  std::string_view help;  // one line
  // Any one of these sets of events is enough.
  std::vector<std::vector<EventKind>> event_sets;
  std::string_view record_sets;  // what to give to `record -e` for it
};

std::span<const ReportEntry> report_registry();

// Whether a recording with events of these kinds can answer the report.
bool can_answer(const ReportEntry& entry, const EventKinds& present);

}  // namespace perf_latency
