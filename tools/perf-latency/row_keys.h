// SPDX-License-Identifier: GPL-2.0-only
// What --by, --state and --type may name in each report. All complain themselves: -1 to go on, else
// the exit status.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/lock_analysis.h"
#include "analysis/options.h"

namespace perf_latency::tool {

// Comma-separated; empty ones are left out.
std::vector<std::string> split(const std::string& list);

// `report`: checks --by and --state.
int check_report_keys(AnalysisOptions& options);
int check_states(const std::string& states);

// The --by keys of contention, hold-time and spin.
std::span<const LockBy> lock_keys_of(std::string_view report);
int read_lock_keys(std::string_view report, AnalysisOptions& options, LockOptions& lock_options);
// --type: adds the types of a list of names; "rwsem" stands for both sides.
int read_lock_types(const std::string& list, std::vector<LockType>& types);

}  // namespace perf_latency::tool
