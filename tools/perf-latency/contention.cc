// SPDX-License-Identifier: GPL-2.0-only
// perf latency contention: which kernel locks were waited for.
#include "analysis/contention_report.h"
#include "analysis/hold_time_report.h"
#include "commands.h"
#include "lock_command.h"
#include "script_command.h"

namespace perf_latency::tool {

int run_contention(int argc, char** argv) {
  LockCommand lock(
      "contention", "Which kernel locks were waited for, where, how long, and who had them",
      {Format::text, Format::json, Format::csv, Format::lkp, Format::folded, Format::svg,
       Format::speedscope, Format::pprof, Format::lock_stat, Format::sqlite});
  AnalysisCommand& command = lock.command();
  command.app().add_flag("--holder", lock.lock_options().holder,
                         "Who held the lock meanwhile, and what the holder was doing");
  const int status = lock.parse(argc, argv);
  if (status >= 0) return status;
  auto causes = command.load_causes();
  if (!causes) return kExitFailed;
  if (command.format() == Format::sqlite)
    return run_database(command, {RowKind::wait}, lock.lock_options().types, *causes);
  if (command.format() == Format::lock_stat) {
    HoldTimeReport report(command.options(), lock.lock_options(), *causes, "contention");
    const int result = command.run(report);
    if (result == kExitDone && !command.quiet()) complain_about_unknown(report.unknown_columns());
    return result;
  }
  ContentionReport report(command.options(), lock.lock_options(), *causes);
  if (const auto checked = report.check_columns(); !checked) {
    complain(checked.error().what);
    return kExitUsage;
  }
  return command.run(report);
}

}  // namespace perf_latency::tool
