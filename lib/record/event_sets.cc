// SPDX-License-Identifier: GPL-2.0-only
#include "record/event_sets.h"

#include <algorithm>
#include <charconv>

namespace perf_latency {

namespace {

using enum Chain;
using enum EventFilter;

constexpr EventRow kSched[] = {
    {"sched", "sched_waking", always}, {"sched", "sched_wakeup_new"},
    {"sched", "sched_process_fork"},   {"sched", "sched_process_exec"},
    {"sched", "sched_process_exit"},   {"sched", "sched_migrate_task"},
    {"task", "task_rename"},           {"sched", "sched_switch", if_sleep},
};
constexpr EventRow kLock[] = {
    {"lock", "contention_begin", always},
    {"lock", "contention_end"},
};
constexpr EventRow kLatencytop[] = {
    {"sched", "sched_wakeup"},
    {"sched", "sched_stat_sleep"},
    {"sched", "sched_stat_blocked"},
};
// lock_acquired says where a lock was taken (the hold's caller), lock_contended where it was waited
// for; the acquire before and the release after are the same place or need none.
constexpr EventRow kLockdep[] = {
    {"lock", "lock_acquire"},
    {"lock", "lock_contended", always},
    {"lock", "lock_acquired", always},
    {"lock", "lock_release"},
};
constexpr EventRow kRstat[] = {
    {"cgroup", "cgroup_rstat_lock_contended", always},
    {"cgroup", "cgroup_rstat_locked", always},
    {"cgroup", "cgroup_rstat_unlock"},
    {"cgroup", "cgroup_rstat_cpu_lock_contended", always, none, true},
    {"cgroup", "cgroup_rstat_cpu_locked", never, none, true},
    {"cgroup", "cgroup_rstat_cpu_unlock", never, none, true},
    {"cgroup", "cgroup_rstat_cpu_lock_contended_fastpath", always, none, true},
    {"cgroup", "cgroup_rstat_cpu_locked_fastpath", never, none, true},
    {"cgroup", "cgroup_rstat_cpu_unlock_fastpath", never, none, true},
};
constexpr EventRow kMmapLock[] = {
    {"mmap_lock", "mmap_lock_start_locking"},
    {"mmap_lock", "mmap_lock_acquire_returned", always},
    {"mmap_lock", "mmap_lock_released"},
};
constexpr EventRow kVmstat[] = {
    {"workqueue", "workqueue_queue_work", always, vmstat_work},
    {"workqueue", "workqueue_activate_work", never, vmstat_work},
    {"workqueue", "workqueue_execute_start", never, vmstat_work},
    {"workqueue", "workqueue_execute_end", never, vmstat_work},
    {"timer", "tick_stop"},
    {"timer", "timer_start", never, delayed_work_timer},
    {"timer", "timer_expire_entry", never, delayed_work_timer},
};
constexpr EventRow kIrq[] = {
    {"irq", "irq_handler_entry"}, {"irq", "irq_handler_exit"}, {"irq", "softirq_raise"},
    {"irq", "softirq_entry"},     {"irq", "softirq_exit"},
};
constexpr std::string_view kNeedsSched[] = {"sched"};

constexpr EventSet kSets[] = {
    {"sched", "who ran, slept, woke whom, and why tasks slept", {}, kSched},
    {"lock", "contended kernel locks (5.19 and later)", {}, kLock},
    {"latencytop", "sched, with what latencytop's own numbers need", kNeedsSched, kLatencytop},
    {"lockdep", "every lock operation (kernels with lockdep and lock_stat)", {}, kLockdep},
    {"rstat", "the cgroup rstat lock (6.10 and later)", {}, kRstat},
    {"mmap_lock", "every lock operation on a process's memory map", {}, kMmapLock},
    {"vmstat", "sched, vmstat work, its timers, and stopped ticks", kNeedsSched, kVmstat},
    {"spin", "where CPUs spend time: a sample 997 times a second", {}, {}, 997},
    {"irq", "hard and soft interrupts", {}, kIrq},
};

const EventRow* find_row(std::string_view system, std::string_view name) {
  for (const EventSet& set : kSets)
    for (const EventRow& row : set.events)
      if (row.system == system && row.name == name) return &row;
  return nullptr;
}

std::string hex(uint64_t value) {
  char text[20] = "0x";
  return std::string(text, std::to_chars(text + 2, text + sizeof text, value, 16).ptr);
}

class Chooser {
 public:
  Chooser(bool user_chains, const Tracefs& tracefs, const KernelFacts& facts, EventChoice& choice)
      : user_chains_(user_chains), tracefs_(tracefs), facts_(facts), choice_(choice) {}

