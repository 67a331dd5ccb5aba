// SPDX-License-Identifier: GPL-2.0-only
// Reads one recording and feeds it to an analysis: Reader -> Decoder -> EventSorter -> Analysis.
//
// Decoding runs on several threads, the rest is sequential: batches are numbered when they are taken
// from the reader, and whoever finds the next one decoded hands it on. So what the analysis sees does
// not depend on the number of threads.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "analysis/analysis.h"
#include "base/result.h"

namespace perf_latency {

struct SessionOptions {
  bool force = false;
  unsigned jobs = 0;  // 0: the CPUs of this machine, up to where more do not help
  bool running_kernel =
      true;  // may take formats that the file lacks from the kernel that runs here
  const std::atomic<bool>* interrupted = nullptr;
  // Called now and then from one thread with bytes read and in total (0: not known).
  std::function<void(uint64_t, uint64_t)> progress;
};

// Seconds that each stage took, for --stats; those of threads are added up.
struct StageTimes {
  double read = 0;
  double decode = 0;
  double sort_and_model = 0;
  double wall = 0;
};

struct SessionResult {
  RecordingResult recording;
  DecodeCounts counts;
  std::vector<std::string> event_names;  // by index into Metadata::events
  Metadata metadata;
  StageTimes times;
};

// Diagnostics of reader, decoders and sorter are added to `diagnostics`.
Result<SessionResult> run_session(const std::string& path, const SessionOptions& options,
                                  Analysis& analysis, DecodePools& pools, Diagnostics& diagnostics);

}  // namespace perf_latency
