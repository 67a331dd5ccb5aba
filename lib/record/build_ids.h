// SPDX-License-Identifier: GPL-2.0-only
// The build ids of what was running, and perf's build-id cache.
//
// Cache layout (tools/perf/util/build-id.c, 6.12): DIR/[kernel.kallsyms]/ID/kallsyms, and
// DIR/.build-id/ID[0:2]/ID[2:] as a link to that folder. With it a recording keeps its symbols over a
// reboot into another kernel.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "perfdata/writer_bytes.h"
#include "record/kernel_maps.h"
#include "symbolize/build_id.h"

namespace perf_latency {

BuildId running_kernel_build_id();

// BUILD_ID records of the kernel, its modules, and the files in `maps` (path and a process that has it
// mapped: containers see other files under the same path).
std::vector<std::byte> build_id_records(const std::vector<KernelModule>& modules,
                                        const std::map<std::string, uint32_t>& maps);

// $PERF_BUILDID_DIR, else $HOME/.debug; empty when neither is set.
std::string build_id_cache_directory();

// Copies the kernel's symbols into the cache unless they are there. False when that is not possible.
bool cache_kernel_symbols(const std::string& directory, const BuildId& id,
                          std::string_view kallsyms);

}  // namespace perf_latency
