// SPDX-License-Identifier: GPL-2.0-only
// A table as aligned columns of text, with the call chains and histograms of its rows.
//
// Text columns stand left, numbers right. Where the terminal is too narrow, text columns are
// shortened first, then numeric columns are left out from the right, in the end text columns too, and
// a line names them; a number is never cut.
#pragma once

#include <string>
#include <vector>

#include "render/render.h"
#include "report/table.h"

namespace perf_latency {

class TextTable {
 public:
  TextTable(const Table& table, const RenderOptions& options);

  void append_to(std::string& out) const;

 private:
  struct ShownColumn {
    size_t index = 0;  // into Table::columns
    bool text = false;
    size_t width = 0;
  };

  void choose_columns();
  void measure();
  void fit_width();
  void shorten_text_columns();
  size_t line_width() const;
  size_t least_width(size_t shown) const;

  const std::string& cell_text(size_t row, size_t column) const {
    return cells_[row * table_.columns.size() + column];
  }
  void append_head(std::string& out) const;
  void append_row(std::string& out, size_t row) const;
  void append_cell(std::string& out, const ShownColumn& column, std::string_view text,
                   std::string_view color) const;
  void append_stacks(std::string& out, const Row& row) const;
  void append_histogram(std::string& out, const Row& row) const;

  const Table& table_;
  const RenderOptions& options_;
  std::vector<std::string> cells_;  // readable, row by row
  std::vector<ShownColumn> shown_;
  std::vector<size_t> too_wide_;  // columns that the terminal has no room for
};

// A line of several words, broken at spaces where the terminal is narrower (0: never); words that are
// wider than it are broken too. `start`
// columns of the line are taken already; `indent` columns stand before each line after the first.
void append_wrapped(std::string& out, std::string_view text, unsigned width, size_t indent,
                    size_t start = 0);

// How perf colours a percentage: red from 5, green above 0.5, else "" (util/color.c, 6.1).
std::string_view percent_color(double percent);
inline constexpr std::string_view kColorReset = "\x1b[m";

}  // namespace perf_latency
