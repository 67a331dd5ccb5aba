// SPDX-License-Identifier: GPL-2.0-only
// The bytes of a file, which is never written to: mapped, or read into memory where a file cannot
// be mapped (procfs) or is compressed (gzip, xz, zstd, told by their magic numbers).
//
// Only regular files are opened: a FIFO or a device in the place of a symbol file is refused rather
// than waited for. What a compressed file may grow to is limited by kMaxUnpackedBytes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace perf_latency {

class FileBytes {
 public:
  static constexpr size_t kMaxUnpackedBytes = size_t{1} << 30;

  // Opens, and unpacks a compressed file. An empty one is an Error: so files of procfs and the like,
  // which have no size and some of which are used up by reading, cannot be named by a recording.
  static Result<FileBytes> open(const std::string& path);
  // For paths that are not from a recording: files without a size are read to their end.
  static Result<FileBytes> open_trusted(const std::string& path);
  static FileBytes from_memory(std::vector<std::byte> bytes);

  FileBytes() = default;
  FileBytes(FileBytes&&) noexcept;
  FileBytes& operator=(FileBytes&&) noexcept;
  ~FileBytes();

  std::span<const std::byte> bytes() const { return bytes_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

 private:
  static Result<FileBytes> open_file(const std::string& path, bool trusted);

  std::span<const std::byte> bytes_;
  std::vector<std::byte> memory_;  // empty when mapped
  bool mapped_ = false;
};

// The unpacked content of gzip, xz or zstd data; an Error for damaged data or a result above
// `max_bytes`.
enum class PackedFormat : uint8_t { none, gzip, xz, zstd };
PackedFormat packed_format(std::span<const std::byte> bytes);
Result<std::vector<std::byte>> unpack(std::span<const std::byte> bytes, size_t max_bytes);

}  // namespace perf_latency
