// SPDX-License-Identifier: GPL-2.0-only
#include "lock_command.h"

#include <algorithm>

#include "commands.h"

namespace perf_latency::tool {
namespace {

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  for (size_t at = 0; at <= list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    if (comma > at) items.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return items;
}

// perf lock's sort keys (tools/perf/builtin-lock.c), in the words of the columns here.
std::string column_of(const std::string& key) {
  if (key == "contended" || key == "acquired") return "count";
  if (key == "wait_total") return "total";
  if (key == "wait_max") return "max";
  if (key == "avg_wait") return "mean";
  return key;
}

}  // namespace

int parse_lock_types(const std::string& list, std::vector<LockType>& types) {
  for (const std::string& name : split(list)) {
    bool known = false;
    for (size_t i = 0; i < kLockTypes; ++i) {
      const auto type = static_cast<LockType>(i);
      const std::string_view whole = lock_type_name(type);
      if (parse_lock_type(name) != type && whole.substr(0, whole.find(':')) != name) continue;
      types.push_back(type);
      known = true;
    }
    if (!known) {
      std::string names;
      for (size_t i = 0; i < kLockTypes; ++i)
        names.append(names.empty() ? "" : ", ").append(lock_type_name(static_cast<LockType>(i)));
      complain("--type: '" + name + "' is none of " + names);
      return kExitUsage;
    }
  }
  return -1;
}

int LockCommand::parse(int argc, char** argv, std::initializer_list<LockBy> allowed) {
  if (const int status = command_.parse(argc, argv); status >= 0) return status;
  if (const int status = parse_lock_types(types_, lock_options_.types); status >= 0) return status;
  AnalysisOptions& options = command_.options();
  for (const std::string& name : options.by) {
    const auto by = parse_lock_by(name);
    if (!by || std::find(allowed.begin(), allowed.end(), *by) == allowed.end()) {
      std::string names;
      for (const LockBy one : allowed)
        names.append(names.empty() ? "" : ", ").append(lock_by_name(one));
      complain("--by: '" + name + "' is none of " + names);
      return kExitUsage;
    }
    lock_options_.by.push_back(*by);
    if (*by == LockBy::stack) options.stacks = true;
  }
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
