// SPDX-License-Identifier: GPL-2.0-only
// Nanosecond times and durations as users write and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace perf_latency {

// A duration with its unit: "5ms", "1.5s", "200us", "70ns", "2m", "1h". A bare number is in
// `bare_unit_ns` (0: the unit is required). Fails on anything else, on negative and on overflow.
Result<uint64_t> parse_duration_ns(std::string_view text, uint64_t bare_unit_ns);

// A point of time as perf prints it: seconds with up to nine decimals ("1234.567890123").
Result<uint64_t> parse_timestamp_ns(std::string_view text);

// "1.234 ms": the unit fits the size; the number has four digits at most before the decimals end.
std::string format_duration(uint64_t ns);

// "1234.567890" as perf script prints times: seconds and microseconds (rounded down).
std::string format_timestamp(uint64_t ns);

}  // namespace perf_latency
