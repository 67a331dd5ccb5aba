// SPDX-License-Identifier: GPL-2.0-only
#include "perfdata/file_header.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "perfdata/features.h"

namespace perf_latency {
namespace {

constexpr std::string_view kMagic2 = "PERFILE2";
constexpr std::string_view kMagic2Swapped = "2ELIFREP";
constexpr std::string_view kMagic1 = "PERFFILE";
constexpr size_t kOldHeaderBytes = 72;  // before the feature bitmap
constexpr size_t kSectionBytes = 16;
constexpr size_t kMaxEvents = 1u << 14;  // perf makes a few hundred; each one costs a plan

FileSection read_section(ByteCursor& cursor) {
  FileSection section;
  section.offset = cursor.u64();
  section.size = cursor.u64();
  return section;
}

// Version 1 has one magic for both orders: the header size is a small number in one of them only.
bool version1_is_swapped(std::span<const std::byte> available) {
  ByteCursor native(available);
  native.skip(8);
  return native.u64() > 0xffffffffu;
}

// The bitmap is an array of C longs. A 32-bit big-endian writer laid it out in 4-byte words; HOSTNAME
// is set in every file, so its place tells (tools/perf/util/header.c, perf_file_header__read).
std::bitset<kFeatureBits> read_feature_bits(ByteCursor& cursor) {
  std::array<uint64_t, kFeatureBits / 64> words;
  for (uint64_t& word : words) word = cursor.u64();
  const auto bit = [&](size_t n) { return (words[n / 64] >> (n % 64)) & 1; };
  const size_t hostname = static_cast<size_t>(Feature::hostname);
  if (cursor.swap() && !bit(hostname))
    for (uint64_t& word : words) word = std::rotl(word, 32);
  std::bitset<kFeatureBits> features;
  for (size_t n = 0; n < kFeatureBits; ++n) features[n] = bit(n);
  return features;
}

bool overflows(const FileSection& section) {
  return section.offset + section.size < section.offset;
}

// Reads the {offset, size} of an attr's ids and the ids themselves. `budget` is how many bytes of ids
// may still come: no file has more of them than it is long, unless sections lie on each other.
bool read_ids(const FileSection& ids, uint64_t& budget, const ReadAt& read_at, bool swap,
              std::vector<uint64_t>& out) {
  if (overflows(ids) || ids.size > budget || ids.size % 8 != 0) return false;
  budget -= ids.size;
  const std::vector<std::byte> bytes = read_at(ids.offset, ids.size);
  ByteCursor cursor(bytes, swap);
  while (cursor.left() >= 8) out.push_back(cursor.u64());
  return bytes.size() == ids.size;
}

Result<void> read_attrs(const FileHeader& header, uint64_t file_bytes, const ReadAt& read_at,
                        Metadata& metadata, Diagnostics& diagnostics) {
  const uint64_t entry = header.attr_entry_bytes;
  if (entry < kMinAttrBytes + kSectionBytes)
    return make_error("the header's attr size of " + std::to_string(entry) +
                          " is too small: the recorder was killed before it wrote the header",
                      16);
  const FileSection& attrs = header.attrs;
  if (overflows(attrs) || attrs.offset > file_bytes || attrs.size > file_bytes - attrs.offset)
    return make_error("the events are not inside the file", attrs.offset);
  const std::vector<std::byte> bytes = read_at(attrs.offset, attrs.size);
  uint64_t ids_budget = file_bytes;
  for (uint64_t at = 0; bytes.size() - at >= entry; at += entry) {
    if (metadata.events.size() == kMaxEvents)
      return make_error("more events than any recorder can open", attrs.offset + at);
    const auto record = std::span(bytes).subspan(at, entry);
    const auto attr = parse_event_attr(record.first(entry - kSectionBytes), header.swapped);
    if (!attr) return make_error("an event's description cannot be read", attrs.offset + at);
    EventDescription event{*attr, {}, {}};
    ByteCursor tail(record.last(kSectionBytes), header.swapped);
    if (!read_ids(read_section(tail), ids_budget, read_at, header.swapped, event.ids))
      diagnostics.add_detail(Diag::bad_feature,
                             "ids of event " + std::to_string(metadata.events.size()));
    metadata.add_event(std::move(event));
  }
  return {};
}

std::string name_of(uint32_t bit) {
  const char* name = feature_name(bit);
  return name != nullptr ? name : std::to_string(bit);
}

void read_features(const FileHeader& header, uint64_t file_bytes, const ReadAt& read_at,
                   Metadata& metadata, Diagnostics& diagnostics) {
  uint64_t table_at = header.data.offset + header.data.size;
  for (uint32_t bit = 0; bit < kFeatureBits; ++bit) {
    if (!header.features[bit]) continue;
    const std::vector<std::byte> entry = read_at(table_at, kSectionBytes);
    if (entry.size() < kSectionBytes) {
      metadata.complete = false;
      diagnostics.add_detail(Diag::file_truncated, "the feature table");
      return;
    }
    table_at += kSectionBytes;
    ByteCursor cursor(entry, header.swapped);
    const FileSection section = read_section(cursor);
    if (overflows(section) || section.offset > file_bytes) {
      diagnostics.add_detail(Diag::bad_feature, name_of(bit));
      continue;
    }
    if (section.size > file_bytes - section.offset) {
      metadata.complete = false;
      diagnostics.add_detail(Diag::file_truncated, "the feature section " + name_of(bit));
    }
    metadata.features.set(bit);
    if (!feature_is_used(bit)) continue;
    const std::vector<std::byte> content = read_at(section.offset, section.size);
    read_feature(bit, content, metadata, diagnostics);
  }
}

// What our recorder wrote before the data. Taken only when all of the table fits: in a file of perf
// the events stand there, or nothing.
void read_early_features(const FileHeader& header, const ReadAt& read_at, Metadata& metadata,
                         Diagnostics& diagnostics) {
  const uint64_t table_bytes = header.features.count() * kSectionBytes;
  const uint64_t attrs_end = header.attrs.offset + header.attrs.size;
  const uint64_t data_at = header.data.offset;
  if (table_bytes == 0 || attrs_end > data_at || table_bytes > data_at - attrs_end) return;
  const std::vector<std::byte> table = read_at(data_at - table_bytes, table_bytes);
  std::vector<std::pair<uint32_t, FileSection>> sections;
  ByteCursor cursor(table, header.swapped);
  for (uint32_t bit = 0; bit < kFeatureBits; ++bit) {
    if (!header.features[bit]) continue;
    const FileSection section = read_section(cursor);
    if (!cursor.ok() || section.offset < attrs_end || section.offset >= data_at ||
        section.size > data_at - section.offset)
      return;
    sections.emplace_back(bit, section);
  }
  for (const auto& [bit, section] : sections)
    read_feature(bit, read_at(section.offset, section.size), metadata, diagnostics);
}

}  // namespace

Result<FileHeader> parse_file_header(std::span<const std::byte> available) {
  if (available.empty()) return make_error("the file is empty");
  ByteCursor magic_cursor(available);
  const auto magic_bytes = magic_cursor.bytes(8);
  if (!magic_cursor.ok()) return make_error("the file is too short to be a perf.data file");
  const std::string_view magic(reinterpret_cast<const char*>(magic_bytes.data()), 8);
  FileHeader header;
  if (magic == kMagic2Swapped)
    header.swapped = true;
  else if (magic == kMagic1)
    header.swapped = version1_is_swapped(available);
  else if (magic != kMagic2)
    return make_error("this is no perf.data file: its first bytes are not perf's magic", 0);

  ByteCursor cursor(available, header.swapped);
  cursor.skip(8);
  header.header_bytes = cursor.u64();
  if (!cursor.ok()) return make_error("the file ends inside its header", available.size());
  if (header.header_bytes == kPipeHeaderBytes) {
    header.pipe = true;
    return header;
  }
  if (header.header_bytes < kOldHeaderBytes)
    return make_error("the header's size of " + std::to_string(header.header_bytes) +
                          " bytes is not one that perf writes",
                      8);
  header.attr_entry_bytes = cursor.u64();
  header.attrs = read_section(cursor);
  header.data = read_section(cursor);
  read_section(cursor);  // event_types: obsolete
  if (header.header_bytes >= kFileHeaderBytes) header.features = read_feature_bits(cursor);
  if (!cursor.ok()) return make_error("the file ends inside its header", available.size());
  return header;
}

Result<void> read_file_metadata(FileHeader& header, uint64_t file_bytes, const ReadAt& read_at,
                                Metadata& metadata, Diagnostics& diagnostics) {
  metadata.swapped = header.swapped;
  metadata.big_endian = header.swapped == (std::endian::native == std::endian::little);
  if (auto attrs = read_attrs(header, file_bytes, read_at, metadata, diagnostics); !attrs)
    return attrs;
  FileSection& data = header.data;
  if (overflows(data) || data.offset > file_bytes)
    return make_error("the data is not inside the file", 40);
  if (data.size != 0 && data.size <= file_bytes - data.offset) {
    read_features(header, file_bytes, read_at, metadata, diagnostics);
    return {};
  }
  if (data.size == 0)
    diagnostics.add(Diag::file_not_finished);
  else
    diagnostics.add_detail(Diag::file_truncated, "the data");
  data.size = file_bytes - data.offset;
  metadata.complete = false;
  read_early_features(header, read_at, metadata, diagnostics);
  return {};
}

}  // namespace perf_latency
