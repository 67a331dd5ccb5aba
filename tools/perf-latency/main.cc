// SPDX-License-Identifier: GPL-2.0-only
// The command table, and what the program says when none is named.
#include <zstd.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "cli.h"
#include "commands.h"
#include "nearest.h"
#include "pager.h"

namespace perf_latency::tool {
namespace {

constexpr Command kCommands[] = {
    {"record", "Record scheduler and lock events with call chains", run_record},
    {"report", "Why did tasks sleep: latencytop's causes, from a recording", run_report},
    {"contention", "Which kernel locks were waited for, where, how long, and who held them",
     run_contention},
    {"hold-time", "How long kernel locks were held: histograms, intervals, every long hold",
     run_hold_time},
    {"spin", "CPU time burnt in lock slow paths, and for whom", run_spin},
    {"vmstat-sync", "Which CPUs were disturbed by vmstat work; a verdict per isolated CPU",
     run_vmstat_sync},
    {"explain", "One wait step by step: who waited, woken by whom, who had waited for what",
     run_explain},
    {"script", "One line for each interval found, for post-processing; or a database", run_script},
    {"diff", "Recordings before and after a change, side by side", run_diff},
    {"info", "What is in a recording, and which reports it can answer", run_info},
    {"causes", "The table of causes that names sleeps", run_causes},
    {"bench", "Measure what the kernel's vmstat code costs, in cycles", run_bench},
};

void print_usage(FILE* to) {
  std::fputs("\n usage: perf latency COMMAND [OPTIONS]\n\n", to);
  for (const Command& command : kCommands)
    std::fprintf(to, "   %-12s %s\n", command.name, command.help);
  std::fputs(
      "\n 'perf latency COMMAND --help' lists a command's options; 'man perf-latency' tells more.\n"
      " The option --latency of perf record and perf report (perf 6.15 and later) is something "
      "else.\n",
      to);
}

int print_version() {
  std::printf("perf latency %s (libzstd %s, libperf of Linux 6.12)\n", PL_VERSION,
              ZSTD_versionString());
  return kExitDone;
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

int main(int argc, char** argv) {
  while (argc > 1 && std::string_view(argv[1]) == "--no-pager") {
    forbid_pager();
    argv[1] = argv[0];
    --argc, ++argv;
  }
  if (argc < 2) {
    print_usage(stderr);
    return kExitUsage;
  }
  const std::string_view name = argv[1];
  if (name == "--help" || name == "-h" || name == "help") {
    if (argc == 2 || name != "help") {
      print_usage(stdout);
      return kExitDone;
    }
    char help[] = "--help";
    char* arguments[] = {argv[2], help, nullptr};
    for (const Command& command : kCommands)
      if (std::string_view(argv[2]) == command.name) return command.run(2, arguments);
  }
  if (name == "--version" || name == "-v") return print_version();
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    if (name == command.name) return command.run(argc - 1, argv + 1);
    names.emplace_back(command.name);
  }
  const std::string wrong(name == "help" ? argv[2] : name);
  const std::string meant = nearest(wrong, names);
  complain(
      "'" + wrong + "' is not a command" +
      (meant.empty() ? "; 'perf latency --help' lists them" : "; did you mean '" + meant + "'?"));
  return kExitUsage;
}

}  // namespace perf_latency::tool

int main(int argc, char** argv) { return perf_latency::tool::main(argc, argv); }
