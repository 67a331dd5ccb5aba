// SPDX-License-Identifier: GPL-2.0-only
// The first table of a report ("rows") as CSV: a header of column names, then a line a row.
//
// Fields are quoted as RFC 4180 says; lines end in LF, as Unix tools expect, and hold no control
// character (render/escape.h), so each row is one line. Null is an empty field. Call chains,
// histograms and the other tables are not in it: json has them.
#include "render/cells.h"
#include "render/formats.h"

namespace perf_latency {
namespace {

void append_field(std::string& out, std::string_view text) {
  const bool quote = text.find_first_of(",\"") != std::string_view::npos || text.starts_with(' ') ||
                     text.ends_with(' ');
  if (!quote) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

}  // namespace

void render_csv(const Report& report, std::string& out) {
  if (report.tables.empty()) return;
  const Table& table = report.tables[0];
  for (size_t c = 0; c < table.columns.size(); ++c) {
    if (c != 0) out += ',';
    append_field(out, table.columns[c].name);
  }
  out += '\n';
  for (const Row& row : table.rows) {
    PL_CHECK(row.cells.size() == table.columns.size());
    for (size_t c = 0; c < row.cells.size(); ++c) {
      if (c != 0) out += ',';
      append_field(out, plain_cell(row.cells[c], table.columns[c].kind));
    }
    out += '\n';
  }
}

}  // namespace perf_latency
