// SPDX-License-Identifier: GPL-2.0-only
// Puts events into the order of time, with bounded memory.
//
// A recorder writes ring after ring, round after round. Within a round the file is a few ascending
// runs (one a CPU); what is older than the newest event of the round before the last can no longer be
// overtaken and is handed on (tools/perf/util/session.c, process_finished_round). Events of equal time
// keep the order of the file. Where rounds are missing or too long for memory, sorted runs are put
// aside in an unlinked temporary file and merged at the end.
//
//   round 1        round 2        round 3
//   cpu0 cpu1      cpu0 cpu1      cpu0 cpu1       at the end of round 3 everything up to the
//   ──── ────  F   ──── ────  F   ──── ────  F    newest event of round 1 and 2 is handed on
#pragma once

#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/diagnostics.h"
#include "tracepoint/event.h"
#include "tracepoint/event_buffers.h"

namespace perf_latency {

class EventSorter {
 public:
  using Sink = std::function<void(const Event* const* events, size_t count)>;

  // `sink` gets events in order, many at a time; they are valid during the call.
  // Batches come from `buffers` and go back there.
  EventSorter(Sink sink, Diagnostics& diagnostics, EventBuffers& buffers,
              size_t max_pending = 3u << 18);
  ~EventSorter();
  EventSorter(const EventSorter&) = delete;
  EventSorter& operator=(const EventSorter&) = delete;

  void add(std::vector<Event>&& batch);
  void end_round();
  void finish();

  uint64_t spilled_events() const { return spilled_events_; }

 private:
  struct Segment {
    std::shared_ptr<const std::vector<Event>> events;
    size_t begin = 0;
    size_t end = 0;
  };
  struct Run {
    std::deque<Segment> segments;
    uint64_t last_time_ns = 0;
  };
  struct Ref {
    uint64_t time_ns;
    const Event* event;
  };
  class SpilledRun;

  static void order_if_scattered(std::vector<Event>& batch);
  void gather(uint64_t limit_ns);
  void sort_refs();
  void emit(uint64_t limit_ns);
  void emit_refs();
  void merge_runs(uint64_t limit_ns);
  void hand_on_pointers();
  void merge_with_spilled(uint64_t limit_ns);
  void drop_gathered(uint64_t limit_ns);
  void compact();
  void spill();

  Sink sink_;
  Diagnostics& diagnostics_;
  EventBuffers& buffers_;
  size_t max_pending_;
  std::deque<Run> runs_;
  size_t pending_ = 0;
  size_t compact_at_ = 256;  // runs
  uint64_t max_time_ns_ = 0;
  uint64_t flush_limit_ns_ = 0;
  bool had_round_ = false;
  uint64_t emitted_ns_ = 0;
  uint64_t spilled_events_ = 0;
  size_t run_starts_ = 0;  // of the gathered refs: how many ascending runs
  std::vector<Ref> refs_;
  std::vector<Ref> swap_refs_;
  std::vector<const Event*> pointers_;
  std::FILE* spill_file_ = nullptr;
  std::vector<std::unique_ptr<SpilledRun>> spilled_;
};

}  // namespace perf_latency
