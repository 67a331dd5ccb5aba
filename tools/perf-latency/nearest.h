// SPDX-License-Identifier: GPL-2.0-only
// The valid word that is nearest to a mistyped one: for messages about bad usage.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace perf_latency::tool {

// By insertions, deletions and replacements; the first of equally near ones, "" when more than half
// of the word would have to change.
std::string nearest(std::string_view word, std::span<const std::string> known);

}  // namespace perf_latency::tool