  // The number of events of the set that this kernel has.
  size_t add_set(const EventSet& set) {
    size_t found = 0;
    for (const std::string_view name : set.includes) found += add_set(*find_event_set(name));
    for (const EventRow& row : set.events) found += add_row(row);
    if (set.clock_hz != 0) {
      add_clock(set.clock_hz);
      ++found;
    }
    return found;
  }

  bool add_row(const EventRow& row) {
    const TracepointName name{std::string(row.system), std::string(row.name)};
    if (has(name.full())) return true;
    const std::optional<uint64_t> id = tracefs_.id(name);
    if (!id) {
      if (!row.optional &&
          std::find(choice_.missing.begin(), choice_.missing.end(), name) == choice_.missing.end())
        choice_.missing.push_back(name);
      return false;
    }
    ChosenEvent event;
    event.name = name.full();
    event.tracepoint = name;
    event.config = *id;
    event.parts = parts_of(row, name);
    if (!event.parts.empty()) choice_.events.push_back(std::move(event));
    return true;
  }

 private:
  bool has(std::string_view name) const {
    return std::any_of(choice_.events.begin(), choice_.events.end(),
                       [&](const ChosenEvent& event) { return event.name == name; });
  }

  void add_clock(uint32_t hz) {
    if (has("cpu-clock")) return;
    ChosenEvent event;
    event.name = "cpu-clock";
    event.config = 0;  // PERF_COUNT_SW_CPU_CLOCK
    event.clock_hz = hz;
    event.parts = {EventPart{{}, true, {}}};
    choice_.events.push_back(std::move(event));
  }

  std::vector<EventPart> parts_of(const EventRow& row, const TracepointName& name) {
    const bool chain = row.chain == always || (row.chain == on_g && user_chains_);
    if (row.chain == if_sleep) return switch_parts(name);
    if (row.filter == none) return {EventPart{{}, chain, {}}};
    const std::string format = tracefs_.format(name);
    const std::optional<std::string> filter =
        format_field(format, "function") ? function_filter(row.filter) : std::nullopt;
    if (row.filter == delayed_work_timer) {
      if (filter) return {EventPart{*filter, chain, {}}};
      choice_.notes.push_back(
          name.full() + " is left out: without the address of " +
          "delayed_work_timer_fn (kptr_restrict) every timer would be recorded");
      return {};
    }
    if (!filter) return {EventPart{{}, chain, {}}};
    return vmstat_parts(*filter, chain);
  }

  // Two fds with complementary filters: the kernel walks the stack only where a sleep begins.
  std::vector<EventPart> switch_parts(const TracepointName& name) {
    const uint64_t mask = sleep_state_mask(tracefs_.format(name));
    if (mask == 0) {
      choice_.notes.push_back(
          name.full() + ": its format names no task states, so every switch has a call chain");
      return {EventPart{{}, true, {}}};
    }
    const std::string sleeping = "prev_state & " + hex(mask);
    return {EventPart{sleeping, true, {}}, EventPart{"!(" + sleeping + ")", false, {}}};
  }

  // Isolated CPUs are recorded in full: there each work item is a disturbance of its own.
  std::vector<EventPart> vmstat_parts(const std::string& filter, bool chain) {
    std::vector<uint32_t> housekeeping, isolated;
    for (const uint32_t cpu : facts_.online_cpus) {
      const bool is_isolated =
          std::binary_search(facts_.isolated_cpus.begin(), facts_.isolated_cpus.end(), cpu);
      (is_isolated ? isolated : housekeeping).push_back(cpu);
    }
    if (isolated.empty()) return {EventPart{filter, chain, {}}};
    std::vector<EventPart> parts = {EventPart{{}, chain, isolated}};
    if (!housekeeping.empty()) parts.push_back(EventPart{filter, chain, housekeeping});
    return parts;
  }

  std::optional<std::string> function_filter(EventFilter kind) const {
    static constexpr std::string_view kVmstatFunctions[] = {"vmstat_update", "vmstat_shepherd",
                                                            "refresh_vm_stats"};
    static constexpr std::string_view kTimerFunctions[] = {"delayed_work_timer_fn"};
    const std::span<const std::string_view> functions =
        kind == vmstat_work ? std::span<const std::string_view>(kVmstatFunctions)
                            : std::span<const std::string_view>(kTimerFunctions);
    std::string filter;
    for (const std::string_view function : functions) {
      const std::optional<uint64_t> address = symbol_address(facts_.kallsyms, function);
      if (!address) continue;
      if (!filter.empty()) filter += "||";
      filter += "function==" + hex(*address);
    }
    if (filter.empty()) return std::nullopt;
    return filter;
  }

