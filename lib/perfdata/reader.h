// SPDX-License-Identifier: GPL-2.0-only
// Opens a recording, whatever its form, and hands out its records in batches.
//
// Forms: a perf.data file (plain, compressed), a pipe-mode stream (from a pipe, a FIFO, standard input
// or a file), a directory of `perf record --threads` or `--kcore`. Nothing above the reader knows which.
// Not thread-safe: callers that decode in parallel take batches one at a time, under a lock.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "perfdata/metadata.h"
#include "perfdata/record_batch.h"
#include "perfdata/record_stream.h"

namespace perf_latency {

class Reader {
 public:
  // `path` "-" is standard input. A file of another user is refused unless `force`, as perf does
  // (tools/perf/util/data.c, check_backup and open_file_read: root may read every file's own, a user
  // only what belongs to them or to root).
  static Result<std::unique_ptr<Reader>> open(const std::string& path, bool force);

  // In pipe mode the metadata grows with each next().
  const Metadata& metadata() const { return metadata_; }

  // The next batch in file order; false at the end. Directories: one stream after the other.
  bool next(RecordBatch& batch);

  // Of the input, for progress and statistics; 0 when the total is not known (a pipe).
  uint64_t total_bytes() const { return total_bytes_; }
  uint64_t bytes_read() const { return bytes_read_; }

  const Diagnostics& diagnostics() const { return diagnostics_; }
  // Of the records that the reader itself took.
  const RecordCounts& counts() const { return counts_; }

 private:
  static constexpr uint64_t kMaxHeldBytes = 64u << 20;

  Reader() = default;
  Result<void> open_file(const std::string& path, bool force);
  Result<void> open_directory(const std::string& path, bool force);
  Result<void> open_pipe(int fd);
  void add_stream(std::unique_ptr<InputStream> input);
  bool next_of_streams(RecordBatch& batch);
  void hold_until_described();

  Metadata metadata_;
  Diagnostics diagnostics_;
  RecordCounts counts_;
  std::vector<std::unique_ptr<RecordStream>> streams_;
  size_t current_ = 0;
  std::deque<RecordBatch> held_;
  bool hold_done_ = false;
  uint64_t total_bytes_ = 0;
  uint64_t bytes_read_ = 0;
};

}  // namespace perf_latency
