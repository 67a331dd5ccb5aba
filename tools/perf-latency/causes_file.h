// SPDX-License-Identifier: GPL-2.0-only
// The cause table as every command uses it: the shipped one, extended by the user's file.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "causes/cause_table.h"

namespace perf_latency::tool {

// Where the user's file is looked for: $XDG_CONFIG_HOME or ~/.config, then perf-latency/causes.conf;
// none without a home.
std::optional<std::string> user_causes_path();

// `causes_option` is the argument of --causes: that file must exist, the one of user_causes_path()
// need not. An error says which file and line it is about.
Result<CauseTable> load_cause_table(const std::optional<std::string>& causes_option);

}  // namespace perf_latency::tool
