// SPDX-License-Identifier: GPL-2.0-only
// One ring buffer that the kernel fills, read as contiguous runs of whole records.
//
// The protocol is that of tools/include/linux/ring_buffer.h (6.12): data_head is loaded with acquire,
// data_tail stored with release once the records have been used. Records are multiples of 8 bytes and
// so is the buffer: a record's header never wraps, its body may.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "perfdata/abi.h"

namespace perf_latency {

// What a run of records held, counted while it was cut.
struct RecordTally {
  uint64_t samples = 0;
  uint64_t switches = 0;  // SWITCH records: recordings without rights have no samples
  uint64_t lost = 0;      // sum of the LOST records
  uint64_t maps = 0;      // MMAP2 records
  uint64_t first_time_ns = UINT64_MAX;
  uint64_t last_time_ns = 0;
};

class Ring {
 public:
  // `base` is the mapped control page with the data behind it; it outlives the Ring.
  Ring(void* base, uint64_t data_bytes, int fd, uint32_t cpu)
      : control_(static_cast<perf_event_mmap_page*>(base)),
        data_(static_cast<const std::byte*>(base) + page_bytes()),
        mask_(data_bytes - 1),
        fd_(fd),
        cpu_(cpu) {}

  int fd() const { return fd_; }
  uint32_t cpu() const { return cpu_; }
  uint64_t size_bytes() const { return mask_ + 1; }

  // Where the kernel writes next: everything before is complete.
  uint64_t head() const { return __atomic_load_n(&control_->data_head, __ATOMIC_ACQUIRE); }
  uint64_t tail() const { return tail_; }

  // The next whole records before `end` (a head() taken earlier), at most `max_bytes` of them but at
  // least one; empty when there are none. Valid until the next call or consume().
  std::span<const std::byte> next(uint64_t end, size_t max_bytes, RecordTally& tally);
  // Gives the space of what next() returned back to the kernel.
  void consume();

  // Calls visit(record) for every record between the tail and `end`; nothing is consumed.
  template <typename Visit>
  void peek(uint64_t end, Visit&& visit);

 private:
  static size_t page_bytes();
  const std::byte* at(uint64_t position) const { return data_ + (position & mask_); }
  // 0 when the record does not fit what is there: the ring is damaged.
  size_t record_bytes(uint64_t position, uint64_t end) const;
  std::span<const std::byte> record(uint64_t position, size_t size);
  void count(uint64_t position, RecordTally& tally) const;

  perf_event_mmap_page* control_;
  const std::byte* data_;
  uint64_t mask_;
  int fd_;
  uint32_t cpu_;
  uint64_t tail_ = 0;
  uint64_t next_tail_ = 0;
  std::vector<std::byte> wrapped_;  // a record that wraps, in one piece
};

template <typename Visit>
void Ring::peek(uint64_t end, Visit&& visit) {
  for (uint64_t position = tail_; position != end;) {
    const size_t size = record_bytes(position, end);
    if (size == 0) return;
    visit(record(position, size));
    position += size;
  }
}

}  // namespace perf_latency
