// SPDX-License-Identifier: GPL-2.0-only
// perf_event_attr as any perf wrote it: sizes 64 to 144 and longer, either byte order.
//
// Fields that the writer's attr was too short for are zero. Flag bits are numbered as in a
// little-endian u64 (include/uapi/linux/perf_event.h); on a big-endian writer the bit-field starts at
// the most significant bit, parse() mirrors that.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/byte_cursor.h"

namespace perf_latency {

enum class AttrFlag : unsigned {
  disabled = 0,
  inherit = 1,
  freq = 10,
  task = 13,
  sample_id_all = 18,
  exclude_callchain_kernel = 21,
  exclude_callchain_user = 22,
  comm_exec = 24,
  use_clockid = 25,
  context_switch = 26,
  write_backward = 27,
};

struct EventAttr {
  uint32_t type = 0;
  uint32_t size = 0;  // as written; 0 means 64
  uint64_t config = 0;
  uint64_t sample_period = 0;
  uint64_t sample_type = 0;
  uint64_t read_format = 0;
  uint64_t flags = 0;
  uint64_t branch_sample_type = 0;
  uint64_t sample_regs_user = 0;
  uint32_t sample_stack_user = 0;
  int32_t clockid = 0;
  uint64_t sample_regs_intr = 0;

  bool has(AttrFlag flag) const { return (flags >> static_cast<unsigned>(flag)) & 1; }
};

inline constexpr size_t kMinAttrBytes = 64;

// Reads an attr that fills `bytes` (or the part of it that attr.size tells). None when even the
// oldest attr (64 bytes) does not fit.
std::optional<EventAttr> parse_event_attr(std::span<const std::byte> bytes, bool swap);

}  // namespace perf_latency
