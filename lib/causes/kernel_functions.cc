// SPDX-License-Identifier: GPL-2.0-only
#include "causes/kernel_functions.h"

#include <algorithm>

#include "symbolize/kallsyms_parser.h"
#include "symbolize/names.h"

namespace perf_latency {
namespace {

void sort_unique(std::vector<std::string_view>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

bool contains(const std::vector<std::string_view>& names, const Pattern& pattern) {
  const auto at = std::lower_bound(names.begin(), names.end(), std::string_view(pattern.name));
  if (at == names.end()) return false;
  return pattern.glob ? at->starts_with(pattern.name) : *at == pattern.name;
}

void count(PatternCheck& check, const Pattern& pattern, const KernelFunctions& kernel) {
  ++check.patterns;
  if (!kernel.has(pattern)) check.missing.push_back(pattern.text());
}

}  // namespace

KernelFunctions::KernelFunctions(std::string_view kallsyms_text) {
  const KallsymsText text = parse_kallsyms(kallsyms_text);
  names_.reserve(text.code.size());
  for (const SymbolEntry& entry : text.code.entries()) {
    names_.push_back(strip_compiler_suffixes(entry.name()));
    if (const auto syscall = syscall_name(entry.name())) syscalls_.push_back(*syscall);
  }
  sort_unique(names_);
  sort_unique(syscalls_);
}

bool KernelFunctions::has(const Pattern& pattern) const {
  return contains(pattern.syscall ? syscalls_ : names_, pattern);
}

std::vector<PatternCheck> check_patterns(const CauseTable& table, const KernelFunctions& kernel) {
  std::vector<PatternCheck> checks;
  for (uint32_t i = 0; i < table.table_size(); ++i) {
    PatternCheck check;
    check.cause = CauseId{i};
    for (const RankedPattern& ranked : table.patterns(check.cause))
      count(check, ranked.pattern, kernel);
    if (check.patterns != 0) checks.push_back(std::move(check));
  }
  for (const GroupSection& section : table.groups().sections()) {
    PatternCheck check;
    check.group = section.group;
    for (const GroupPattern& entry : section.patterns) count(check, entry.pattern, kernel);
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace perf_latency
