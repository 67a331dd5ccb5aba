// SPDX-License-Identifier: GPL-2.0-only
// The feature sections that describe this machine and this run (tools/perf/util/header.c, 6.12).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "perfdata/writer.h"

namespace perf_latency {

// A section of ours, outside perf's range (perf skips it): what the kernel was told about its CPUs.
// Content: u32 n, then n times key and value as strings of the other sections.
// Keys: isolated, nohz_full, kernel_cmdline, vm.stat_interval, kernel.sched_schedstats, clocksource.
inline constexpr Feature kFeatureMachineState = static_cast<Feature>(200);

// HOSTNAME to PMU_MAPPINGS, and kFeatureMachineState. `version` is what `perf version` would say.
std::vector<FeatureSection> host_sections(const std::vector<std::string>& cmdline,
                                          const std::string& version);

// CLOCKID and CLOCK_DATA: the clock's resolution, and its value beside the wall clock.
// Facts about the machine that no section of perf's has, and the tids that were chosen (a range list),
// where not all tasks were.
FeatureSection machine_state_section(const std::optional<std::string>& tasks);
std::vector<FeatureSection> clock_sections(int32_t clockid);

FeatureSection compression_section(uint32_t level, uint32_t ratio, uint32_t largest_chunk_bytes);
FeatureSection sample_time_section(uint64_t first_ns, uint64_t last_ns);

std::vector<uint32_t> online_cpus();

}  // namespace perf_latency
