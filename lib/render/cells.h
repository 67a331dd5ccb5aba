// SPDX-License-Identifier: GPL-2.0-only
// Cells as text: for people (scaled units) and for programs (plain numbers).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "report/table.h"

namespace perf_latency {

// For people: "1.234 ms", "12.34 %", "yes"; "-" for null. Terminal text.
std::string readable_cell(const Cell& cell, CellKind kind);

// For CSV and LKP: integers where the kind is a time or a duration, "" for null. Terminal text.
std::string plain_cell(const Cell& cell, CellKind kind);

// A number of any kind as an integer, rounded; none for null, text, and what does not fit.
std::optional<int64_t> integer_cell(const Cell& cell);

// The text of a text cell, "" for all else.
std::string_view text_of(const Cell& cell);

// The cell of the first of these columns that the table has; nullptr without any.
template <typename... Names>
const Cell* find_cell(const Table& table, const Row& row, Names... names) {
  for (const std::string_view name : {std::string_view(names)...}) {
    const size_t column = table.column(name);
    if (column < table.columns.size() && column < row.cells.size()) return &row.cells[column];
  }
  return nullptr;
}

}  // namespace perf_latency
