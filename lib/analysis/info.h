// SPDX-License-Identifier: GPL-2.0-only
// `perf latency info`: what is in a recording. Works for every perf.data that can be read at all.
#pragma once

#include "analysis/analysis.h"
#include "analysis/session.h"

namespace perf_latency {

// Has every record and every field of every sample looked at, and keeps nothing.
class Inspection final : public Analysis {
 public:
  DecodeNeeds needs() const override {
    DecodeNeeds needs;
    needs.validate = true;
    return needs;
  }
  void begin_recording(const RecordingContext&) override {}
  void set_present(const EventKinds&) override {}
  void set_start(uint64_t) override {}
  void consume(const Event* const*, size_t) override {}
  Result<void> end_recording(const RecordingResult&) override { return {}; }
  Report make_report() override { return {}; }
};

Report make_info_report(const SessionResult& result, const Diagnostics& diagnostics);

}  // namespace perf_latency
