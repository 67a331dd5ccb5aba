// SPDX-License-Identifier: GPL-2.0-only
// The file that is being written, shared by the reader threads; it can be exchanged while they run.
//
// Rounds: perf, and we, sort records by time between FINISHED_ROUND marks. At a mark, everything up to
// the newest time seen before the PREVIOUS mark may be handed on. That holds when each ring has been
// read once between two marks: an event older than the previous mark was in its ring by then. A reader
// asks for the round before it reads its rings, and reports that round when it is done; the mark is
// written once all readers have reported the current one.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "base/result.h"
#include "perfdata/writer.h"
#include "record/ring.h"

namespace perf_latency {

struct OutputTotals {
  uint64_t samples = 0;
  uint64_t switches = 0;
  uint64_t raw_bytes = 0;  // before compression
  uint64_t lost = 0;
  std::set<uint32_t> lost_cpus;
  uint64_t first_time_ns = UINT64_MAX;
  uint64_t last_time_ns = 0;

  void add(const OutputTotals& other);
};

class Output {
 public:
  explicit Output(size_t readers) : reported_(readers, false) {}

  // Installs a file and gives back the one before, with what was counted in it.
  struct Finished {
    std::unique_ptr<PerfDataWriter> writer;
    OutputTotals totals;
  };
  Finished exchange(std::unique_ptr<PerfDataWriter> writer);

  // Notes what a run of records holds, before or after it is appended.
  void count(uint64_t raw_bytes, uint32_t cpu, const RecordTally& tally);
  // Appends whole records, as they go into the file.
  Result<void> append(std::span<const std::byte> bytes);
  Result<void> flush();

  uint64_t round() const;
  // The reader has read all its rings since it asked for `round`.
  Result<void> report(size_t reader, uint64_t round);
  // At the end: everything has been read.
  Result<void> last_round();

  uint64_t file_bytes() const;
  OutputTotals totals() const;

 private:
  Result<void> write_mark();

  mutable std::mutex mutex_;
  std::unique_ptr<PerfDataWriter> writer_;
  OutputTotals totals_;
  uint64_t round_ = 0;
  std::vector<bool> reported_;
  bool appended_ = false;  // since the last mark
};

}  // namespace perf_latency
