// SPDX-License-Identifier: GPL-2.0-only
// perf latency report: why tasks slept.
#include "analysis/causes_report.h"
#include "analysis/timehist.h"
#include "analysis_command.h"
#include "commands.h"
#include "render/escape.h"
#include "row_keys.h"
#include "script_command.h"

namespace perf_latency::tool {
namespace {

// Whole lines that are safe for a terminal.
std::string terminal_lines(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    append_terminal_text(safe, line);
    safe += '\n';
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return safe;
}

}  // namespace

int run_report(int argc, char** argv) {
  AnalysisCommand command(
      "report", "Why did tasks sleep: latencytop's causes, from a recording",
      {Format::text, Format::json, Format::csv, Format::folded, Format::svg, Format::speedscope,
       Format::pprof, Format::latency_stats, Format::timehist, Format::lkp, Format::sqlite});
  AnalysisOptions& options = command.options();
  std::string callchain;
  CLI::App& app = command.app();
  app.add_option("--callchain", callchain, "Call chains under each row: kernel, user or both")
      ->expected(0, 1);
  app.add_flag("--inline", options.inline_frames, "User call chains with inlined functions");
  app.add_flag("--srcline", options.source_lines, "User call chains with file and line");
  app.add_flag("--full-source-path", options.full_source_path, "--srcline with whole paths");
  app.add_option("--state", options.states, "States of sleeps to show (default S,D), or all");
  app.add_flag("--latencytop", options.latencytop, "Apply the rules of the kernel's latencytop");
  app.add_flag("--per-task", options.per_task, "latency_stats: also the table of each task");
  app.add_flag("--vs-latencytop", options.vs_latencytop, "Say what latencytop's rules would hide");
  if (const int status = command.parse(argc, argv); status >= 0) return status;

  if (app.count("--callchain") != 0) {
    const auto mode = parse_callchain(callchain);
    if (!mode) {
      complain("--callchain is kernel, user or both, not '" + callchain + "'");
      return kExitUsage;
    }
    options.callchain = *mode;
    options.stacks = true;
  }
  const bool user_chains =
      options.callchain == CallchainMode::user || options.callchain == CallchainMode::both;
  options.source_lines = options.source_lines || options.full_source_path;
  if ((options.inline_frames || options.source_lines) && !user_chains) {
    complain(std::string(options.inline_frames ? "--inline" : "--srcline") +
             " needs --callchain user or both");
    return kExitUsage;
  }
  if (const int status = check_report_keys(options); status >= 0) return status;
  options.latency_stats = command.format() == Format::latency_stats;
  options.latencytop = options.latencytop || options.latency_stats;
  if (options.per_task && !options.latency_stats) {
    complain("--per-task needs --format latency_stats");
    return kExitUsage;
  }
  auto causes = command.load_causes();
  if (!causes) return kExitFailed;
  if (command.format() == Format::sqlite)
    return run_database(command, {RowKind::sleep, RowKind::runnable}, {}, *causes);
  if (command.format() == Format::timehist) {
    Timehist timehist(options, *causes,
                      [&](std::string_view text) { command.write(terminal_lines(text)); });
    return command.run(timehist);
  }
  CausesReport report(options, *causes);
  if (const auto checked = report.check_columns(); !checked) {
    complain(checked.error().what);
    return kExitUsage;
  }
  return command.run(report);
}

}  // namespace perf_latency::tool
