// SPDX-License-Identifier: GPL-2.0-only
// Takes the tracing data of a recording apart: the format texts of its tracepoints.
//
// Layout: tools/perf/util/trace-event-info.c (6.12), record_*_files. It has byte order and long size of
// its own, which hold for the raw data of the samples too.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace perf_latency {

struct TracingData {
  struct Format {
    std::string system;
    std::string text;  // the content of .../events/SYSTEM/NAME/format
  };
  bool big_endian = false;
  uint32_t long_bytes = 8;  // of the kernel, as header_page tells
  std::vector<Format> formats;
  std::string kallsyms;  // only old recordings carry it
};

Result<TracingData> parse_tracing_data(std::span<const std::byte> bytes);

}  // namespace perf_latency
