// SPDX-License-Identifier: GPL-2.0-only
// --stats: how many records and events a recording has, and where the time of the analysis went.
#pragma once

#include <string>

#include "analysis/session.h"

namespace perf_latency::tool {

// On stderr: the report is what a script parses.
void print_stats(const std::string& input, const SessionResult& result);

}  // namespace perf_latency::tool
