// SPDX-License-Identifier: GPL-2.0-only
// Which functions a kernel has, and which patterns of the cause table it leaves without one.
//
// The names come from the text of /proc/kallsyms or System.map; those of loaded modules are in there,
// those of other modules and of functions that the compiler put into their callers are not. So a
// missing name can mean "renamed", "not built in" or "inlined": the kernel's text cannot tell.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "causes/cause_table.h"

namespace perf_latency {

class KernelFunctions {
 public:
  // The text must outlive this object.
  explicit KernelFunctions(std::string_view kallsyms_text);

  size_t size() const { return names_.size(); }
  bool has(const Pattern& pattern) const;

 private:
  // Sorted, each once, without compiler suffixes.
  std::vector<std::string_view> names_;
  std::vector<std::string_view> syscalls_;
};

// The patterns of a cause or a function group that no function of the kernel matches.
struct PatternCheck {
  CauseId cause;      // none: a function group
  std::string group;  // the group's name, or ""
  size_t patterns = 0;
  std::vector<std::string> missing;  // as they stand in the file
};

// Every cause of the table that has patterns, then every group.
std::vector<PatternCheck> check_patterns(const CauseTable& table, const KernelFunctions& kernel);

}  // namespace perf_latency
