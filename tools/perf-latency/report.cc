// SPDX-License-Identifier: GPL-2.0-only
// perf latency report: why tasks slept.
#include "analysis/causes_report.h"
#include "analysis/timehist.h"
#include "analysis_command.h"
#include "commands.h"
#include "row_keys.h"
#include "script_command.h"

namespace perf_latency::tool {

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
    Timehist timehist(options, *causes, [&](std::string_view text) { command.write(text); });
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
