// SPDX-License-Identifier: GPL-2.0-only
// A GNU build id: what tells two builds of one file apart.
//
// Usually 20 bytes (SHA-1), also 16 (MD5, UUID) and 8 (lld's fast ids). perf.data records before
// perf 5.11 carry no length, only 20 bytes with zeros behind shorter ids, so trailing zeros do not
// count when two ids are compared. Ids longer than 20 bytes are cut there, as perf cuts them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace perf_latency {

class BuildId {
 public:
  static constexpr size_t kMaxBytes = 20;

  BuildId() = default;
  explicit BuildId(std::span<const std::byte> bytes);
  // Hexadecimal text of even length; anything else gives an empty id.
  static BuildId from_hex(std::string_view hex);

  bool empty() const { return size_ == 0; }
  std::span<const std::byte> bytes() const { return {bytes_.data(), size_}; }
  std::string hex() const;

  friend bool operator==(const BuildId& a, const BuildId& b) { return a.bytes_ == b.bytes_; }

 private:
  std::array<std::byte, kMaxBytes> bytes_{};  // zeros behind size_
  uint8_t size_ = 0;
};

}  // namespace perf_latency
