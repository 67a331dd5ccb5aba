// SPDX-License-Identifier: GPL-2.0-only
// Kernel functions by what they are to an analysis: plumbing, releases, interrupts, spinning, entry.
//
// The groups are data (the "[functions GROUP]" sections of the cause table). Every function here
// takes names without a module; compiler suffixes are stripped inside. Chains are innermost first.
// Nothing allocates; a returned label lives as long as the table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "causes/cause_file.h"
#include "causes/pattern_map.h"

namespace perf_latency {

enum class FunctionGroup : uint8_t {
  scheduler,  // gives the CPU away: schedule, schedule_timeout, wait_for_completion, ...
  lock,       // takes a lock: mutex_lock, rwsem_down_read_slowpath, _raw_spin_lock, ...
  tracing,    // between a tracepoint and perf: __traceiter_*, perf_trace_*, bpf_trace_run*, ...
  entry,      // where user mode enters the kernel: entry_SYSCALL_64*, asm_exc_*, el0t_64_sync
  exception,  // where a fault in kernel mode begins: what is outside it is another matter
  release,    // gives a lock up; label: the lock's type in perf lock's words
  interrupt,  // runs in a hard or soft interrupt; label: whose interrupt it is
  interrupt_entry,  // the outermost frame of a hard or soft interrupt; label: what to say at least
  spin,             // burns CPU time while it waits for a lock; label: what it is
  lock_name,        // calls spinning lock code; label: the lock that it takes
};
inline constexpr size_t kFunctionGroups = 10;

class FunctionGroups {
 public:
  // The group's name in the file, and back.
  static std::string_view name(FunctionGroup group);
  static std::optional<FunctionGroup> from_name(std::string_view name);

  Result<void> add(const GroupSection& section);
  // The name of the sleeping lock that functions of this pattern take.
  void add_lock_name(const Pattern& pattern, std::string_view lock_name);
  // As they stood in the files, for listings and checks.
  std::span<const GroupSection> sections() const { return sections_; }

  bool contains(FunctionGroup group, std::string_view function) const {
    return find(group, function) != nullptr;
  }
  std::optional<std::string_view> label(FunctionGroup group, std::string_view function) const;

  bool is_scheduler(std::string_view function) const;
  bool is_lock(std::string_view function) const;
  bool is_plumbing(std::string_view function) const;  // scheduler, lock or tracing
  bool is_user_entry(std::string_view function) const;

  // The first frame that is no plumbing: the caller of a lock (mutexes and semaphores sleep and
  // spin in scheduler text). The chain's size if none.
  size_t caller_index(std::span<const std::string_view> functions) const;
  // By the caller of lock code: "mmap_lock", "pipe mutex" for a lock that sleeps (mutex, rwsem);
  // "rq lock", "zone lock" for one that spins (spinlock, rwlock).
  std::optional<std::string_view> lock_name(std::string_view caller, bool spinning) const;
  // "mutex", "rwsem:R", "rwsem" ... if the function gives up a lock of that type.
  std::optional<std::string_view> release_kind(std::string_view function) const;
  // The same for a waker's chain, if no interrupt came in between: of functions that call each other
  // the outermost, which knows the type best (rwsem_wake, up_read).
  std::optional<std::string_view> release_kind(std::span<const std::string_view> functions) const;
  // What the function is if it spins for a lock: "mutex: queue of spinners", ...
  std::optional<std::string_view> spin_function(std::string_view function) const;
  // A waker's chain: none if it ran in task context, else "timer", "network", "IPI", ...; what the
  // innermost known handler serves, "interrupt" or "softirq" if no handler is known.
  std::optional<std::string_view> interrupt_source(
      std::span<const std::string_view> functions) const;

 private:
  const std::string* find(FunctionGroup group, std::string_view function) const;

  std::array<PatternMap<std::string>, kFunctionGroups> maps_;
  PatternMap<std::string> sleeping_locks_;  // "lock:name" patterns
  PatternMap<std::string> syscall_locks_;   // "lock:syscall:name" patterns
  std::vector<GroupSection> sections_;
};

}  // namespace perf_latency
