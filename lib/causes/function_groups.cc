// SPDX-License-Identifier: GPL-2.0-only
#include "causes/function_groups.h"

#include "symbolize/names.h"

namespace perf_latency {
namespace {

constexpr std::array<std::string_view, kFunctionGroups> kGroupNames = {
    "scheduler", "lock",      "tracing",         "entry", "exception",
    "release",   "interrupt", "interrupt-entry", "spin",  "spinlock-name"};

}  // namespace

std::string_view FunctionGroups::name(FunctionGroup group) {
  return kGroupNames[static_cast<size_t>(group)];
}

std::optional<FunctionGroup> FunctionGroups::from_name(std::string_view name) {
  for (size_t i = 0; i < kFunctionGroups; ++i)
    if (kGroupNames[i] == name) return static_cast<FunctionGroup>(i);
  return std::nullopt;
}

Result<void> FunctionGroups::add(const GroupSection& section) {
  const auto group = from_name(section.group);
  if (!group)
    return make_error("line " + std::to_string(section.line) + ": there is no function group `" +
                      section.group + "`");
  for (const GroupPattern& entry : section.patterns)
    maps_[static_cast<size_t>(*group)].set(entry.pattern.name, entry.pattern.glob, entry.label);
  sections_.push_back(section);
  return {};
}

void FunctionGroups::add_lock_name(const Pattern& pattern, std::string_view lock_name) {
  PatternMap<std::string>& map = pattern.syscall ? syscall_locks_ : sleeping_locks_;
  map.set(pattern.name, pattern.glob, std::string(lock_name));
}

const std::string* FunctionGroups::find(FunctionGroup group, std::string_view function) const {
  return maps_[static_cast<size_t>(group)].find(strip_compiler_suffixes(function));
}

std::optional<std::string_view> FunctionGroups::label(FunctionGroup group,
                                                      std::string_view function) const {
  const std::string* const found = find(group, function);
  return found ? std::optional<std::string_view>(*found) : std::nullopt;
}

bool FunctionGroups::is_scheduler(std::string_view function) const {
  return contains(FunctionGroup::scheduler, function);
}
bool FunctionGroups::is_lock(std::string_view function) const {
  return contains(FunctionGroup::lock, function);
}
bool FunctionGroups::is_user_entry(std::string_view function) const {
  return contains(FunctionGroup::entry, function);
}

bool FunctionGroups::is_plumbing(std::string_view function) const {
  return is_scheduler(function) || is_lock(function) || contains(FunctionGroup::tracing, function);
}

size_t FunctionGroups::caller_index(std::span<const std::string_view> functions) const {
  size_t i = 0;
  while (i < functions.size() && is_plumbing(functions[i])) ++i;
  return i;
}

std::optional<std::string_view> FunctionGroups::lock_name(std::string_view caller,
                                                          bool spinning) const {
  if (spinning) return label(FunctionGroup::lock_name, caller);
  const std::string* found = sleeping_locks_.find(strip_compiler_suffixes(caller));
  if (!found) {
    if (const auto syscall = syscall_name(caller)) found = syscall_locks_.find(*syscall);
  }
  return found ? std::optional<std::string_view>(*found) : std::nullopt;
}

std::optional<std::string_view> FunctionGroups::release_kind(std::string_view function) const {
  return label(FunctionGroup::release, function);
}
std::optional<std::string_view> FunctionGroups::release_kind(
    std::span<const std::string_view> functions) const {
  std::optional<std::string_view> kind;
  for (const std::string_view function : functions) {
    const auto outer = release_kind(function);
    if (kind && !outer) return kind;
    if (outer) kind = outer;
    if (contains(FunctionGroup::interrupt_entry, function)) return kind;
  }
  return kind;
}

std::optional<std::string_view> FunctionGroups::spin_function(std::string_view function) const {
  return label(FunctionGroup::spin, function);
}

std::optional<std::string_view> FunctionGroups::interrupt_source(
    std::span<const std::string_view> functions) const {
  std::optional<std::string_view> source;
  for (const std::string_view function : functions) {
    if (!source) source = label(FunctionGroup::interrupt, function);
    const auto at_least = label(FunctionGroup::interrupt_entry, function);
    if (at_least) return source ? source : at_least;
  }
  return std::nullopt;
}

}  // namespace perf_latency
