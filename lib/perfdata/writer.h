// SPDX-License-Identifier: GPL-2.0-only
// Writes one perf.data: a file, or a pipe-mode stream.
//
// File layout: header, ids, attrs, the early feature sections, their table, the data (at a multiple of
// 4096), the late feature sections behind the final table. Format: tools/perf/util/header.c (6.12).
// The table that counts is the one at the end of the data. The early copy directly before the data
// makes the file of a killed recorder complete but for the late sections: its header still says
// data.size 0, and a reader that finds that takes the table that ends at data.offset.
//
// Invariant: what write() was given is in the file whole or not at all, also when the disk is full.
// Order of calls: create(), write() from any thread, finish() once.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "perfdata/abi.h"

namespace perf_latency {

// An event as the file declares it: the attr as the kernel's header defines it, and its ids.
struct WriterEvent {
  std::vector<std::byte> attr;
  std::vector<uint64_t> ids;
  std::string name;
};

struct FeatureSection {
  Feature feature;
  std::vector<std::byte> content;
};

// The EVENT_DESC section of these events.
FeatureSection event_description_section(const std::vector<WriterEvent>& events);

class PerfDataWriter {
 public:
  // Takes `fd` over. In a pipe the early features become records; sections too large for one are left
  // out, as perf does.
  static Result<std::unique_ptr<PerfDataWriter>> create(int fd, bool pipe,
                                                        const std::vector<WriterEvent>& events,
                                                        std::vector<FeatureSection> early);
  ~PerfDataWriter();
  PerfDataWriter(const PerfDataWriter&) = delete;
  PerfDataWriter& operator=(const PerfDataWriter&) = delete;

  // Appends whole records (or one part of a compressed stream in whole records). Buffered. Fails once
  // the disk is full, and from then on.
  Result<void> write(std::span<const std::byte> records);
  // Hands what is buffered to the kernel.
  Result<void> flush();

  // Writes the late sections, the final table and the header. A section that stands in both lists is
  // taken from the late one. After a full disk the end of the data gives way to them.
  Result<void> finish(std::vector<FeatureSection> late);

  uint64_t data_bytes() const;
  // The errno that writing failed with; 0 while it has not.
  int failed_errno() const;

 private:
  struct Placed {
    Feature feature;
    uint64_t offset;
    uint64_t size;
  };

  PerfDataWriter(int fd, bool pipe) : fd_(fd), pipe_(pipe) {}

  Result<void> begin_file(const std::vector<WriterEvent>& events,
                          const std::vector<FeatureSection>& early);
  Result<void> begin_pipe(const std::vector<WriterEvent>& events,
                          const std::vector<FeatureSection>& early);
  std::vector<std::byte> header_bytes(uint64_t data_bytes, const std::vector<Placed>& placed) const;
  Result<void> write_out(std::span<const std::byte> bytes);
  Result<void> flush_locked();
  void cut_at_last_record(uint64_t file_end);
  bool write_tail(const std::vector<FeatureSection>& late);
  bool give_back(uint64_t bytes);
  void note_boundaries(std::span<const std::byte> records);

  int fd_;
  bool pipe_;
  uint64_t attr_entry_bytes_ = 0;
  uint64_t attrs_offset_ = 0;
  uint64_t attrs_bytes_ = 0;
  uint64_t data_offset_ = 0;
  std::vector<Placed> early_;

  mutable std::mutex mutex_;
  std::vector<std::byte> buffer_;
  uint64_t file_end_ = 0;             // what the kernel has
  std::vector<uint64_t> boundaries_;  // ends of records, for cutting at a full disk
  std::optional<Error> failed_;
  int failed_errno_ = 0;
};

}  // namespace perf_latency
