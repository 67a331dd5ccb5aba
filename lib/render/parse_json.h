// SPDX-License-Identifier: GPL-2.0-only
// Reads back a report that was written by --format json: what `diff` needs of it.
//
// The schema, the recordings, the counts of diagnostics, and the table "rows": nested objects become
// columns with a dot, arrays inside rows (call chains, histograms) are left out. Which columns are
// keys says the report's "keys". The kind of a column follows from its name; titles are the names.
// The text is a file of somebody: anything in it may be missing, wrong or huge.
#pragma once

#include <string_view>

#include "base/result.h"
#include "report/report.h"

namespace perf_latency {

Result<Report> parse_json_report(std::string_view text);

}  // namespace perf_latency
