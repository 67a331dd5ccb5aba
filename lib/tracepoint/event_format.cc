// SPDX-License-Identifier: GPL-2.0-only
#include "tracepoint/event_format.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace perf_latency {
namespace {

constexpr std::string_view kPrintHead = "print fmt:";
constexpr std::string_view kBlanks = " \t\r";

std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::optional<uint64_t> number_in(std::string_view text) {
  text = trim(text);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

// The value of `key` in "field:TYPE NAME;\toffset:N;\tsize:N;\tsigned:N;".
std::optional<uint64_t> property(std::string_view line, std::string_view key) {
  const size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  return number_in(line.substr(at + key.size()));
}

bool is_name_char(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

struct Declaration {
  std::string_view type;
  std::string_view name;
  bool is_array = false;  // with its length behind the name
};

// "char comm[16]", "unsigned long addr", "__data_loc char[] name".
Declaration split_declaration(std::string_view text) {
  Declaration declaration;
  text = trim(text);
  while (text.ends_with(']')) {
    const size_t open = text.rfind('[');
    if (open == std::string_view::npos) return {};
    declaration.is_array = true;
    text = trim(text.substr(0, open));
  }
  size_t begin = text.size();
  while (begin != 0 && is_name_char(text[begin - 1])) --begin;
  declaration.name = text.substr(begin);
  declaration.type = trim(text.substr(0, begin));
  return declaration;
}

std::optional<FieldRef> field_ref(const Declaration& declaration, std::string_view properties) {
  const auto offset = property(properties, "offset:");
  const auto size = property(properties, "size:");
  // Raw data is shorter than 64 KiB, as every record is: a field that ends behind is a lie.
  constexpr uint64_t kMax = std::numeric_limits<uint16_t>::max();
  if (!offset || !size || *size == 0 || *offset > kMax || *size > kMax - *offset)
    return std::nullopt;
  FieldRef ref;
  ref.offset = static_cast<uint16_t>(*offset);
  ref.size = static_cast<uint16_t>(*size);
  // Kernels before 2.6.33 did not say.
  const bool is_unsigned = declaration.type.find("unsigned") != std::string_view::npos;
  ref.is_signed = property(properties, "signed:").value_or(!is_unsigned) != 0;
  const bool relative = declaration.type.find("__rel_loc") != std::string_view::npos;
  if (relative || declaration.type.find("__data_loc") != std::string_view::npos) {
    if (ref.size != 4) return std::nullopt;
    ref.kind = relative ? FieldRef::Kind::rel_loc : FieldRef::Kind::data_loc;
  } else if (declaration.is_array) {
    ref.kind = FieldRef::Kind::char_array;
  } else if (ref.size == 1 || ref.size == 2 || ref.size == 4 || ref.size == 8) {
    ref.kind = FieldRef::Kind::number;
  } else {
    return std::nullopt;
  }
  return ref;
}

// One line in front of the print format.
void read_line(std::string_view line, EventFormat& format) {
  line = trim(line);
  const auto value_of = [&](std::string_view key) { return trim(line.substr(key.size())); };
  if (line.starts_with("name:")) {
    format.name = value_of("name:");
  } else if (line.starts_with("ID:")) {
    format.id = number_in(value_of("ID:")).value_or(0);
  } else if (line.starts_with("field")) {
    const size_t colon = line.find(':');  // "field:", "field special:"
    const size_t semicolon = line.find(';', colon);
    if (colon == std::string_view::npos || semicolon == std::string_view::npos) return;
    const auto declaration = split_declaration(line.substr(colon + 1, semicolon - colon - 1));
    if (declaration.name.empty()) return;
    if (const auto ref = field_ref(declaration, line.substr(semicolon)))
      format.fields.push_back({std::string(declaration.name), *ref});
  }
}

}  // namespace

std::string_view load_text(const FieldRef& field, std::span<const std::byte> raw, bool swap) {
  if (field.end() > raw.size()) return {};
  if (field.kind == FieldRef::Kind::char_array)
    return ByteCursor::text_in(raw.subspan(field.offset, field.size));
  if (field.kind != FieldRef::Kind::data_loc && field.kind != FieldRef::Kind::rel_loc) return {};
  const auto location = load_unchecked<uint32_t>(raw.data() + field.offset, swap);
  size_t offset = location & 0xffff;
  const size_t length = location >> 16;
  if (field.kind == FieldRef::Kind::rel_loc) offset += field.end();
  if (offset > raw.size() || length > raw.size() - offset) return {};
  return ByteCursor::text_in(raw.subspan(offset, length));
}

FieldRef EventFormat::find(std::string_view field_name) const {
  for (const Field& field : fields)
    if (field.name == field_name) return field.ref;
  return {};
}

Result<FieldRef> EventFormat::require(std::string_view field_name) const {
  const FieldRef ref = find(field_name);
  if (ref.present()) return ref;
  return make_error("the format of " + system + ":" + name + " has no field '" +
                    std::string(field_name) + "'");
}

Result<EventFormat> parse_event_format(std::string_view system, std::string_view text) {
  EventFormat format;
  format.system = system;
  while (!text.empty() && !trim(text).starts_with(kPrintHead)) {
    const size_t end = std::min(text.find('\n'), text.size());
    read_line(text.substr(0, end), format);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (const size_t at = text.find(kPrintHead); at != std::string_view::npos)
    format.print_format = text.substr(at + kPrintHead.size());
  if (format.name.empty())
    return make_error("a tracepoint format of " + format.system + " cannot be read");
  return format;
}

}  // namespace perf_latency
