// SPDX-License-Identifier: GPL-2.0-only
#include "perfdata/features.h"

#include <algorithm>
#include <cstring>

namespace perf_latency {
namespace {

// u32 length (the writer pads it to 64 bytes) and as many bytes, NUL-terminated.
std::string read_string(ByteCursor& cursor) {
  const uint32_t length = cursor.u32();
  return std::string(cursor.text(length));
}

bool read_cmdline(ByteCursor& cursor, Metadata& metadata) {
  const uint32_t count = cursor.u32();
  std::vector<std::string> arguments;
  for (uint32_t i = 0; i < count && cursor.ok(); ++i) arguments.push_back(read_string(cursor));
  if (cursor.ok()) metadata.cmdline = std::move(arguments);
  return cursor.ok();
}

// Names stand in the order of the attrs section. Where the attrs section is missing (a pipe whose
// feature came first) the description is not the place to take events from: HEADER_ATTR brings them.
bool read_event_desc(ByteCursor& cursor, Metadata& metadata) {
  const uint32_t count = cursor.u32();
  const uint32_t attr_bytes = cursor.u32();
  for (uint32_t i = 0; i < count && cursor.ok(); ++i) {
    cursor.skip(attr_bytes);
    const uint32_t id_count = cursor.u32();
    const std::string name = read_string(cursor);
    uint64_t first_id = 0;
    if (id_count > cursor.left() / 8) return false;
    for (uint32_t n = 0; n < id_count; ++n) {
      const uint64_t id = cursor.u64();
      if (n == 0) first_id = id;
    }
    if (!cursor.ok()) return false;
    if (i < metadata.events.size() && metadata.mode != RecordingMode::pipe)
      metadata.events[i].name = name;
    else if (id_count != 0)
      metadata.name_event(first_id, name);
  }
  return cursor.ok();
}

bool read_build_ids(std::span<const std::byte> section, Metadata& metadata) {
  size_t at = 0;
  while (section.size() - at >= kRecordHeaderBytes) {
    ByteCursor header(section.subspan(at), metadata.swapped);
    header.skip(6);
    const uint16_t size = header.u16();
    if (size < kRecordHeaderBytes || size > section.size() - at) return false;
    auto entry = parse_build_id_record(section.subspan(at, size), metadata.swapped);
    if (entry) metadata.build_ids.push_back(std::move(*entry));
    at += size;
  }
  return true;
}

bool read_clock_data(ByteCursor& cursor, Metadata& metadata) {
  ClockData clock;
  cursor.u32();  // version
  clock.clockid = cursor.u32();
  clock.wall_ns = cursor.u64();
  clock.clock_ns = cursor.u64();
  if (cursor.ok()) metadata.clock_data = clock;
  return cursor.ok();
}

bool read_compression(ByteCursor& cursor, Metadata& metadata) {
  CompressionInfo info;
  info.version = cursor.u32();
  info.type = cursor.u32();
  info.level = cursor.u32();
  info.ratio = cursor.u32();
  info.mmap_bytes = cursor.u32();
  if (cursor.ok()) metadata.compression = info;
  return cursor.ok();
}

bool read_machine_state(ByteCursor& cursor, Metadata& metadata) {
  constexpr uint32_t kMaxFacts = 1024;
  const uint32_t count = cursor.u32();
  if (count > kMaxFacts) return false;
  std::vector<std::pair<std::string, std::string>> facts;
  for (uint32_t i = 0; i < count && cursor.ok(); ++i) {
    std::string key = read_string(cursor);
    facts.emplace_back(std::move(key), read_string(cursor));
  }
  if (cursor.ok()) metadata.machine_state = std::move(facts);
  return cursor.ok();
}

bool read_text(ByteCursor& cursor, std::string& target) {
  std::string text = read_string(cursor);
  if (cursor.ok()) target = std::move(text);
  return cursor.ok();
}

bool read_section(Feature feature, std::span<const std::byte> section, Metadata& metadata) {
  ByteCursor cursor(section, metadata.swapped);
  if (static_cast<uint32_t>(feature) == kMachineStateBit)
    return read_machine_state(cursor, metadata);
  switch (feature) {
    case Feature::tracing_data:
      // A recording has one; a second would change the meaning of samples that were decoded.
      if (!metadata.tracing_data.empty()) return false;
      metadata.tracing_data.assign(section.begin(), section.end());
      ++metadata.generation;
      return true;
    case Feature::build_id:
      return read_build_ids(section, metadata);
    case Feature::hostname:
      return read_text(cursor, metadata.hostname);
    case Feature::osrelease:
      return read_text(cursor, metadata.os_release);
    case Feature::version:
      return read_text(cursor, metadata.perf_version);
    case Feature::arch:
      return read_text(cursor, metadata.arch);
    case Feature::cpudesc:
      return read_text(cursor, metadata.cpu_description);
    case Feature::nrcpus:
      metadata.cpus_available = cursor.u32();
      metadata.cpus_online = cursor.u32();
      return cursor.ok();
    case Feature::total_mem:
      metadata.total_memory_kb = cursor.u64();
      return cursor.ok();
    case Feature::cmdline:
      return read_cmdline(cursor, metadata);
    case Feature::event_desc:
      return read_event_desc(cursor, metadata);
    case Feature::sample_time: {
      const uint64_t first = cursor.u64();
      const uint64_t last = cursor.u64();
      if (cursor.ok()) metadata.sample_time = {first, last};
      return cursor.ok();
    }
    case Feature::clockid:
      metadata.clock_resolution_ns = cursor.u64();
      return cursor.ok();
    case Feature::clock_data:
      return read_clock_data(cursor, metadata);
    case Feature::compressed:
      return read_compression(cursor, metadata);
    default:
      return true;
  }
}

}  // namespace

bool feature_is_used(uint32_t bit) {
  switch (static_cast<Feature>(bit)) {
    case Feature::tracing_data:
    case Feature::build_id:
    case Feature::hostname:
    case Feature::osrelease:
    case Feature::version:
    case Feature::arch:
    case Feature::cpudesc:
    case Feature::nrcpus:
    case Feature::total_mem:
    case Feature::cmdline:
    case Feature::event_desc:
    case Feature::sample_time:
    case Feature::clockid:
    case Feature::clock_data:
    case Feature::compressed:
      return true;
    default:
      return bit == kMachineStateBit;
  }
}

bool Metadata::lacks_descriptions() const {
  if (events.empty()) return true;
  return tracing_data.empty() &&
         std::any_of(events.begin(), events.end(), [](const EventDescription& event) {
           return event.attr.type == kTypeTracepoint;
         });
}

void Metadata::add_event(EventDescription event) {
  const auto index = static_cast<uint32_t>(events.size());
  for (const uint64_t id : event.ids) event_of_id.emplace(id, index);
  events.push_back(std::move(event));
  ++generation;
}

bool Metadata::name_event(uint64_t id, std::string_view name) {
  const auto found = event_of_id.find(id);
  if (found == event_of_id.end()) return false;
  events[found->second].name = name;
  return true;
}

std::optional<BuildIdEntry> parse_build_id_record(std::span<const std::byte> record, bool swap) {
  constexpr size_t kIdBytes = 20;
  ByteCursor cursor(record, swap);
  cursor.skip(4);
  const uint16_t misc = cursor.u16();
  cursor.skip(2);
  BuildIdEntry entry;
  entry.cpumode = misc & kMiscCpumodeMask;
  entry.pid = static_cast<int32_t>(cursor.u32());
  const std::span<const std::byte> id = cursor.bytes(kIdBytes);
  const uint8_t written_size = cursor.u8();
  cursor.skip(3);
  if (!cursor.ok()) return std::nullopt;
  const size_t id_bytes = (misc & kMiscBuildIdSize) && written_size >= 1 && written_size <= kIdBytes
                              ? written_size
                              : kIdBytes;
  for (const std::byte b : id.first(id_bytes)) entry.id.push_back(std::to_integer<uint8_t>(b));
  entry.path = cursor.text(cursor.left());
  // Before the pid field existed the record was four bytes shorter: the name starts four bytes early.
  if (entry.path.starts_with("nel.kallsyms]")) {
    entry.path = "[kernel.kallsyms]";
    entry.pid = -1;
    ByteCursor old(record.subspan(kRecordHeaderBytes));
    for (size_t i = 0; i < kIdBytes; ++i) entry.id[i] = old.u8();
  }
  return entry;
}

void read_feature(uint32_t bit, std::span<const std::byte> section, Metadata& metadata,
                  Diagnostics& diagnostics) {
  if (bit < kFeatureBits) metadata.features.set(bit);
  if (read_section(static_cast<Feature>(bit), section, metadata)) return;
  const char* name = feature_name(bit);
  diagnostics.add_detail(Diag::bad_feature, name != nullptr ? name : std::to_string(bit));
}

}  // namespace perf_latency
