// SPDX-License-Identifier: GPL-2.0-only
// perf latency vmstat-sync: which CPUs were disturbed by vmstat work, and a verdict per isolated CPU.
#include "analysis/vmstat_report.h"
#include "analysis_command.h"
#include "base/range_list.h"
#include "commands.h"
#include "script_command.h"

namespace perf_latency::tool {

int run_vmstat_sync(int argc, char** argv) {
  AnalysisCommand command(
      "vmstat-sync", "Which CPUs were disturbed by vmstat work, whom it delayed, what never ran",
      {Format::text, Format::json, Format::csv, Format::lkp, Format::sqlite});
  AnalysisOptions& options = command.options();
  VmstatOptions vmstat;
  std::string isolated;
  CLI::App& app = command.app();
  app.add_option("--isolated", isolated, "CPUs to judge (default: as the recording says)");
  app.add_flag("--verdict", vmstat.verdict, "A PASS or FAIL line per isolated CPU; exit 2 on FAIL");
  if (const int status = command.parse(argc, argv); status >= 0) return status;

  if (app.count("--isolated") != 0) {
    auto list = parse_range_list(isolated);
    if (!list) {
      complain("--isolated: " + list.error().what);
      return kExitUsage;
    }
    vmstat.isolated = std::move(*list);
  }
  auto causes = command.load_causes();
  if (!causes) return kExitFailed;
  if (command.format() == Format::sqlite)
    return run_database(command, {RowKind::vmstat_sync}, {}, *causes);
  VmstatReport report(options, vmstat, *causes);
  if (const auto checked = report.check_columns(); !checked) {
    complain(checked.error().what);
    return kExitUsage;
  }
  const int status = command.run(report);
  if (!vmstat.verdict || (status != kExitDone && status != kExitConditionHeld)) return status;
  if (report.judged() == 0) {
    complain("--verdict: no CPU is known to be isolated; --isolated LIST names those to judge");
    return kExitFailed;
  }
  return report.failed() ? kExitConditionHeld : status;
}

}  // namespace perf_latency::tool
