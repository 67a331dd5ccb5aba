// SPDX-License-Identifier: GPL-2.0-only
// The commands: one source file each. Arguments are those behind the command's name; argv[0] is it.
#pragma once

#include <span>

namespace perf_latency::tool {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;         // the analysis could not be done
inline constexpr int kExitConditionHeld = 2;  // a --fail-if condition, or a FAIL verdict
inline constexpr int kExitUsage = 129;        // as perf's own commands

struct Command {
  const char* name;
  const char* help;  // one line
  int (*run)(int argc, char** argv);
};
std::span<const Command> commands();

int run_record(int argc, char** argv);
int run_report(int argc, char** argv);
int run_contention(int argc, char** argv);
int run_hold_time(int argc, char** argv);
int run_spin(int argc, char** argv);
int run_vmstat_sync(int argc, char** argv);
int run_script(int argc, char** argv);
int run_explain(int argc, char** argv);
int run_diff(int argc, char** argv);
int run_bench(int argc, char** argv);
int run_info(int argc, char** argv);
int run_causes(int argc, char** argv);

}  // namespace perf_latency::tool
