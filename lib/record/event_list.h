// SPDX-License-Identifier: GPL-2.0-only
// The opened events and their ring buffers, on libperf (evlist, evsel, mmap).
//
// One ring per CPU takes the records of all events there. Order of calls: open(), map(), enable_tracking(),
// enable(), disable(), read_losses(). Parts of one ChosenEvent share one attr in the file, with the ids
// of all of them: perf binds its handlers to a single attr of a tracepoint.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "perfdata/writer.h"
#include "record/attrs.h"
#include "record/event_sets.h"
#include "record/ring.h"

struct perf_evlist;
struct perf_evsel;

namespace perf_latency {

struct EventTarget {
  std::vector<uint32_t> cpus;
  std::vector<pid_t> tasks;  // empty: all tasks on those CPUs
};

struct EventLoss {
  uint64_t id = 0;
  uint32_t cpu = 0;
  uint64_t lost = 0;
};

class EventList {
 public:
  // `events` may be empty: then context switches of the target's tasks are recorded without chains.
  // `denied` tells whether it failed for want of rights.
  static Result<std::unique_ptr<EventList>> open(const std::vector<ChosenEvent>& events,
                                                 const AttrOptions& options,
                                                 const KernelSupport& support,
                                                 const EventTarget& target, bool& denied);
  ~EventList();
  EventList(const EventList&) = delete;
  EventList& operator=(const EventList&) = delete;

  // `ring_bytes` is a power of two of at least a page. Where the kernel grants less locked memory, the
  // largest size that it grants is taken unless `exact`.
  Result<void> map(uint64_t ring_bytes, bool exact);
  uint64_t ring_bytes() const { return ring_bytes_; }

  std::vector<Ring>& rings() { return rings_; }
  std::vector<WriterEvent> file_events() const;

  // The tracking event first: what starts while /proc is being read must not be missed.
  Result<void> enable_tracking();
  Result<void> enable();
  void disable();

  // What each fd lost so far; empty on kernels that do not count it.
  std::vector<EventLoss> read_losses() const;

 private:
  struct Opened {
    perf_evsel* evsel;
    size_t file_event;  // index into file_events_
  };

  EventList() = default;
  Result<void> add(perf_event_attr attr, const EventPart& part, size_t file_event,
                   const std::string& name, bool& denied);
  void make_file_event(const std::string& name, const perf_event_attr& attr);
  void read_ids();

  perf_evlist* evlist_ = nullptr;
  std::vector<Opened> opened_;  // the tracking event is the last
  std::vector<WriterEvent> file_events_;
  std::vector<Ring> rings_;
  uint64_t ring_bytes_ = 0;
  bool counts_losses_ = false;
};

}  // namespace perf_latency
