// SPDX-License-Identifier: GPL-2.0-only
// What a recording says about itself: events, machine, command, build ids, tracing data.
//
// In file mode it is complete before the first record is read; in pipe mode it grows while records
// come, and `generation` changes with every event or tracing data that is added, so that a decoder
// knows when its plan is out of date.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "perfdata/abi.h"
#include "perfdata/event_attr.h"

namespace perf_latency {

struct EventDescription {
  EventAttr attr;
  std::vector<uint64_t> ids;
  std::string name;  // from EVENT_DESC or EVENT_UPDATE; empty until known
};

struct BuildIdEntry {
  int32_t pid = -1;
  uint16_t cpumode = 0;  // kMiscKernel, kMiscUser, …
  std::vector<uint8_t> id;
  std::string path;
};

struct ClockData {
  uint32_t clockid = 0;
  uint64_t wall_ns = 0;
  uint64_t clock_ns = 0;
};

struct CompressionInfo {
  uint32_t version = 0;
  uint32_t type = 0;
  uint32_t level = 0;
  uint32_t ratio = 0;
  uint32_t mmap_bytes = 0;
};

enum class RecordingMode { file, pipe, directory };

struct Metadata {
  RecordingMode mode = RecordingMode::file;
  bool swapped = false;  // the writer's byte order is not ours
  bool big_endian = false;
  bool complete = true;
  std::vector<EventDescription> events;
  std::unordered_map<uint64_t, uint32_t> event_of_id;  // sample id -> index into events
  std::unordered_set<uint64_t> guest_ids;  // sample ids whose events are those of a virtual machine
  uint32_t generation = 0;

  std::bitset<kFeatureBits> features;
  std::string hostname;
  std::string os_release;
  std::string perf_version;
  std::string arch;
  std::string cpu_description;
  uint32_t cpus_available = 0;
  uint32_t cpus_online = 0;
  uint64_t total_memory_kb = 0;
  std::vector<std::string> cmdline;
  std::optional<std::pair<uint64_t, uint64_t>> sample_time;
  std::optional<uint64_t> clock_resolution_ns;
  std::optional<ClockData> clock_data;
  std::optional<CompressionInfo> compression;
  std::vector<BuildIdEntry> build_ids;
  std::vector<std::byte> tracing_data;
  // What our recorder adds about the machine: "isolated", "nohz_full", "kernel_cmdline", …; keys are
  // lib/record/host_info.cc's. Empty in other recorders' files.
  std::vector<std::pair<std::string, std::string>> machine_state;

  // Null when the recording does not tell; "" is a value (an empty list of CPUs).
  const std::string* machine_fact(std::string_view key) const {
    for (const auto& [known, value] : machine_state)
      if (known == key) return &value;
    return nullptr;
  }

  // True while events are known that cannot be decoded, or no events at all: in a pipe what tells
  // them may still come.
  bool lacks_descriptions() const;

  void add_event(EventDescription event);
  // Sets the name of the event that has `id`; false when no event has it.
  bool name_event(uint64_t id, std::string_view name);
};

}  // namespace perf_latency
