// SPDX-License-Identifier: GPL-2.0-only
#include "row_keys.h"

#include <algorithm>

#include "analysis/causes_report.h"
#include "cli.h"
#include "commands.h"

namespace perf_latency::tool {
namespace {

constexpr LockBy kContention[] = {LockBy::caller,  LockBy::lock,   LockBy::type,
                                  LockBy::process, LockBy::thread, LockBy::cpu,
                                  LockBy::cgroup,  LockBy::holder, LockBy::stack};
constexpr LockBy kHoldTime[] = {LockBy::lock,   LockBy::caller, LockBy::type,  LockBy::process,
                                LockBy::thread, LockBy::cpu,    LockBy::cgroup};
constexpr LockBy kSpin[] = {LockBy::function, LockBy::caller, LockBy::lock,
                            LockBy::process,  LockBy::thread, LockBy::cpu};

}  // namespace

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  for (size_t at = 0; at <= list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    if (comma > at) items.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return items;
}

int check_report_keys(AnalysisOptions& options) {
  for (const std::string& name : options.by) {
    if (parse_report_key(name)) {
      if (name == "stack") options.stacks = true;
      continue;
    }
    complain("--by: '" + name + "' is none of " + report_key_names());
    return kExitUsage;
  }
  return check_states(options.states);
}

int check_states(const std::string& states) {
  constexpr std::string_view kLetters = "SDTtXZPIxKWNR?,";
  const bool known = states == "all" || std::all_of(states.begin(), states.end(), [&](char letter) {
                       return kLetters.find(letter) != std::string_view::npos;
                     });
  if (known && !states.empty()) return -1;
  complain("--state: '" + states + "' is no list of state letters such as S,D, nor 'all'");
  return kExitUsage;
}

std::span<const LockBy> lock_keys_of(std::string_view report) {
  if (report == "contention") return kContention;
  if (report == "hold-time") return kHoldTime;
  return kSpin;
}

int read_lock_keys(std::string_view report, AnalysisOptions& options, LockOptions& lock_options) {
  const std::span<const LockBy> allowed = lock_keys_of(report);
  for (const std::string& name : options.by) {
    const auto by = parse_lock_by(name);
    if (!by || std::find(allowed.begin(), allowed.end(), *by) == allowed.end()) {
      std::string names;
      for (const LockBy one : allowed)
        names.append(names.empty() ? "" : ", ").append(lock_by_name(one));
      complain("--by: '" + name + "' is none of " + names);
      return kExitUsage;
    }
    lock_options.by.push_back(*by);
    if (*by == LockBy::stack) options.stacks = true;
  }
  return -1;
}

int read_lock_types(const std::string& list, std::vector<LockType>& types) {
  for (const std::string& name : split(list)) {
    bool known = false;
    for (size_t i = 0; i < kLockTypes; ++i) {
      const auto type = static_cast<LockType>(i);
      const std::string_view whole = lock_type_name(type);
      if (parse_lock_type(name) != type && whole.substr(0, whole.find(':')) != name) continue;
      types.push_back(type);
      known = true;
    }
    if (known) continue;
    std::string names;
    for (size_t i = 0; i < kLockTypes; ++i)
      names.append(names.empty() ? "" : ", ").append(lock_type_name(static_cast<LockType>(i)));
    complain("--type: '" + name + "' is none of " + names);
    return kExitUsage;
  }
  return -1;
}

}  // namespace perf_latency::tool
