// SPDX-License-Identifier: GPL-2.0-only
#include "tracepoint/event_format.h"

#include <event-parse.h>

#include <limits>

namespace perf_latency {
namespace {

struct TepCloser {
  void operator()(tep_handle* tep) const { tep_free(tep); }
};

std::optional<FieldRef> field_ref(const tep_format_field& field) {
  constexpr int kMax = std::numeric_limits<uint16_t>::max();
  // Raw data is shorter than 64 KiB, as every record is: a field that ends behind is a lie.
  if (field.offset < 0 || field.size <= 0 || field.offset > kMax ||
      field.size > kMax - field.offset)
    return std::nullopt;
  FieldRef ref;
  ref.offset = static_cast<uint16_t>(field.offset);
  ref.size = static_cast<uint16_t>(field.size);
  ref.is_signed = (field.flags & TEP_FIELD_IS_SIGNED) != 0;
  const bool dynamic = (field.flags & TEP_FIELD_IS_DYNAMIC) != 0;
  const bool relative = std::string_view(field.type).find("__rel_loc") != std::string_view::npos;
  if (dynamic || relative) {
    if (ref.size != 4) return std::nullopt;
    ref.kind = relative ? FieldRef::Kind::rel_loc : FieldRef::Kind::data_loc;
  } else if ((field.flags & TEP_FIELD_IS_ARRAY) != 0) {
    ref.kind = FieldRef::Kind::char_array;
  } else if (ref.size == 1 || ref.size == 2 || ref.size == 4 || ref.size == 8) {
    ref.kind = FieldRef::Kind::number;
  } else {
    return std::nullopt;
  }
  return ref;
}

void add_fields(const tep_format_field* field, EventFormat& format) {
  for (; field != nullptr; field = field->next)
    if (const auto ref = field_ref(*field)) format.fields.push_back({field->name, *ref});
}

constexpr std::string_view kPrintHead = "print fmt:";

std::string print_format_of(std::string_view text) {
  const size_t at = text.find(kPrintHead);
  if (at == std::string_view::npos) return {};
  return std::string(text.substr(at + kPrintHead.size()));
}

// libtraceevent (1.7) parses a print format by recursion without a limit: a hostile one overflows the
// stack. Nothing here needs its result (task states are TaskStateTable's), so it is given an empty one.
std::string without_print_format(std::string_view text) {
  return std::string(text.substr(0, text.find(kPrintHead))) + "print fmt: \"\"\n";
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

Result<EventFormat> parse_event_format(std::string_view system, std::string_view text,
                                       uint32_t long_bytes, bool big_endian) {
  const std::unique_ptr<tep_handle, TepCloser> tep(tep_alloc());
  if (!tep) return make_error("libtraceevent cannot be set up");
  tep_set_long_size(tep.get(), static_cast<int>(long_bytes));
  tep_set_file_bigendian(tep.get(), big_endian ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
  tep_set_loglevel(TEP_LOG_NONE);
  const std::string terminated = without_print_format(text);
  const std::string system_name(system);
  tep_event* event = nullptr;
  // An error may only mean a field that it does not understand: the others are there then.
  tep_parse_format(tep.get(), &event, terminated.c_str(), terminated.size(), system_name.c_str());
  if (event == nullptr || event->name == nullptr)
    return make_error("a tracepoint format of " + system_name + " cannot be read");
  EventFormat format;
  format.system = system_name;
  format.name = event->name;
  format.id = static_cast<uint64_t>(event->id);
  format.print_format = print_format_of(text);
  add_fields(event->format.common_fields, format);
  add_fields(event->format.fields, format);
  return format;
}

}  // namespace perf_latency
