// SPDX-License-Identifier: GPL-2.0-only
// perf latency script: every interval of a recording, one a line, or as a database.
#include <algorithm>

#include "analysis_command.h"
#include "commands.h"
#include "render/interval_lines.h"
#include "render/sqlite_intervals.h"
#include "row_keys.h"
#include "script_command.h"

namespace perf_latency::tool {
namespace {

int parse_kinds(const std::string& list, ScriptOptions& script) {
  script.kinds.fill(false);
  for (size_t at = 0; at <= list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    const std::string name = list.substr(at, comma - at);
    const auto kind = parse_row_kind(name);
    if (!kind) {
      complain("--only: '" + name + "' is none of sleep, runnable, wait, hold, vmstat_sync");
      return kExitUsage;
    }
    script.kinds[static_cast<size_t>(*kind)] = true;
    at = comma + 1;
  }
  return -1;
}

int choose_fields(const AnalysisCommand& command, const AnalysisOptions& options,
                  IntervalLineOptions& lines) {
  lines.csv = command.format() == Format::csv;
  lines.show(IntervalField::recording, command.inputs().size() > 1);
  lines.show(IntervalField::full_ns, options.time.start_ns || options.time.stop_ns ||
                                         options.time.part || options.time_comm);
  lines.show(IntervalField::stack, options.callchain != CallchainMode::user);
  lines.show(IntervalField::user_stack, options.callchain >= CallchainMode::user);
  if (options.fields.empty()) return -1;
  const auto selected = lines.select(options.fields);
  if (selected) return -1;
  complain(selected.error().what);
  return kExitUsage;
}

// What the lines themselves cannot say.
void complain_about_rows(const AnalysisCommand& command, const ScriptAnalysis& analysis) {
  if (command.quiet()) return;
  if (analysis.rows_left_out() != 0)
    complain(std::to_string(analysis.rows_left_out()) + " more intervals are behind the limit");
  if (analysis.misplaced() != 0)
    complain(std::to_string(analysis.misplaced()) +
             " lines are not in order of end_ns: what ended them was known much later");
}

int write_lines(AnalysisCommand& command, const ScriptOptions& script, CauseTable& causes) {
  IntervalLineOptions options;
  if (const int status = choose_fields(command, command.options(), options); status >= 0)
    return status;
  IntervalLines lines(options, [&](std::string_view text) { command.write(text); });
  ScriptAnalysis analysis(command.options(), script, causes, lines);
  const int status = command.run(analysis);
  complain_about_rows(command, analysis);
  return status;
}

int write_database(AnalysisCommand& command, const ScriptOptions& script, CauseTable& causes) {
  const std::string& path = command.output_path();
  if (path.empty() || path == "-") {
    complain("--format sqlite makes a database: give its file with -o");
    return kExitUsage;
  }
  if (!command.options().fields.empty()) {
    complain("--fields does not go with --format sqlite: a database has all of them");
    return kExitUsage;
  }
  Output file;  // what was there before goes away
  auto emptied = file.open(path);
  if (emptied) emptied = file.close();
  if (!emptied) {
    complain(emptied.error().what);
    return kExitFailed;
  }
  auto database = SqliteIntervals::open(path);
  if (!database) {
    complain(database.error().what);
    return kExitFailed;
  }
  ScriptAnalysis analysis(command.options(), script, causes, **database);
  const int status = command.run(analysis);
  if (status != kExitDone) return status;
  if (const auto finished = (*database)->finish(); !finished) {
    complain(path + ": " + finished.error().what);
    return kExitFailed;
  }
  complain_about_rows(command, analysis);
  return status;
}

}  // namespace

int run_database(AnalysisCommand& command, std::initializer_list<RowKind> kinds,
                 const std::vector<LockType>& lock_types, CauseTable& causes) {
  for (const char* name : {"--by", "--sort", "--key", "--interval", "--fail-if", "--latencytop",
                           "--vs-latencytop", "--holder", "--histogram", "--long", "--verdict"}) {
    const CLI::Option* option = command.app().get_option_no_throw(name);
    if (option == nullptr || option->count() == 0) continue;
    complain(std::string(name) +
             " does not go with --format sqlite: it has the intervals, no rows");
    return kExitUsage;
  }
  ScriptOptions script;
  script.kinds.fill(false);
  for (const RowKind kind : kinds) script.kinds[static_cast<size_t>(kind)] = true;
  script.lock_types = lock_types;
  script.limit = command.options().limit;
  command.stream();
  return write_database(command, script, causes);
}

int run_script(int argc, char** argv) {
  AnalysisCommand command(
      "script",
      "One line for each interval found: sleeps, waits for a CPU, waits for and "
      "holds of locks, vmstat syncs",
      {Format::json, Format::csv, Format::sqlite});
  AnalysisOptions& options = command.options();
  ScriptOptions script;
  std::string kinds;
  std::string types;
  std::string callchain;
  CLI::App& app = command.app();
  // There are no rows to be made, sorted or judged.
  for (const char* name : {"--by", "--sort", "--interval", "--fail-if", "--color"})
    app.remove_option(app.get_option(name));
  app.add_option("--only", kinds, "Kinds of intervals: sleep, runnable, wait, hold, vmstat_sync");
  app.add_option("--type", types, "Lock types as perf lock names them (a list)");
  app.add_option("--state", options.states, "States of sleeps to show (default S,D), or all");
  app.add_option("--callchain", callchain, "Call chains: kernel (default), user or both")
      ->expected(0, 1);
  command.stream();
  if (const int status = command.parse(argc, argv); status >= 0) return status;
  if (app.count("--only") != 0)
    if (const int status = parse_kinds(kinds, script); status >= 0) return status;
  if (const int status = read_lock_types(types, script.lock_types); status >= 0) return status;
  if (const int status = check_states(options.states); status >= 0) return status;
  if (app.count("--callchain") != 0) {
    const auto mode = parse_callchain(callchain);
    if (!mode) {
      complain("--callchain is kernel, user or both, not '" + callchain + "'");
      return kExitUsage;
    }
    options.callchain = *mode;
  }
  script.limit = options.limit;
  auto causes = command.load_causes();
  if (!causes) return kExitFailed;
  return command.format() == Format::sqlite ? write_database(command, script, *causes)
                                            : write_lines(command, script, *causes);
}

}  // namespace perf_latency::tool
