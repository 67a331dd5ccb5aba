// SPDX-License-Identifier: GPL-2.0-only
#include "perfdata/event_attr.h"

#include <algorithm>

namespace perf_latency {
namespace {

uint64_t reverse_bits(uint64_t value) {
  uint64_t reversed = 0;
  for (unsigned bit = 0; bit < 64; ++bit) reversed |= ((value >> bit) & 1) << (63 - bit);
  return reversed;
}

// Moves precise_ip, the one flag wider than a bit (15 and 16), back into its own order.
uint64_t mirror_flags(uint64_t big_endian_flags) {
  const uint64_t flags = reverse_bits(big_endian_flags);
  const uint64_t low = (flags >> 15) & 1;
  const uint64_t high = (flags >> 16) & 1;
  return (flags & ~(uint64_t{3} << 15)) | (high << 15) | (low << 16);
}

}  // namespace

std::optional<EventAttr> parse_event_attr(std::span<const std::byte> bytes, bool swap) {
  ByteCursor cursor(bytes, swap);
  EventAttr attr;
  attr.type = cursor.u32();
  attr.size = cursor.u32();
  const size_t valid = std::min<size_t>(attr.size == 0 ? kMinAttrBytes : attr.size, bytes.size());
  if (!cursor.ok() || valid < kMinAttrBytes) return std::nullopt;
  attr.config = cursor.u64();
  attr.sample_period = cursor.u64();
  attr.sample_type = cursor.u64();
  attr.read_format = cursor.u64();
  const uint64_t flags = cursor.u64();
  attr.flags = swap ? mirror_flags(flags) : flags;
  cursor.skip(4 + 4 + 8);  // wakeup_events, bp_type, config1
  const auto has = [&](size_t end) { return valid >= end; };
  if (has(72)) cursor.skip(8);  // config2
  if (has(80)) attr.branch_sample_type = cursor.u64();
  if (has(96)) {
    attr.sample_regs_user = cursor.u64();
    attr.sample_stack_user = cursor.u32();
    attr.clockid = static_cast<int32_t>(cursor.u32());
  }
  if (has(104)) attr.sample_regs_intr = cursor.u64();
  return attr;
}

}  // namespace perf_latency
