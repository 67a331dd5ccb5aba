// SPDX-License-Identifier: GPL-2.0-only
// The tracepoint formats of a recording, each parsed when an event first needs it: the tracing data of
// a whole kernel holds thousands, and in a pipe the plan is made anew with every event that comes.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "tracepoint/event_format.h"
#include "tracepoint/tracing_data.h"

namespace perf_latency {

class FormatCache {
 public:
  explicit FormatCache(TracingData data);

  bool big_endian() const { return data_.big_endian; }
  // The format of the tracepoint with this id (perf_event_attr.config); null when there is none that
  // can be read. Stays valid as long as the cache.
  const EventFormat* find(uint64_t id);

 private:
  TracingData data_;
  std::unordered_map<uint64_t, size_t> text_of_id_;  // index into data_.formats
  std::unordered_map<uint64_t, std::optional<EventFormat>> parsed_;
};

}  // namespace perf_latency
