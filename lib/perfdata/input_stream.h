// SPDX-License-Identifier: GPL-2.0-only
// The bytes of a recording, front to back: a mapped file, or a pipe read block by block.
//
// The reader looks at a window of contiguous bytes and moves forward; it never goes back. Bytes of
// the window stay valid as long as somebody holds owner().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace perf_latency {

class InputStream {
 public:
  virtual ~InputStream() = default;

  // What can be read without refill(); starts at position().
  std::span<const std::byte> window() const { return window_; }
  uint64_t position() const { return position_; }
  const std::shared_ptr<const void>& owner() const { return owner_; }

  void advance(size_t bytes) {
    window_ = window_.subspan(bytes);
    position_ += bytes;
  }

  // Makes the window at least `bytes` long. False when the input ends before; the window then holds
  // all that is left.
  bool ensure(size_t bytes) { return window_.size() >= bytes || refill(bytes); }

  // Moves past `bytes`, which need not be in the window. False when the input ends before.
  bool skip(uint64_t bytes);

  // Tells that bytes before position() - kStillUsed will not be looked at any more.
  virtual void drop_behind() {}
  static constexpr uint64_t kStillUsed = 16u << 20;

  // Set when reading failed (not: ended).
  const std::string& read_error() const { return read_error_; }

 protected:
  virtual bool refill(size_t bytes) = 0;

  std::span<const std::byte> window_;
  uint64_t position_ = 0;
  std::shared_ptr<const void> owner_;
  std::string read_error_;
};

// Maps [offset, offset + size) of an open file. The descriptor may be closed afterwards.
Result<std::unique_ptr<InputStream>> map_file(int fd, uint64_t offset, uint64_t size);

// Reads `fd` (which it closes) to its end in blocks.
std::unique_ptr<InputStream> read_blocks(int fd);

}  // namespace perf_latency
