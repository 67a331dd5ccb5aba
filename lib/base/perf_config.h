// SPDX-License-Identifier: GPL-2.0-only
// The syntax of perf's configuration file (~/.perfconfig), which is that of git's.
//
//   [section]            # names of sections are case-insensitive
//   key = value          ; quotes keep blanks and comment signs, \t \n \b \" \\ are escapes,
//   [section "sub"]      ; a backslash at the end of a line continues the value
//   key                  # no value: true
// tools/perf/util/config.c (6.12): perf_parse_file(), whose limits hold here too.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace perf_latency {

struct ConfigEntry {
  std::string key;                   // "latency.limit", "latency.report.sort"
  std::optional<std::string> value;  // none: "key" alone
  size_t line = 0;
};

// In the order of the file. An error says which line is wrong.
Result<std::vector<ConfigEntry>> parse_perf_config(std::string_view text);

// As perf reads truth values: a number, true/yes/on, false/no/off; without a value true. None: neither.
std::optional<bool> parse_config_bool(const std::optional<std::string>& value);

}  // namespace perf_latency
