// SPDX-License-Identifier: GPL-2.0-only
#include "perfdata/sample_layout.h"

#include <algorithm>
#include <bit>

namespace perf_latency {
namespace {

constexpr uint64_t kTrailerFields =
    kSampleTid | kSampleTime | kSampleId | kSampleStreamId | kSampleCpu | kSampleIdentifier;

uint16_t words_before(uint64_t sample_type, uint64_t fields) {
  return static_cast<uint16_t>(8 * std::popcount(sample_type & fields));
}

// Walks the fields of variable length. Each step says whether the record holds what it claims.
class FieldWalk {
 public:
  FieldWalk(std::span<const std::byte> record, size_t at, bool swap) : cursor_(record, swap) {
    cursor_.skip(at);
  }
  bool ok() const { return cursor_.ok(); }
  size_t left() const { return cursor_.left(); }
  uint64_t u64() { return cursor_.u64(); }
  uint32_t u32() { return cursor_.u32(); }

  // `count` u64s.
  std::span<const std::byte> words(uint64_t count) {
    if (count > cursor_.left() / 8) {
      cursor_.skip(SIZE_MAX);
      return {};
    }
    return cursor_.bytes(count * 8);
  }
  std::span<const std::byte> bytes(uint64_t size) {
    return cursor_.bytes(size > cursor_.left() ? SIZE_MAX : static_cast<size_t>(size));
  }

