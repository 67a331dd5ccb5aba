// SPDX-License-Identifier: GPL-2.0-only
// The header of a perf.data file: magic, sections, attrs, feature table.
//
// Format: tools/perf/util/header.{h,c} (6.12): perf_file_header, perf_file_attr. The header of a
// killed recorder (data size 0) has its feature bits set but no feature sections. Our own recorder
// writes the sections that it knows at the start before the data, and a copy of their table that ends
// where the data begins: what perf cannot tell of a killed recording, it can.
#pragma once

#include <functional>
#include <span>

#include "base/diagnostics.h"
#include "base/result.h"
#include "perfdata/metadata.h"

namespace perf_latency {

struct FileSection {
  uint64_t offset = 0;
  uint64_t size = 0;
};

struct FileHeader {
  bool pipe = false;
  bool swapped = false;
  uint64_t header_bytes = 0;
  uint64_t attr_entry_bytes = 0;
  FileSection attrs;
  FileSection data;
  std::bitset<kFeatureBits> features;
};

inline constexpr size_t kPipeHeaderBytes = 16;
inline constexpr size_t kFileHeaderBytes = 104;

// Reads the magic and the header from the first bytes of a file. `available` may be just the first
// 16 bytes of a pipe.
Result<FileHeader> parse_file_header(std::span<const std::byte> available);

// Copies `size` bytes at `offset` of the file; fewer, or none, where the file ends before.
using ReadAt = std::function<std::vector<std::byte>(uint64_t offset, uint64_t size)>;

// Reads attrs and features of a file-mode recording; `file_bytes` is the size of the file. Corrects
// `header.data` for killed and truncated recordings, and says so in metadata and diagnostics.
Result<void> read_file_metadata(FileHeader& header, uint64_t file_bytes, const ReadAt& read_at,
                                Metadata& metadata, Diagnostics& diagnostics);

}  // namespace perf_latency
