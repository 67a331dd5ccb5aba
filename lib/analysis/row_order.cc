// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/row_order.h"

#include <algorithm>

namespace perf_latency {
namespace {

// -1, 0, 1. A null is less than anything.
int compare(const Cell& a, const Cell& b) {
  if (a.index() != b.index()) return a.index() < b.index() ? -1 : 1;
  return a < b ? -1 : b < a ? 1 : 0;
}

bool by_key_cells(const Table& table, const Row& a, const Row& b) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (!table.columns[i].key) continue;
    if (const int order = compare(a.cells[i], b.cells[i]); order != 0) return order < 0;
  }
  for (size_t i = 0; i < table.columns.size(); ++i)
    if (const int order = compare(a.cells[i], b.cells[i]); order != 0) return order < 0;
  return false;
}

bool is_open(const Table& table, const Row& row, size_t open) {
  if (open == table.columns.size()) return false;
  const auto* count = std::get_if<uint64_t>(&row.cells[open]);
  return count != nullptr && *count != 0;
}

}  // namespace

Result<size_t> find_column(const Table& table, std::string_view name) {
  std::string names;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const std::string& known = table.columns[i].name;
    const std::string_view last = std::string_view(known).substr(known.rfind('.') + 1);
    std::string_view bare = last;
    if (bare.ends_with("_ns")) bare.remove_suffix(3);
    if (name == known || name == last || name == bare ||
        (known.find('.') != std::string::npos && known.starts_with(std::string(name) + ".")))
      return i;
    names.append(names.empty() ? "" : ", ").append(known);
  }
  return make_error("there is no column '" + std::string(name) + "'; there are " + names);
}

Result<void> check_column_names(const Table& table, const AnalysisOptions& options) {
  for (const SortKey& key : options.sort)
    if (const auto column = find_column(table, key.column); !column)
      return make_error("--sort: " + column.error().what);
  for (const std::string& field : options.fields)
    if (const auto column = find_column(table, field); !column)
      return make_error("--fields: " + column.error().what);
  return {};
}

void order_rows(Table& table, const std::vector<SortKey>& keys, const SortDefault& otherwise) {
  struct Order {
    size_t column;
    bool ascending;
  };
  std::vector<Order> orders;
  for (const SortKey& key : keys) {
    const auto column = find_column(table, key.column);
    if (!column) continue;
    const bool text = table.columns[*column].kind == CellKind::text;
    orders.push_back({*column, text != key.ascending});
  }
  const size_t open = table.column("open");
  const bool open_first = orders.empty() && otherwise.open_first;
  if (orders.empty()) {
    const auto column = find_column(table, otherwise.column);
    if (column) orders.push_back({*column, false});
  }
  std::sort(table.rows.begin(), table.rows.end(), [&](const Row& a, const Row& b) {
    if (a.section != b.section) return a.section < b.section;
    if (open_first && is_open(table, a, open) != is_open(table, b, open))
      return is_open(table, a, open);
    for (const Order& order : orders) {
      const int result = compare(a.cells[order.column], b.cells[order.column]);
      if (result != 0) return order.ascending ? result < 0 : result > 0;
    }
    return by_key_cells(table, a, b);
  });
}

void limit_rows(Table& table, uint64_t limit) {
  if (limit == 0 || table.rows.size() <= limit) return;
  const size_t total = table.column("total_ns");
  std::vector<Row> kept;
  uint64_t counted = 0;
  for (Row& row : table.rows) {
    if (row.pinned || counted++ < limit) {
      kept.push_back(std::move(row));
      continue;
    }
    ++table.left_out.rows;
    if (total < table.columns.size())
      if (const auto* ns = std::get_if<uint64_t>(&row.cells[total])) table.left_out.total_ns += *ns;
  }
  table.rows = std::move(kept);
}

void show_fields(Table& table, const std::vector<std::string>& fields) {
  if (fields.empty()) return;
  for (Column& column : table.columns) column.in_text = false;
  for (const std::string& field : fields)
    if (const auto column = find_column(table, field)) table.columns[*column].in_text = true;
}

}  // namespace perf_latency
