// SPDX-License-Identifier: GPL-2.0-only
// Sorting, limiting and choosing columns: the same for the tables of every report.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/options.h"
#include "base/result.h"
#include "report/table.h"

namespace perf_latency {

struct SortDefault {
  std::string_view column = "total_ns";
  bool open_first = false;  // rows with open intervals before all others
};

// Sorts by `keys`, or by the default when there are none; ties by the row's key cells, ascending.
void order_rows(Table& table, const std::vector<SortKey>& keys, const SortDefault& otherwise);

// Keeps the first `limit` rows (0: all) and those that are pinned, and adds up the others in
// table.left_out.
void limit_rows(Table& table, uint64_t limit);

// --fields: exactly these columns in text, in the table's order. No fields: leaves all as it is.
void show_fields(Table& table, const std::vector<std::string>& fields);

// The column that a user's sort key or field names: its JSON name, with or without the unit ("total",
// "total_ns"), or the last part of a nested one ("comm"). An error lists what there is.
Result<size_t> find_column(const Table& table, std::string_view name);

// Fails at the first sort key or field that names no column.
Result<void> check_column_names(const Table& table, const AnalysisOptions& options);

}  // namespace perf_latency
