// SPDX-License-Identifier: GPL-2.0-only
// The shipped cause table (share/causes.conf), built into the program so that it works uninstalled.
#pragma once

#include <string_view>

namespace perf_latency {

std::string_view shipped_cause_table();

}  // namespace perf_latency
