// SPDX-License-Identifier: GPL-2.0-only
// Where the fields of a sample stand, computed once for each event of the file.
//
// The order of the fields is that of perf_output_sample (kernel/events/core.c, 6.12). Fields up to
// PERIOD have fixed offsets; READ, CALLCHAIN, RAW and those behind are walked, each length checked
// against what is left of the record.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "perfdata/event_attr.h"
#include "perfdata/metadata.h"

namespace perf_latency {

struct SampleLayout {
  static constexpr uint16_t kAbsent = 0xffff;

  SampleLayout() = default;
  explicit SampleLayout(const EventAttr& attr);

  uint64_t sample_type = 0;
  uint64_t read_format = 0;
  uint64_t branch_sample_type = 0;
  uint64_t regs_user_mask = 0;
  uint64_t regs_intr_mask = 0;
  // Byte offsets from the start of the record.
  uint16_t id_at = kAbsent;  // IDENTIFIER, else ID
  uint16_t ip_at = kAbsent;
  uint16_t tid_at = kAbsent;
  uint16_t time_at = kAbsent;
  uint16_t cpu_at = kAbsent;
  uint16_t period_at = kAbsent;
  uint16_t fixed_end = 0;
  // Bytes before the record's end, for the sample_id trailer of other records.
  uint16_t trailer_bytes = 0;
  uint16_t trailer_tid = kAbsent;
  uint16_t trailer_time = kAbsent;
  uint16_t trailer_cpu = kAbsent;
  bool has_trailer = false;
};

// One sample, taken apart. Spans point into the record; numbers are in our byte order, the contents
// of spans in the file's.
struct SampleView {
  uint64_t ip = 0;
  uint64_t time_ns = 0;
  uint64_t period = 1;
  uint64_t cgroup = 0;
  int32_t pid = -1;
  int32_t tid = -1;
  uint32_t cpu = 0;
  uint16_t cpumode = 0;  // of the record's misc bits; whoever takes the chain apart sets it
  uint32_t chain_length = 0;
  const std::byte* chain = nullptr;  // chain_length u64s
  std::span<const std::byte> raw;
  uint64_t regs_user_abi = 0;
  std::span<const std::byte> regs_user;   // u64s, in ascending bit order of the mask
  std::span<const std::byte> stack_user;  // the valid bytes only
};

// What of a sample is wanted; what stands behind the last wanted field is not even checked.
enum class SampleDepth { header, raw, everything };

// False when the record does not fit its layout. `record` is the whole record with its header.
bool parse_sample(const SampleLayout& layout, std::span<const std::byte> record, bool swap,
                  SampleDepth depth, SampleView& view);

// The sample_id trailer of a record that is no sample; absent fields keep their defaults.
struct RecordTrailer {
  int32_t pid = -1;
  int32_t tid = -1;
  uint64_t time_ns = 0;
  uint32_t cpu = UINT32_MAX;
};
bool parse_trailer(const SampleLayout& layout, std::span<const std::byte> record, bool swap,
                   RecordTrailer& trailer);

// Finds the event that a record belongs to, by its id. Built once for a set of events.
class EventIndex {
 public:
  static constexpr uint32_t kUnknown = UINT32_MAX;

  EventIndex() = default;
  explicit EventIndex(const Metadata& metadata);

  // Whether the record is long enough to hold its id at all.
  bool holds_id(std::span<const std::byte> record) const {
    return sample_id_at_ == SampleLayout::kAbsent || record.size() >= sample_id_at_ + 8u;
  }
  // Index into metadata.events, or kUnknown.
  uint32_t of_sample(std::span<const std::byte> record, bool swap) const {
    if (sample_id_at_ == SampleLayout::kAbsent) return event_count_ == 0 ? kUnknown : 0;
    if (record.size() < sample_id_at_ + 8u) return kUnknown;
    return of_id(load_unchecked<uint64_t>(record.data() + sample_id_at_, swap));
  }
  uint32_t of_other(std::span<const std::byte> record, bool swap) const;

 private:
  uint32_t of_id(uint64_t id) const {
    const uint64_t slot = id - first_id_;
    if (slot < dense_.size()) return dense_[slot];
    return of_sparse_id(id);
  }
  uint32_t of_sparse_id(uint64_t id) const;

  uint32_t event_count_ = 0;
  uint16_t sample_id_at_ = SampleLayout::kAbsent;
  uint16_t trailer_id_back_ = SampleLayout::kAbsent;
  uint64_t first_id_ = 0;
  std::vector<uint32_t> dense_;  // ids are handed out one after the other: an array nearly always
  std::unordered_map<uint64_t, uint32_t> sparse_;
};

}  // namespace perf_latency
