// SPDX-License-Identifier: GPL-2.0-only
#include "lock_command.h"

#include "commands.h"
#include "row_keys.h"

namespace perf_latency::tool {
namespace {

// perf lock's sort keys (tools/perf/builtin-lock.c), in the words of the columns here.
std::string column_of(const std::string& key) {
  if (key == "contended" || key == "acquired") return "count";
  if (key == "wait_total") return "total";
  if (key == "wait_max") return "max";
  if (key == "avg_wait") return "mean";
  return key;
}

}  // namespace

int LockCommand::parse(int argc, char** argv) {
  if (const int status = command_.parse(argc, argv); status >= 0) return status;
  if (const int status = read_lock_types(types_, lock_options_.types); status >= 0) return status;
  AnalysisOptions& options = command_.options();
  if (const int status = read_lock_keys(name_, options, lock_options_); status >= 0) return status;
  for (const std::string& key : split(command_keys_)) {
    const bool reversed = key.starts_with('-');
    options.sort.push_back({column_of(reversed ? key.substr(1) : key), reversed});
  }
  if (command_.app().count("--callchain") != 0) {
    if (!callchain_.empty() && callchain_ != "kernel") {
      complain("--callchain: lock events have kernel call chains only, not '" + callchain_ + "'");
      return kExitUsage;
    }
    options.callchain = CallchainMode::kernel;
    options.stacks = true;
  }
  lock_options_.lock_stat = command_.format() == Format::lock_stat;
  return -1;
}

void complain_about_unknown(const std::vector<std::string>& columns) {
  if (columns.empty()) return;
  std::string names;
  for (const std::string& column : columns) names.append(names.empty() ? "" : ", ").append(column);
  complain("the recording cannot tell " + names + ": 0 in the text");
}

}  // namespace perf_latency::tool
