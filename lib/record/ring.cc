// SPDX-License-Identifier: GPL-2.0-only
#include "record/ring.h"

#include <unistd.h>

#include <algorithm>

#include "base/byte_cursor.h"

namespace perf_latency {

namespace {

// In every sample: header, identifier, ip, pid and tid, time (kWriterSampleIdType and IP).
constexpr uint64_t kTimeOffset = 32;

}  // namespace

size_t Ring::page_bytes() {
  static const size_t bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

size_t Ring::record_bytes(uint64_t position, uint64_t end) const {
  const size_t size = load_unchecked<uint16_t>(at(position) + 6);
  return size < kRecordHeaderBytes || size % 8 != 0 || size > end - position ? 0 : size;
}

std::span<const std::byte> Ring::record(uint64_t position, size_t size) {
  const size_t until_wrap = size_bytes() - (position & mask_);
  if (size <= until_wrap) return {at(position), size};
  wrapped_.assign(at(position), at(position) + until_wrap);
  wrapped_.insert(wrapped_.end(), data_, data_ + (size - until_wrap));
  return wrapped_;
}

// Only header words and 8-byte fields at multiples of 8 are read: they never wrap.
void Ring::count(uint64_t position, RecordTally& tally) const {
  switch (static_cast<RecordType>(load_unchecked<uint32_t>(at(position)))) {
    case RecordType::sample:
      ++tally.samples;
      break;
    case RecordType::lost:
      tally.lost += load_unchecked<uint64_t>(at(position + 16));
      break;
    case RecordType::mmap2:
      ++tally.maps;
      break;
    case RecordType::switch_:
      ++tally.switches;
      break;
    default:
      break;
  }
}

std::span<const std::byte> Ring::next(uint64_t end, size_t max_bytes, RecordTally& tally) {
  const uint64_t begin = tail_;
  const uint64_t wrap = begin + (size_bytes() - (begin & mask_));
  uint64_t position = begin;
  uint64_t first_sample = 0, last_sample = 0;
  bool any_sample = false;
  size_t size = 0;
  while (position != end) {
    size = record_bytes(position, end);
    if (size == 0) {
      // The kernel does not write such a record; skip what is there rather than read it for ever.
      next_tail_ = end;
      break;
    }
    const bool wraps = position + size > wrap;
    if (position != begin && (wraps || position + size - begin > max_bytes)) break;
    count(position, tally);
    if (load_unchecked<uint32_t>(at(position)) == static_cast<uint32_t>(RecordType::sample)) {
      if (!any_sample) first_sample = position;
      last_sample = position;
      any_sample = true;
    }
    position += size;
    next_tail_ = position;
    if (wraps) break;
  }
  if (any_sample) {
    tally.first_time_ns =
        std::min(tally.first_time_ns, load_unchecked<uint64_t>(at(first_sample + kTimeOffset)));
    tally.last_time_ns =
        std::max(tally.last_time_ns, load_unchecked<uint64_t>(at(last_sample + kTimeOffset)));
  }
  if (position == begin) return {};
  if (position > wrap) return record(begin, position - begin);
  return {at(begin), static_cast<size_t>(position - begin)};
}

void Ring::consume() {
  tail_ = next_tail_;
  __atomic_store_n(&control_->data_tail, tail_, __ATOMIC_RELEASE);
}

}  // namespace perf_latency
