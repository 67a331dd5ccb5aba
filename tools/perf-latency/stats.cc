// SPDX-License-Identifier: GPL-2.0-only
#include "stats.h"

#include <cinttypes>
#include <cstdio>

namespace perf_latency::tool {

void print_stats(const std::string& input, const SessionResult& result) {
  std::fprintf(stderr, "\nStatistics of %s:\n", input.c_str());
  const RecordCounts& records = result.counts.records;
  for (uint32_t type = 0; type < RecordCounts::kTypes; ++type) {
    if (records[type] == 0) continue;
    const char* name = record_type_name(type);
    std::fprintf(stderr, "%20s records: %10" PRIu64 "\n", name != nullptr ? name : "unknown",
                 records[type]);
  }
  for (size_t i = 0; i < result.counts.samples_of_event.size(); ++i) {
    if (result.counts.samples_of_event[i] == 0) continue;
    const std::string name = i < result.event_names.size() && !result.event_names[i].empty()
                                 ? result.event_names[i]
                                 : "unknown event";
    std::fprintf(stderr, "%36s: %10" PRIu64 " samples\n", name.c_str(),
                 result.counts.samples_of_event[i]);
  }
  const StageTimes& times = result.times;
  std::fprintf(
      stderr,
      "Time: %.3f s; read %.3f s, decode %.3f s (threads added up), sort and model %.3f s\n",
      times.wall, times.read, times.decode, times.sort_and_model);
}

}  // namespace perf_latency::tool
