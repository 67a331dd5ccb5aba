// SPDX-License-Identifier: GPL-2.0-only
// The format `sqlite`: the intervals that a report is made of, as a database.
#pragma once

#include <initializer_list>

#include "analysis/script.h"
#include "analysis_command.h"

namespace perf_latency::tool {

// For reports: a database of the intervals of these kinds. Refuses options that make, order or judge rows.
int run_database(AnalysisCommand& command, std::initializer_list<RowKind> kinds,
                 const std::vector<LockType>& lock_types, CauseTable& causes);

}  // namespace perf_latency::tool
