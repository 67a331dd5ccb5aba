// SPDX-License-Identifier: GPL-2.0-only
// Expands the COMPRESSED records of one data stream.
//
// perf flushes its zstd frame after each record but never ends it, so all records of a file are one
// stream with one dictionary state (tools/perf/util/zstd.c). The output is a plain record stream that
// ignores the records' borders: the caller keeps a cut record's head for the next call.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace perf_latency {

class ZstdStream {
 public:
  enum class Status {
    all_taken,  // `compressed` is empty now
    more,       // `out` has grown enough; call again with what is left
    bad,        // no valid zstd; what was expanded up to there stays in `out`
  };

  ZstdStream();
  ~ZstdStream();
  ZstdStream(const ZstdStream&) = delete;
  ZstdStream& operator=(const ZstdStream&) = delete;

  // Appends what `compressed` expands to to `out`, until that has grown by at least `enough` bytes,
  // and takes what was used off the front of `compressed`.
  Status expand(std::span<const std::byte>& compressed, std::vector<std::byte>& out, size_t enough);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace perf_latency
