// SPDX-License-Identifier: GPL-2.0-only
// --fail-if: conditions on the rows of a report, such as p99(mutex)>1ms or count(caller:do_exit)>10.
//
//   MEASURE(ROW) OP VALUE
// MEASURE is a column with numbers: its JSON name, with or without _ns (max, total, p99, count, …).
// ROW names rows by one of their key cells ("disk-read"), by a column and its cell ("cause:…"), or is
// "*" for every row. OP is one of > >= < <= == !=. VALUE is a number, with a unit for durations; a
// % behind it is for reading only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "report/table.h"

namespace perf_latency {

class FailCondition {
 public:
  static Result<FailCondition> parse(std::string_view text);

  // The first row of the table for which the condition holds, in words; none when there is none.
  // An error when the table has no such measure.
  Result<std::optional<std::string>> first_match(const Table& table) const;

  const std::string& text() const { return text_; }

 private:
  enum class Op { greater, greater_equal, less, less_equal, equal, not_equal };
  bool holds(double value) const;
  bool selects(const Table& table, const Row& row) const;

  std::string text_;
  std::string measure_;
  std::string column_;  // empty: any key column
  std::string value_;
  Op op_ = Op::greater;
  double limit_ = 0;
  bool limit_is_duration_ = false;
};

}  // namespace perf_latency
