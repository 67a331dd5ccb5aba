// SPDX-License-Identifier: GPL-2.0-only
// Turns runs of records into COMPRESSED records.
//
// perf keeps one zstd stream for a whole file. Here each run is a zstd frame of its own: threads can
// then compress side by side, a reader can expand frames side by side, and a file cut anywhere loses
// one frame. perf's reader takes that, since its decoder starts the next frame by itself, as long as
// no record holds the end of one frame and the start of another: each frame starts a record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace perf_latency {

// The largest run: what perf must allocate to expand a frame (COMPRESSED feature, comp_mmap_len).
inline constexpr size_t kMaxChunkBytes = 1u << 20;

class ChunkEncoder {
 public:
  explicit ChunkEncoder(int level);
  ~ChunkEncoder();
  ChunkEncoder(const ChunkEncoder&) = delete;
  ChunkEncoder& operator=(const ChunkEncoder&) = delete;

  // At most kMaxChunkBytes. The result is valid until the next call; empty when zstd fails, which it
  // does for want of memory only.
  std::span<const std::byte> encode(std::span<const std::byte> records);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::vector<std::byte> frame_;
  std::vector<std::byte> records_;
};

}  // namespace perf_latency
