// SPDX-License-Identifier: GPL-2.0-only
// perf latency spin: CPU time burnt in the slow paths of locks.
#include "analysis/spin_report.h"
#include "commands.h"
#include "lock_command.h"

namespace perf_latency::tool {

int run_spin(int argc, char** argv) {
  LockCommand lock("spin", "CPU time burnt spinning in lock slow paths, and for whom",
                   {Format::text, Format::json, Format::csv, Format::lkp, Format::folded,
                    Format::svg, Format::speedscope, Format::pprof});
  AnalysisCommand& command = lock.command();
  const int status = lock.parse(argc, argv);
  if (status >= 0) return status;
  auto causes = command.load_causes();
  if (!causes) return kExitFailed;
  SpinReport report(command.options(), lock.lock_options(), *causes);
  if (const auto checked = report.check_columns(); !checked) {
    complain(checked.error().what);
    return kExitUsage;
  }
  return command.run(report);
}

}  // namespace perf_latency::tool
