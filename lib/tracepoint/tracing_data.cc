// SPDX-License-Identifier: GPL-2.0-only
#include "tracepoint/tracing_data.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/byte_cursor.h"

namespace perf_latency {
namespace {

constexpr std::string_view kMagic = "\x17\x08\x44tracing";

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A name with NUL ("header_page"), u64 length, text.
std::string_view named_block(ByteCursor& cursor, std::string_view expected) {
  if (cursor.c_string() != expected) return {};
  const uint64_t length = cursor.u64();
  if (length > cursor.left()) return {};
  return as_text(cursor.bytes(length));
}

// header_page describes the ring buffer page; its `commit` field is a kernel long. A 32-bit perf on a
// 64-bit kernel writes its own long size into the byte before, so the field decides.
uint32_t commit_bytes(std::string_view header_page, uint32_t fallback) {
  const size_t field = header_page.find(" commit;");
  if (field == std::string_view::npos) return fallback;
  constexpr std::string_view kSize = "size:";
  const size_t size = header_page.find(kSize, field);
  if (size == std::string_view::npos) return fallback;
  uint32_t bytes = 0;
  const char* begin = header_page.data() + size + kSize.size();
  std::from_chars(begin, header_page.data() + header_page.size(), bytes);
  return bytes == 4 || bytes == 8 ? bytes : fallback;
}

bool read_formats(ByteCursor& cursor, std::string_view system, TracingData& data) {
  const uint32_t count = cursor.u32();
  for (uint32_t i = 0; i < count && cursor.ok(); ++i) {
    const uint64_t length = cursor.u64();
    if (length > cursor.left()) return false;
    data.formats.push_back({std::string(system), std::string(as_text(cursor.bytes(length)))});
  }
  return cursor.ok();
}

}  // namespace

Result<TracingData> parse_tracing_data(std::span<const std::byte> bytes) {
  ByteCursor head(bytes);
  if (as_text(head.bytes(std::min(kMagic.size(), bytes.size()))) != kMagic)
    return make_error("the tracing data does not begin with its magic");
  head.c_string();  // version
  TracingData data;
  data.big_endian = head.u8() != 0;
  const uint8_t long_bytes = head.u8();
  if (!head.ok()) return make_error("the tracing data ends in its header");

  ByteCursor cursor(bytes, data.big_endian);
  cursor.skip(head.position());
  cursor.u32();  // page size
  const std::string_view header_page = named_block(cursor, "header_page");
  data.long_bytes = commit_bytes(header_page, long_bytes == 4 ? 4 : 8);
  named_block(cursor, "header_event");
  if (!cursor.ok() || !read_formats(cursor, "ftrace", data))
    return make_error("the tracing data ends in the ftrace formats");
  const uint32_t systems = cursor.u32();
  for (uint32_t i = 0; i < systems && cursor.ok(); ++i) {
    const std::string system(cursor.c_string());
    if (!read_formats(cursor, system, data))
      return make_error("the tracing data ends in the formats of " + system);
  }
  if (!cursor.ok()) return make_error("the tracing data ends in its list of systems");
  const uint32_t kallsyms_bytes = cursor.u32();
  if (cursor.ok() && kallsyms_bytes <= cursor.left())
    data.kallsyms = as_text(cursor.bytes(kallsyms_bytes));
  return data;
}

}  // namespace perf_latency
