// SPDX-License-Identifier: GPL-2.0-only
// A run of whole records, ready to be decoded by any thread, and the counters of record types.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

namespace perf_latency {

// Invariant: `bytes` is a sequence of records whose sizes were checked: each at least a header, the
// last one ends with the bytes. Only records of the kernel (type < 64) are in it.
struct RecordBatch {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  // keeps `bytes` alive
  uint64_t offset = 0;      // in the file; for expanded records that of the COMPRESSED record
  uint32_t stream = 0;      // 0, or N + 1 for DIR/data.N
  bool ends_round = false;  // a FINISHED_ROUND follows
};

// How many records of each type there were. Types beyond the table share its last place.
class RecordCounts {
 public:
  static constexpr uint32_t kTypes = 128;
  void add(uint32_t type, uint64_t n = 1) { counts_[type < kTypes ? type : kTypes] += n; }
  uint64_t operator[](uint32_t type) const { return counts_[type < kTypes ? type : kTypes]; }
  void merge(const RecordCounts& other) {
    for (uint32_t i = 0; i <= kTypes; ++i) counts_[i] += other.counts_[i];
  }

 private:
  std::array<uint64_t, kTypes + 1> counts_{};
};

}  // namespace perf_latency
