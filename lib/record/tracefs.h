// SPDX-License-Identifier: GPL-2.0-only
// The tracepoints of the running kernel: ids, formats, and the TRACING_DATA section made of them.
//
// Only root reads tracefs on most machines: open() fails with a sentence that names the directory and
// what to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace perf_latency {

struct TracepointName {
  std::string system;
  std::string name;
  std::string full() const { return system + ":" + name; }
  friend auto operator<=>(const TracepointName&, const TracepointName&) = default;
};

class Tracefs {
 public:
  static Result<Tracefs> open();
  // For tests: a directory that looks like tracefs.
  explicit Tracefs(std::string directory) : directory_(std::move(directory)) {}

  const std::string& directory() const { return directory_; }
  // The id that perf_event_attr.config takes; nullopt when this kernel has no such tracepoint.
  std::optional<uint64_t> id(const TracepointName& event) const;
  // The format file's text; empty when there is none.
  std::string format(const TracepointName& event) const;
  // The TRACING_DATA section (version 0.6) with the formats of these events.
  std::vector<std::byte> tracing_data(std::vector<TracepointName> events) const;

 private:
  std::string event_path(const TracepointName& event, const char* file) const;
  std::string directory_;
};

// The state bits of sched_switch's prev_state that mean "sleeping" (or dead), from the list in its own
// print format: 0xff today. 0 when the text has no such list.
uint64_t sleep_state_mask(std::string_view sched_switch_format);

struct FormatField {
  uint32_t offset = 0;
  uint32_t size_bytes = 0;
};
// Where a field is in the raw data; nullopt when the format has none of that name.
std::optional<FormatField> format_field(std::string_view format, std::string_view field);

}  // namespace perf_latency
