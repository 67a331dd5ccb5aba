// SPDX-License-Identifier: GPL-2.0-only
// perf latency hold-time: how long kernel locks were held.
#include "analysis/hold_time_report.h"
#include "base/time.h"
#include "commands.h"
#include "lock_command.h"
#include "script_command.h"

namespace perf_latency::tool {

int run_hold_time(int argc, char** argv) {
  LockCommand lock(
      "hold-time", "How long kernel locks were held, beside how long they were waited for",
      {Format::text, Format::json, Format::csv, Format::lkp, Format::lock_stat, Format::sqlite});
  AnalysisCommand& command = lock.command();
  std::string long_holds;
  command.app().add_flag("--histogram", lock.lock_options().histogram,
                         "A log2 histogram under each row, as bpftrace prints them");
  command.app().add_option("--long", long_holds,
                           "Each hold of at least this length (ns, us, ms, s)");
  const int status = lock.parse(argc, argv);
  if (status >= 0) return status;
  if (!long_holds.empty()) {
    const auto ns = parse_duration_ns(long_holds, 0);
    if (!ns) {
      complain("--long: " + ns.error().what);
      return kExitUsage;
    }
    lock.lock_options().long_ns = *ns;
  }
  if (command.format() == Format::json) lock.lock_options().histogram = true;
  auto causes = command.load_causes();
  if (!causes) return kExitFailed;
  if (command.format() == Format::sqlite)
    return run_database(command, {RowKind::hold, RowKind::wait}, lock.lock_options().types,
                        *causes);
  HoldTimeReport report(command.options(), lock.lock_options(), *causes);
  if (const auto checked = report.check_columns(); !checked) {
    complain(checked.error().what);
    return kExitUsage;
  }
  const int result = command.run(report);
  if (result == kExitDone && !command.quiet()) complain_about_unknown(report.unknown_columns());
  return result;
}

}  // namespace perf_latency::tool
