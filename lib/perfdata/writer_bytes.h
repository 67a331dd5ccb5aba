// SPDX-License-Identifier: GPL-2.0-only
// Builds byte strings in this machine's byte order: what the writer's records and sections are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace perf_latency {

class ByteWriter {
 public:
  const std::vector<std::byte>& bytes() const { return bytes_; }
  std::vector<std::byte> take() { return std::move(bytes_); }
  size_t size() const { return bytes_.size(); }

  void u8(uint8_t v) { number(v); }
  void u16(uint16_t v) { number(v); }
  void u32(uint32_t v) { number(v); }
  void u64(uint64_t v) { number(v); }

  void raw(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void raw(const void* data, size_t size) {
    raw(std::span(static_cast<const std::byte*>(data), size));
  }
  void zeros(size_t n) { bytes_.resize(bytes_.size() + n); }
  // Zeros up to the next multiple of `align` (counted from the start of these bytes).
  void pad_to(size_t align) { zeros((align - bytes_.size() % align) % align); }

  void text(std::string_view text) { raw(text.data(), text.size()); }
  void c_string(std::string_view text) {
    this->text(text);
    zeros(1);
  }

  template <typename T>
  void number_at(size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof value);
  }

 private:
  template <typename T>
  void number(T value) {
    raw(&value, sizeof value);
  }

  std::vector<std::byte> bytes_;
};

}  // namespace perf_latency
