// SPDX-License-Identifier: GPL-2.0-only
// What to do with the samples of each event of a file, worked out once from its attrs and formats.
//
// Immutable: when a pipe brings another event or its tracing data, a new plan is made, and batches
// taken before go on with the old one.
#pragma once

#include <array>
#include <bitset>
#include <memory>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "perfdata/sample_layout.h"
#include "tracepoint/event.h"
#include "tracepoint/event_format.h"
#include "tracepoint/format_cache.h"
#include "tracepoint/task_state.h"

namespace perf_latency {

inline constexpr size_t kEventKinds = static_cast<size_t>(EventKind::count_);
using EventKinds = std::bitset<kEventKinds>;

// What the chosen report uses; everything else is counted and stepped over.
struct DecodeNeeds {
  EventKinds kinds;
  bool sleep_stacks = false;  // kernel frames where a sleep begins
  bool waker_stacks = false;  // kernel frames of wakers
  bool other_stacks = false;  // kernel frames of all other wanted events
  bool user_stacks = false;   // user frames too
  bool user_maps = false;     // names and places of user mappings
  bool validate = false;      // check every field of every sample

  void want(std::initializer_list<EventKind> wanted) {
    for (const EventKind kind : wanted) kinds.set(static_cast<size_t>(kind));
  }
  bool wants(EventKind kind) const { return kinds[static_cast<size_t>(kind)]; }
};

// How the samples of one event are decoded.
struct EventPlan {
  static constexpr size_t kMaxFields = 8;

  SampleLayout layout;
  EventKind kind = EventKind::none;
  bool lacks_format = false;   // a tracepoint whose format is not known
  uint16_t min_raw_bytes = 0;  // all fields below end before
  FieldRef common_pid;
  std::array<FieldRef, kMaxFields> fields;  // in the order of the kind's row in the table
};

class DecodePlan {
 public:
  // `formats` may be null: then tracepoints cannot be decoded.
  static std::shared_ptr<const DecodePlan> make(const Metadata& metadata, FormatCache* formats,
                                                const DecodeNeeds& needs, Diagnostics& diagnostics);

  bool swapped = false;      // records
  bool raw_swapped = false;  // raw data of tracepoints
  DecodeNeeds needs;
  EventIndex index;
  std::vector<EventPlan> events;
  std::unordered_set<uint64_t> guest_ids;  // samples of these are a virtual machine's
  TaskStateTable states;
  EventKinds present;              // kinds that the file has events for, wanted or not
  std::vector<std::string> names;  // "sched:sched_switch", as far as known
};

}  // namespace perf_latency
