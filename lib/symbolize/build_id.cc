// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/build_id.h"

#include <algorithm>

namespace perf_latency {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

BuildId::BuildId(std::span<const std::byte> bytes)
    : size_(static_cast<uint8_t>(std::min(bytes.size(), kMaxBytes))) {
  std::copy_n(bytes.begin(), size_, bytes_.begin());
  // All zeros is how perf writes "none".
  if (std::all_of(bytes_.begin(), bytes_.end(), [](std::byte b) { return b == std::byte{0}; }))
    size_ = 0;
}

BuildId BuildId::from_hex(std::string_view hex) {
  std::array<std::byte, kMaxBytes> bytes;
  if (hex.size() % 2 != 0 || hex.size() / 2 > kMaxBytes) return {};
  for (size_t i = 0; i < hex.size(); i += 2) {
    const int high = hex_digit(hex[i]);
    const int low = hex_digit(hex[i + 1]);
    if (high < 0 || low < 0) return {};
    bytes[i / 2] = static_cast<std::byte>(high << 4 | low);
  }
  return BuildId(std::span(bytes).first(hex.size() / 2));
}

std::string BuildId::hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(size_ * 2u);
  for (const std::byte b : bytes()) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

}  // namespace perf_latency
