// SPDX-License-Identifier: GPL-2.0-only
// Reads the content of one feature section (tools/perf/util/header.c, feat_ops) into Metadata.
#pragma once

#include <span>

#include "base/diagnostics.h"
#include "perfdata/metadata.h"

namespace perf_latency {

// Our recorder's own feature, "MACHINE_STATE" (perf skips bits that it does not know): u32 count, then
// pairs of strings, key and value. A file that has it was written by perf latency.
inline constexpr uint32_t kMachineStateBit = 200;

// Features that this program has no use for are noted as present and skipped. A section that cannot
// be read is counted (bad_feature) and leaves Metadata as it was.
void read_feature(uint32_t bit, std::span<const std::byte> section, Metadata& metadata,
                  Diagnostics& diagnostics);

// False for features that this program has no use for: their sections need not even be read.
bool feature_is_used(uint32_t bit);

// A build-id record (in the BUILD_ID section, or HEADER_BUILD_ID in a pipe): the whole record.
std::optional<BuildIdEntry> parse_build_id_record(std::span<const std::byte> record, bool swap);

}  // namespace perf_latency
