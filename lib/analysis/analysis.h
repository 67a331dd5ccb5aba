// SPDX-License-Identifier: GPL-2.0-only
// What a report is to the session that feeds it.
//
// For each input: begin_recording, consume (events in order of time, many at a time), end_recording.
// Then make_report, once. An analysis says beforehand which events it needs; a recording that lacks
// what it cannot do without is refused by check_recording.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "perfdata/metadata.h"
#include "report/report.h"
#include "tracepoint/decode_plan.h"
#include "tracepoint/decoder.h"
#include "tracepoint/event.h"

namespace perf_latency {

// What holds for one input while it is read. In a pipe the metadata grows.
struct RecordingContext {
  const Metadata& metadata;
  DecodePools& pools;
  Diagnostics& diagnostics;
};

// What is known when an input has been read to its end.
struct RecordingResult {
  RecordingInfo info;
  EventKinds present;  // kinds of events that the recording was made with
  bool interrupted = false;
};

class Analysis {
 public:
  virtual ~Analysis() = default;
  virtual DecodeNeeds needs() const = 0;
  virtual void begin_recording(const RecordingContext& context) = 0;
  // The kinds that the recording has; may come again when a pipe declares further events.
  virtual void set_present(const EventKinds& present) = 0;
  // Before the first event: when the recording begins.
  virtual void set_start(uint64_t start_ns) = 0;
  // Events were lost between these times; comes before the events after the loss.
  virtual void announce_loss(uint64_t /*start_ns*/, uint64_t /*end_ns*/) {}
  virtual void consume(const Event* const* events, size_t count) = 0;
  // An error when the recording cannot answer the question at all.
  virtual Result<void> end_recording(const RecordingResult& result) = 0;
  virtual Report make_report() = 0;
};

}  // namespace perf_latency
