// SPDX-License-Identifier: GPL-2.0-only
// The bytes of a recording, front to back, read block by block from a file or a pipe.
//
// A file is read, not mapped: copying a block into memory that is still in a core's cache costs less
// than the page faults of a mapping, the memory in use stays small, and a file that somebody cuts
// meanwhile ends early instead of raising SIGBUS.
//
// The reader looks at a window of contiguous bytes and moves forward; it never goes back. Bytes of
// the window stay valid as long as somebody holds owner().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

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
  virtual bool skip(uint64_t bytes);

  // Set when reading failed (not: ended).
  const std::string& read_error() const { return read_error_; }

 protected:
  virtual bool refill(size_t bytes) = 0;

  std::span<const std::byte> window_;
  uint64_t position_ = 0;
  std::shared_ptr<const void> owner_;
  std::string read_error_;
};

// [offset, offset + size) of an open file, or what of it there is. Closes `fd` at its end.
std::unique_ptr<InputStream> read_file_range(int fd, uint64_t offset, uint64_t size);

// The same of a whole file, which is open only while it is being read: a recording's directory has one
// for each of a thousand CPUs.
std::unique_ptr<InputStream> read_whole_file(std::string path, uint64_t size);

// Reads `fd` (which it closes) to its end.
std::unique_ptr<InputStream> read_pipe(int fd);

}  // namespace perf_latency
