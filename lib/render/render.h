// SPDX-License-Identifier: GPL-2.0-only
// Turns a Report into bytes: one file for each format, and nothing but formats.
//
// Nothing is computed here: percentages, means and limits come in as cells. The renderer scales
// units, aligns, escapes and shortens. The order of tables, rows, columns and stacks is the
// report's. Strings of the input (comms, symbols, paths) never reach the output raw:
// render/escape.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "report/report.h"

namespace perf_latency {

enum class Format {
  text,
  json,
  csv,
  folded,
  svg,
  speedscope,
  pprof,
  latency_stats,
  lkp,
  lock_stat,
  timehist,  // a line for each interval: no report, written while the file is read
  sqlite,    // a database: needs a file, not a stream of bytes
};

std::optional<Format> parse_format(std::string_view name);
std::string_view to_string(Format format);

// "text, json, csv, …": for usage lines and error messages.
std::string format_names();

// Bytes that must not go to a terminal.
inline bool is_binary(Format format) { return format == Format::pprof || format == Format::sqlite; }
// Formats that render() makes; the others are not made from a Report.
inline bool is_rendered(Format format) {
  return format != Format::timehist && format != Format::sqlite;
}
// Formats that are made of call chains: the report must have been asked for stacks.
inline bool needs_stacks(Format format) {
  return format == Format::folded || format == Format::svg || format == Format::speedscope ||
         format == Format::pprof;
}

struct RenderOptions {
  bool color = false;    // text only: percentages, as perf colours them
  unsigned width = 0;    // columns of the terminal; 0 = no terminal, nothing is cut or wrapped
  bool header = true;    // text only: the lines about the recording, and the account
  bool quiet = false;    // text only: the tables and nothing else
  bool verbose = false;  // text only: diagnostics of severity info too
};

// Appends the report to `out`. Fails, with nothing appended, where the report does not hold what
// the format is made of (latency_stats without a latencytop table, for example).
Result<void> render(const Report& report, Format format, const RenderOptions& options,
                    std::string& out);

}  // namespace perf_latency
