// SPDX-License-Identifier: GPL-2.0-only
// The event sets that `record -e` takes, as data, and the choice of events made from them.
//
// A set is a row: name, help, the sets it includes, its events. An event's row says which call chain
// an analysis needs with it and which filter may drop what none needs. Everything else (which of them
// this kernel has, their ids, the filters' text) is found by choose_events().
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "record/tracefs.h"

namespace perf_latency {

enum class Chain : uint8_t {
  never,     // not even with -g: no analysis looks at it
  on_g,      // only with -g (events that the user named and no set knows)
  always,    // the kernel's part always, the user's with -g
  if_sleep,  // sched_switch: only where the previous task goes to sleep
};

enum class EventFilter : uint8_t {
  none,
  vmstat_work,         // work items of mm/vmstat.c; isolated CPUs are not filtered
  delayed_work_timer,  // timers behind delayed work items
};

struct EventRow {
  std::string_view system;
  std::string_view name;
  Chain chain = Chain::never;
  EventFilter filter = EventFilter::none;
  bool optional = false;  // some kernels never had it: not worth a warning
};

struct EventSet {
  std::string_view name;
  std::string_view help;
  std::span<const std::string_view> includes;
  std::span<const EventRow> events;
  uint32_t clock_hz = 0;  // samples of a CPU clock, with call chain
};

std::span<const EventSet> event_sets();
const EventSet* find_event_set(std::string_view name);
inline constexpr std::string_view kDefaultSets[] = {"sched", "lock"};

// One fd's worth of an event: sched_switch has two, with and without call chain.
struct EventPart {
  std::string filter;
  bool with_chain = false;
  std::vector<uint32_t> cpus;  // empty: all CPUs that are recorded
};

// An event as it stands in the file: one attr, the ids of all parts.
struct ChosenEvent {
  std::string name;           // "sched:sched_switch", "cpu-clock"
  TracepointName tracepoint;  // empty for the clock
  uint64_t config = 0;
  uint32_t clock_hz = 0;
  std::vector<EventPart> parts;
};

struct EventChoice {
  std::vector<ChosenEvent> events;
  std::vector<TracepointName> missing;  // what this kernel lacks
  std::vector<std::string> notes;       // other things a user should know, one sentence each
};

// What the choice depends on besides the tracepoints; tests give their own.
struct KernelFacts {
  std::vector<uint32_t> online_cpus;
  std::vector<uint32_t> isolated_cpus;  // isolated or nohz_full
  std::string kallsyms;                 // read only when a set needs addresses
  bool schedstats_on = false;
};
bool needs_kernel_addresses(const std::vector<std::string>& sets);

struct EventRequest {
  std::vector<std::string> sets;  // names of sets, or SYSTEM:NAME
  bool named_by_user = false;     // a set that this kernel has nothing of is then an error
  bool user_chains = false;       // -g
};

// Fails when a set or event is not known, when nothing of a named set is in this kernel, or when there
// is no event at all.
Result<EventChoice> choose_events(const EventRequest& request, const Tracefs& tracefs,
                                  const KernelFacts& facts);

// The address of a function in the text of /proc/kallsyms; nullopt when hidden or absent.
std::optional<uint64_t> symbol_address(std::string_view kallsyms, std::string_view name);

}  // namespace perf_latency