 private:
  ByteCursor cursor_;
};

void walk_read(const SampleLayout& layout, FieldWalk& walk) {
  const uint64_t format = layout.read_format;
  const uint64_t times = std::popcount(format & (kReadEnabled | kReadRunning));
  const uint64_t per_value = 1 + std::popcount(format & (kReadId | kReadLost));
  if ((format & kReadGroup) == 0) {
    walk.words(times + per_value);
    return;
  }
  const uint64_t count = walk.u64();
  walk.words(times);
  if (count > walk.left() / 8) {
    walk.words(UINT64_MAX);
    return;
  }
  walk.words(count * per_value);
}

// A kernel without branch data writes a count of 0 and no hw_idx word: what is left of the record
// decides (perf takes the next field for hw_idx and fails).
void walk_branch_stack(const SampleLayout& layout, FieldWalk& walk, uint64_t words_behind) {
  const uint64_t count = walk.u64();
  const bool hw_index = (layout.branch_sample_type & kBranchSampleHwIndex) != 0;
  if (hw_index && (count != 0 || walk.left() / 8 > words_behind)) walk.u64();
  if (count > walk.left() / 24) {
    walk.words(UINT64_MAX);
    return;
  }
  walk.words(count * 3);
  if ((layout.branch_sample_type & kBranchSampleCounters) != 0) walk.words(count);
}

void walk_regs(uint64_t mask, FieldWalk& walk, uint64_t& abi, std::span<const std::byte>& regs) {
  abi = walk.u64();
  regs = abi == 0 ? std::span<const std::byte>() : walk.words(std::popcount(mask));
}

// size, size bytes, and how many of them are valid; nothing follows a size of 0.
std::span<const std::byte> walk_stack(FieldWalk& walk) {
  const uint64_t size = walk.u64();
  if (size == 0) return {};
  const std::span<const std::byte> bytes = walk.bytes(size);
  const uint64_t valid = walk.u64();
  return bytes.first(std::min<uint64_t>(valid, bytes.size()));
}

// What stands at least behind BRANCH_STACK, in words.
uint64_t words_behind_branches(uint64_t type) {
  constexpr uint64_t kOneWord = kSampleRegsUser | kSampleStackUser | kSampleWeight |
                                kSampleWeightStruct | kSampleDataSrc | kSampleTransaction |
                                kSampleRegsIntr | kSamplePhysAddr | kSampleCgroup |
                                kSampleDataPageSize | kSampleCodePageSize | kSampleAux;
  return std::popcount(type & kOneWord);
}

}  // namespace

SampleLayout::SampleLayout(const EventAttr& attr)
    : sample_type(attr.sample_type),
      read_format(attr.read_format),
      branch_sample_type(attr.branch_sample_type),
      regs_user_mask(attr.sample_regs_user),
      regs_intr_mask(attr.sample_regs_intr),
      has_trailer(attr.has(AttrFlag::sample_id_all)) {
  uint16_t at = kRecordHeaderBytes;
  const auto place = [&](uint64_t field) {
    if ((sample_type & field) == 0) return kAbsent;
    const uint16_t here = at;
    at = static_cast<uint16_t>(at + 8);
    return here;
  };
  const uint16_t identifier_at = place(kSampleIdentifier);
  ip_at = place(kSampleIp);
  tid_at = place(kSampleTid);
  time_at = place(kSampleTime);
  place(kSampleAddr);
  id_at = place(kSampleId);
  if (identifier_at != kAbsent) id_at = identifier_at;
  place(kSampleStreamId);
  cpu_at = place(kSampleCpu);
  period_at = place(kSamplePeriod);
  fixed_end = at;

  trailer_bytes = words_before(sample_type, kTrailerFields);
  const auto from_end = [&](uint64_t field, uint64_t field_and_behind) {
    return (sample_type & field) != 0 ? words_before(sample_type, field_and_behind) : kAbsent;
  };
  trailer_tid = from_end(kSampleTid, kTrailerFields);
  trailer_time = from_end(kSampleTime, kTrailerFields & ~kSampleTid);
  trailer_cpu = from_end(kSampleCpu, kSampleCpu | kSampleIdentifier);
}

bool parse_sample(const SampleLayout& layout, std::span<const std::byte> record, bool swap,
                  SampleDepth depth, SampleView& view) {
  if (record.size() < layout.fixed_end) return false;
  const std::byte* base = record.data();
  if (layout.ip_at != SampleLayout::kAbsent)
    view.ip = load_unchecked<uint64_t>(base + layout.ip_at, swap);
  if (layout.tid_at != SampleLayout::kAbsent) {
    view.pid = static_cast<int32_t>(load_unchecked<uint32_t>(base + layout.tid_at, swap));
    view.tid = static_cast<int32_t>(load_unchecked<uint32_t>(base + layout.tid_at + 4, swap));
  }
  if (layout.time_at != SampleLayout::kAbsent)
    view.time_ns = load_unchecked<uint64_t>(base + layout.time_at, swap);
  if (layout.cpu_at != SampleLayout::kAbsent)
    view.cpu = load_unchecked<uint32_t>(base + layout.cpu_at, swap);
  if (layout.period_at != SampleLayout::kAbsent)
    view.period = load_unchecked<uint64_t>(base + layout.period_at, swap);
  if (depth == SampleDepth::header) return true;

  const uint64_t type = layout.sample_type;
  FieldWalk walk(record, layout.fixed_end, swap);
  if (type & kSampleRead) walk_read(layout, walk);
  if (type & kSampleCallchain) {
    const uint64_t count = walk.u64();
    const auto chain = walk.words(count);
    view.chain = chain.data();
    view.chain_length = static_cast<uint32_t>(chain.size() / 8);
  }
  if (type & kSampleRaw) {
    const uint32_t raw_bytes = walk.u32();
    view.raw = walk.bytes(raw_bytes);
  }
  if (depth == SampleDepth::raw || !walk.ok()) return walk.ok();

  if (type & kSampleBranchStack) walk_branch_stack(layout, walk, words_behind_branches(type));
  if (type & kSampleRegsUser)
    walk_regs(layout.regs_user_mask, walk, view.regs_user_abi, view.regs_user);
  if (type & kSampleStackUser) view.stack_user = walk_stack(walk);
  if (type & (kSampleWeight | kSampleWeightStruct)) walk.u64();
  if (type & kSampleDataSrc) walk.u64();
  if (type & kSampleTransaction) walk.u64();
  if (type & kSampleRegsIntr) {
    uint64_t abi = 0;
    std::span<const std::byte> regs;
    walk_regs(layout.regs_intr_mask, walk, abi, regs);
  }
  if (type & kSamplePhysAddr) walk.u64();
  if (type & kSampleCgroup) view.cgroup = walk.u64();
  if (type & kSampleDataPageSize) walk.u64();
  if (type & kSampleCodePageSize) walk.u64();
  if (type & kSampleAux) walk.bytes(walk.u64());
  return walk.ok();
}

bool parse_trailer(const SampleLayout& layout, std::span<const std::byte> record, bool swap,
                   RecordTrailer& trailer) {
  if (!layout.has_trailer) return true;
  if (record.size() < kRecordHeaderBytes + layout.trailer_bytes) return false;
  const std::byte* end = record.data() + record.size();
  if (layout.trailer_tid != SampleLayout::kAbsent) {
    trailer.pid = static_cast<int32_t>(load_unchecked<uint32_t>(end - layout.trailer_tid, swap));
    trailer.tid =
        static_cast<int32_t>(load_unchecked<uint32_t>(end - layout.trailer_tid + 4, swap));
  }
  if (layout.trailer_time != SampleLayout::kAbsent)
    trailer.time_ns = load_unchecked<uint64_t>(end - layout.trailer_time, swap);
  if (layout.trailer_cpu != SampleLayout::kAbsent)
    trailer.cpu = load_unchecked<uint32_t>(end - layout.trailer_cpu, swap);
  return true;
}

// With several events all must have their id at the same place, or none could be told from another;
// perf takes the first event's place where they differ (tools/perf/util/evlist.c, evlist__event2evsel).
EventIndex::EventIndex(const Metadata& metadata)
    : event_count_(static_cast<uint32_t>(metadata.events.size())) {
  if (event_count_ > 1) {
    const EventAttr& first = metadata.events.front().attr;
    const SampleLayout layout(first);
    sample_id_at_ = layout.id_at;
    if (layout.has_trailer && (first.sample_type & kSampleIdentifier) != 0)
      trailer_id_back_ = 8;
    else if (layout.has_trailer && (first.sample_type & kSampleId) != 0)
      trailer_id_back_ = words_before(first.sample_type, kSampleId | kSampleStreamId | kSampleCpu);
  }
  if (metadata.event_of_id.empty()) return;
  constexpr uint64_t kMaxDense = 1u << 22;
  uint64_t low = UINT64_MAX;
  uint64_t high = 0;
  for (const auto& [id, event] : metadata.event_of_id) {
    low = std::min(low, id);
    high = std::max(high, id);
  }
  if (high - low >= std::min(kMaxDense, 64 * metadata.event_of_id.size() + 4096)) {
    sparse_ = metadata.event_of_id;
    return;
  }
  first_id_ = low;
  dense_.assign(high - low + 1, kUnknown);
  for (const auto& [id, event] : metadata.event_of_id) dense_[id - low] = event;
}

uint32_t EventIndex::of_sparse_id(uint64_t id) const {
  const auto found = sparse_.find(id);
  return found == sparse_.end() ? kUnknown : found->second;
}

// Records that perf made up carry id 0: they are of the first event.
uint32_t EventIndex::of_other(std::span<const std::byte> record, bool swap) const {
  if (event_count_ == 0) return kUnknown;
  if (trailer_id_back_ == SampleLayout::kAbsent ||
      record.size() < kRecordHeaderBytes + trailer_id_back_)
    return 0;
  const auto id = load_unchecked<uint64_t>(record.data() + record.size() - trailer_id_back_, swap);
  if (id == 0) return 0;
  const uint32_t event = of_id(id);
  return event == kUnknown ? 0 : event;
}

}  // namespace perf_latency
