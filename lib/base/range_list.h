// SPDX-License-Identifier: GPL-2.0-only
// Lists of numbers as users write CPUs and pids: "0-3,8,10-11".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace perf_latency {

// Sorted, each number once. At most `limit` numbers: "0-4294967295" must not eat the memory.
Result<std::vector<uint32_t>> parse_range_list(std::string_view text, size_t limit = 1u << 20);

// The shortest text for a sorted list: {0,1,2,5} -> "0-2,5".
std::string format_range_list(const std::vector<uint32_t>& numbers);

}  // namespace perf_latency
