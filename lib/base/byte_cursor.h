// SPDX-License-Identifier: GPL-2.0-only
// Reads fixed-width values out of untrusted bytes, in either byte order.
//
// Every read is checked against what is left; after a read that does not fit the cursor is failed,
// stays so, and all further reads give zero or empty. Callers read a group of fields and look at
// ok() once. Nothing is assumed about alignment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace perf_latency {

inline uint16_t swap_bytes(uint16_t v) { return __builtin_bswap16(v); }
inline uint32_t swap_bytes(uint32_t v) { return __builtin_bswap32(v); }
inline uint64_t swap_bytes(uint64_t v) { return __builtin_bswap64(v); }

// Loads without any check: the caller has proved that sizeof(T) bytes are there.
template <typename T>
inline T load_unchecked(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <typename T>
inline T load_unchecked(const std::byte* at, bool swap) {
  const T value = load_unchecked<T>(at);
  return swap ? swap_bytes(value) : value;
}

class ByteCursor {
 public:
  explicit ByteCursor(std::span<const std::byte> bytes, bool swap = false)
      : bytes_(bytes), swap_(swap) {}

  bool ok() const { return ok_; }
  bool swap() const { return swap_; }
  size_t position() const { return at_; }
  size_t left() const { return ok_ ? bytes_.size() - at_ : 0; }

  uint8_t u8() {
    const std::byte* at = take(1);
    return at ? std::to_integer<uint8_t>(*at) : 0;
  }
  uint16_t u16() { return number<uint16_t>(); }
  uint32_t u32() { return number<uint32_t>(); }
  uint64_t u64() { return number<uint64_t>(); }

  // The next `size` bytes; empty, and failed, when there are fewer.
  std::span<const std::byte> bytes(size_t size) {
    const std::byte* at = take(size);
    return at ? std::span(at, size) : std::span<const std::byte>();
  }
  void skip(size_t size) { take(size); }

  // The text up to a NUL among the next `size` bytes; all of them when there is no NUL.
  std::string_view text(size_t size) { return text_in(bytes(size)); }

  // The text up to the next NUL, which must be there; the cursor moves behind it.
  std::string_view c_string() {
    if (!ok_) return {};
    // memchr must not be given the null pointer of an empty span.
    const void* nul =
        left() == 0 ? nullptr : std::memchr(bytes_.data() + at_, 0, bytes_.size() - at_);
    if (nul == nullptr) {
      ok_ = false;
      return {};
    }
    const char* begin = reinterpret_cast<const char*>(bytes_.data() + at_);
    const size_t length = static_cast<size_t>(static_cast<const char*>(nul) - begin);
    at_ += length + 1;
    return {begin, length};
  }

  static std::string_view text_in(std::span<const std::byte> bytes) {
    const char* begin = reinterpret_cast<const char*>(bytes.data());
    return bytes.empty() ? std::string_view()
                         : std::string_view(begin, strnlen(begin, bytes.size()));
  }

 private:
  const std::byte* take(size_t size) {
    if (!ok_ || size > bytes_.size() - at_) {
      ok_ = false;
      return nullptr;
    }
    const std::byte* at = bytes_.data() + at_;
    at_ += size;
    return at;
  }
  template <typename T>
  T number() {
    const std::byte* at = take(sizeof(T));
    return at ? load_unchecked<T>(at, swap_) : T{0};
  }

  std::span<const std::byte> bytes_;
  size_t at_ = 0;
  bool swap_;
  bool ok_ = true;
};

}  // namespace perf_latency