  bool user_chains_;
  const Tracefs& tracefs_;
  const KernelFacts& facts_;
  EventChoice& choice_;
};

Error unknown_set(const std::string& name) {
  std::string known;
  for (const EventSet& set : kSets) known += (known.empty() ? "" : ", ") + std::string(set.name);
  return make_error("no event set \"" + name + "\": the sets are " + known +
                    "; a tracepoint is written SYSTEM:NAME");
}

Result<void> add_named(const std::string& name, bool named_by_user, Chooser& chooser,
                       const Tracefs& tracefs) {
  if (const EventSet* set = find_event_set(name)) {
    if (chooser.add_set(*set) == 0 && named_by_user)
      return make_error("this kernel has no event of the set \"" + name + "\"");
    return {};
  }
  const size_t colon = name.find(':');
  if (colon == std::string::npos || name.find('/') != std::string::npos) return unknown_set(name);
  const std::string system = name.substr(0, colon), event = name.substr(colon + 1);
  const EventRow* row = find_row(system, event);
  if (!chooser.add_row(row ? *row : EventRow{system, event, on_g}))
    return make_error("this kernel has no tracepoint \"" + name + "\" (" + tracefs.directory() +
                      "/events/" + system + ")");
  return {};
}

}  // namespace

std::span<const EventSet> event_sets() { return kSets; }

const EventSet* find_event_set(std::string_view name) {
  for (const EventSet& set : kSets)
    if (set.name == name) return &set;
  return nullptr;
}

bool needs_kernel_addresses(const std::vector<std::string>& sets) {
  for (const std::string& name : sets) {
    const EventSet* set = find_event_set(name);
    const size_t colon = name.find(':');
    const EventRow* row = colon == std::string::npos
                              ? nullptr
                              : find_row(name.substr(0, colon), name.substr(colon + 1));
    if (row != nullptr && row->filter != none) return true;
    if (set != nullptr && std::any_of(set->events.begin(), set->events.end(),
                                      [](const EventRow& e) { return e.filter != none; }))
      return true;
  }
  return false;
}

Result<EventChoice> choose_events(const EventRequest& request, const Tracefs& tracefs,
                                  const KernelFacts& facts) {
  EventChoice choice;
  Chooser chooser(request.user_chains, tracefs, facts, choice);
  for (const std::string& name : request.sets) {
    Result<void> added = add_named(name, request.named_by_user, chooser, tracefs);
    if (!added) return added.error();
  }
  if (choice.events.empty()) return make_error("this kernel has none of the events to record");
  const bool wants_stats =
      std::find(request.sets.begin(), request.sets.end(), "latencytop") != request.sets.end();
  const bool has_stats = std::any_of(choice.events.begin(), choice.events.end(), [](const auto& e) {
    return e.name == "sched:sched_stat_sleep";
  });
  if (wants_stats && has_stats && !facts.schedstats_on)
    choice.notes.push_back(
        "kernel.sched_schedstats is 0, so the kernel's own durations are missing: "
        "\"sysctl kernel.sched_schedstats=1\" turns them on");
  return choice;
}

std::optional<uint64_t> symbol_address(std::string_view kallsyms, std::string_view name) {
  const std::string needle = " " + std::string(name);
  for (size_t at = kallsyms.find(needle); at != std::string_view::npos;
       at = kallsyms.find(needle, at + 1)) {
    const size_t end = at + needle.size();
    if (end < kallsyms.size() && kallsyms[end] != '\n' && kallsyms[end] != '\t') continue;
    const size_t newline = kallsyms.rfind('\n', at);
    const size_t line = newline == std::string_view::npos ? 0 : newline + 1;
    uint64_t address = 0;
    const auto [stop, error] =
        std::from_chars(kallsyms.data() + line, kallsyms.data() + at, address, 16);
    // "ADDRESS T name": a match inside another symbol's module column has no such line start.
    if (error == std::errc() && stop + 2 == kallsyms.data() + at && address != 0) return address;
  }
  return std::nullopt;
}

}  // namespace perf_latency
