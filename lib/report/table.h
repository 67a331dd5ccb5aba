// SPDX-License-Identifier: GPL-2.0-only
// A typed table: what every report hands to the renderers. Data only, no formatting.
//
// A column says what its numbers are (a duration, a count); the renderer picks "1.234 ms". A cell
// that the recording cannot know is null: `-` in text, null in JSON, empty in CSV, never 0.
// Rows are already filtered, sorted and limited; `left_out` says what the limit removed, so that
// rows + left_out is always the whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace perf_latency {

using Cell = std::variant<std::monostate, uint64_t, double, std::string>;

enum class CellKind {
  text,
  count,
  duration_ns,  // text: "1.234 ms"; JSON and CSV: the integer
  time_ns,      // a time stamp; text: seconds as perf script prints them
  percent,
  change_percent,  // against another value: text has a sign always
  number,          // an identifier such as a pid or a CPU: never scaled or grouped
  boolean,         // 0 or 1; true and false in JSON
};

struct Column {
  std::string name;   // the JSON and CSV name; "process.comm" nests in JSON
  std::string title;  // the head of the text column
  CellKind kind = CellKind::text;
  bool in_text = true;  // false: JSON and CSV only
  bool key = false;     // part of what identifies a row from one recording to another
};

// One call chain of a row, with its share. Frames are innermost first.
struct StackShare {
  uint64_t count = 0;
  uint64_t total_ns = 0;
  uint64_t max_ns = 0;
  std::vector<std::string> frames;
};

// A part of a row's histogram; high_ns is exclusive.
struct HistogramBucket {
  uint64_t low_ns = 0;
  uint64_t high_ns = 0;
  uint64_t count = 0;
};

struct Row {
  std::vector<Cell> cells;                 // one for each column
  uint32_t section = 0;                    // index into Table::sections
  std::vector<StackShare> stacks;          // largest first; empty when not asked for
  uint64_t stacks_left_out = 0;            // chains that a limit removed
  bool pinned = false;                     // stays whatever the limit
  std::vector<HistogramBucket> histogram;  // lowest first; empty when not asked for
};

struct LeftOut {
  uint64_t rows = 0;
  uint64_t total_ns = 0;
};

// In text a table prints section by section, each under its title ("" = none); in JSON and CSV the
// rows stand in one array.
struct Table {
  std::string key = "rows";  // the JSON key
  std::string title;         // a heading in text; "" = none
  std::vector<Column> columns;
  std::vector<std::string> sections = {""};
  std::vector<Row> rows;
  LeftOut left_out;
  bool with_stacks = false;     // JSON rows carry "stacks"
  bool with_histogram = false;  // JSON rows carry "histogram"

  size_t column(std::string_view name) const {
    for (size_t i = 0; i < columns.size(); ++i)
      if (columns[i].name == name) return i;
    return columns.size();
  }
};

}  // namespace perf_latency
