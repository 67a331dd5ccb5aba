// SPDX-License-Identifier: GPL-2.0-only
// The fields of one tracepoint, from its format text (kernel/trace/trace_events.c, f_show, 6.12).
//
// The text is read line by line with code of our own: libtraceevent 1.7 overflows the stack on a hostile
// print format, leaks memory on hostile fields, and knows more about print formats than is needed here
// (task states are TaskStateTable's). Offsets are resolved once; per event a field is a checked load.
// A field that a kernel does not have is absent, and load() must not be called for it: 0 is a valid
// value of most fields.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_cursor.h"
#include "base/result.h"

namespace perf_latency {

struct FieldRef {
  enum class Kind : uint8_t { absent, number, char_array, data_loc, rel_loc };
  uint16_t offset = 0;
  uint16_t size = 0;
  Kind kind = Kind::absent;
  bool is_signed = false;

  bool present() const { return kind != Kind::absent; }
  size_t end() const { return size_t{offset} + size; }
};

// Loads a number field, sign-extended when the format says signed. The caller has checked that
// field.end() <= raw.size().
inline uint64_t load_number(const FieldRef& field, std::span<const std::byte> raw, bool swap) {
  const std::byte* at = raw.data() + field.offset;
  switch (field.size) {
    case 8:
      return load_unchecked<uint64_t>(at, swap);
    case 4: {
      const auto value = load_unchecked<uint32_t>(at, swap);
      return field.is_signed
                 ? static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(value)))
                 : value;
    }
    case 2: {
      const auto value = load_unchecked<uint16_t>(at, swap);
      return field.is_signed
                 ? static_cast<uint64_t>(static_cast<int64_t>(static_cast<int16_t>(value)))
                 : value;
    }
    default:
      return std::to_integer<uint8_t>(*at);
  }
}

// The text of a fixed or dynamic char array, up to its NUL if it has one; empty when it does not lie
// inside `raw`.
std::string_view load_text(const FieldRef& field, std::span<const std::byte> raw, bool swap);

class EventFormat {
 public:
  struct Field {
    std::string name;
    FieldRef ref;
  };
  std::string system;
  std::string name;
  uint64_t id = 0;
  std::string print_format;  // the text behind "print fmt:"
  std::vector<Field> fields;

  FieldRef find(std::string_view field_name) const;
  // The field, or an error that names the event and the field.
  Result<FieldRef> require(std::string_view field_name) const;
};

Result<EventFormat> parse_event_format(std::string_view system, std::string_view text);

}  // namespace perf_latency
