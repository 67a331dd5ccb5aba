// SPDX-License-Identifier: GPL-2.0-only
// --time as perf takes it: "START,STOP" in seconds with open ends, "10%-20%", "10%/2" (the second
// tenth). tools/perf/util/time-utils.c.
#pragma once

#include <string_view>

#include "analysis/options.h"
#include "base/result.h"

namespace perf_latency {

Result<TimeSelection> parse_time_selection(std::string_view text);

}  // namespace perf_latency
