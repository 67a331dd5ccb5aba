// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/fail_if.h"

#include <array>
#include <charconv>
#include <cstdio>

#include "analysis/row_order.h"
#include "base/time.h"

namespace perf_latency {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string two_decimals(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

std::string cell_text(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<uint64_t>(&cell)) return std::to_string(*number);
  if (const auto* number = std::get_if<double>(&cell)) return two_decimals(*number);
  return {};
}

std::optional<double> cell_number(const Cell& cell) {
  if (const auto* number = std::get_if<uint64_t>(&cell)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<double>(&cell)) return *number;
  return std::nullopt;
}

}  // namespace

Result<FailCondition> FailCondition::parse(std::string_view text) {
  const auto wrong = [&](const char* what) {
    return make_error("'" + std::string(text) + "': " + what +
                      " (conditions look like p99(mutex)>1ms or count(caller:do_exit)>10)");
  };
  FailCondition condition;
  condition.text_ = text;
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return wrong("there is no MEASURE(ROW)");
  condition.measure_ = trim(text.substr(0, open));
  const std::string_view selector = trim(text.substr(open + 1, close - open - 1));
  const size_t colon = selector.find(':');
  if (colon != std::string_view::npos) condition.column_ = trim(selector.substr(0, colon));
  condition.value_ = colon == std::string_view::npos ? selector : trim(selector.substr(colon + 1));
  if (condition.measure_.empty() || condition.value_.empty())
    return wrong("the measure or the row is empty");
  struct OpName {
    std::string_view name;
    Op op;
  };
  static constexpr std::array<OpName, 6> kOps{{{">=", Op::greater_equal},
                                               {"<=", Op::less_equal},
                                               {"==", Op::equal},
                                               {"!=", Op::not_equal},
                                               {">", Op::greater},
                                               {"<", Op::less}}};
  const std::string_view rest = trim(text.substr(close + 1));
  for (const OpName& known : kOps) {
    if (!rest.starts_with(known.name)) continue;
    condition.op_ = known.op;
    std::string_view value = trim(rest.substr(known.name.size()));
    const bool percent = value.ends_with('%');
    if (percent) value = trim(value.substr(0, value.size() - 1));
    const auto [end, error] =
        std::from_chars(value.data(), value.data() + value.size(), condition.limit_);
    if (error == std::errc() && end == value.data() + value.size()) return condition;
    const auto duration = parse_duration_ns(value, 0);
    if (!duration || percent) return wrong("the value is no number and no duration");
    condition.limit_ = static_cast<double>(*duration);
    condition.limit_is_duration_ = true;
    return condition;
  }
  return wrong("there is no comparison");
}

bool FailCondition::holds(double value) const {
  switch (op_) {
    case Op::greater:
      return value > limit_;
    case Op::greater_equal:
      return value >= limit_;
    case Op::less:
      return value < limit_;
    case Op::less_equal:
      return value <= limit_;
    case Op::equal:
      return value == limit_;
    case Op::not_equal:
      return value != limit_;
  }
  return false;
}

bool FailCondition::selects(const Table& table, const Row& row) const {
  if (value_ == "*") return true;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    const bool named =
        !column_.empty() && (column.name == column_ || column.name.ends_with("." + column_));
    if (!(column_.empty() ? column.key || column.name == "class" : named)) continue;
    if (cell_text(row.cells[i]) == value_) return true;
  }
  return false;
}

Result<std::optional<std::string>> FailCondition::first_match(const Table& table) const {
  const auto column = find_column(table, measure_);
  if (!column) return make_error("'" + text_ + "': " + column.error().what);
  const CellKind kind = table.columns[*column].kind;
  const bool duration = kind == CellKind::duration_ns;
  const bool percent = kind == CellKind::percent || kind == CellKind::change_percent;
  if (duration && !limit_is_duration_ && limit_ != 0)
    return make_error("'" + text_ + "': " + measure_ + " is a duration: give the value a unit");
  for (const Row& row : table.rows) {
    const auto value = cell_number(row.cells[*column]);
    if (!value || !selects(table, row) || !holds(*value)) continue;
    std::string name;
    for (size_t i = 0; i < table.columns.size() && name.empty(); ++i)
      if (table.columns[i].key) name = cell_text(row.cells[i]);
    std::string shown =
        duration ? format_duration(static_cast<uint64_t>(*value)) : cell_text(row.cells[*column]);
    if (percent) shown += " %";
    return std::optional(name + ": " + measure_ + " is " + shown);
  }
  return std::optional<std::string>();
}

}  // namespace perf_latency
