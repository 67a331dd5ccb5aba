// SPDX-License-Identifier: GPL-2.0-only
// Makes one perf.data: its header, what runs already, and the sections at its end.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "perfdata/writer.h"
#include "record/kernel_maps.h"
#include "record/output.h"

namespace perf_latency {

// What all files of a recording have in common.
struct FileContents {
  std::vector<WriterEvent> events;
  std::vector<FeatureSection> sections;  // all that are known at the start
  std::string kallsyms;
  std::vector<KernelModule> modules;
  bool kernel_addresses = true;  // false: recorded without rights to see them
  int level = 1;
  bool user_maps_of_all = true;  // else of `mapped_pids` alone
  std::set<uint32_t> mapped_pids;
};

// Creates PATH ("-": stdout). A recording that is there is renamed to PATH.old, as perf does.
Result<std::unique_ptr<PerfDataWriter>> create_recording(const std::string& path,
                                                         const FileContents& contents);

// Writes what runs already. `maps` gets the executable files that are mapped, each with one process.
Result<void> write_known_state(PerfDataWriter& writer, const FileContents& contents,
                               OutputTotals& totals, std::map<std::string, uint32_t>& maps);

// The sections for the end of the file. `tasks`: a range list, where not all were recorded.
std::vector<FeatureSection> final_sections(const FileContents& contents, const OutputTotals& totals,
                                           uint64_t data_bytes, std::vector<std::byte> build_ids,
                                           const std::optional<std::string>& tasks);

// "perf.data" and the local time: perf.data.2026113019451234, as perf names them.
std::string timestamped_path(const std::string& path);

}  // namespace perf_latency
