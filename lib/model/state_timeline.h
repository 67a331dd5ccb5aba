// SPDX-License-Identifier: GPL-2.0-only
// What each thread was doing lately: the last stretches of its time, and the one that goes on.
//
// Answers "what did the holder of this lock do between A and B" at the moment when B is over, so that
// nothing has to be kept for later. Bounded: the last kKept stretches of a thread; what lies before
// them is unknown. Input: the task model's intervals as they are emitted (in order of end, per thread
// without gaps), and the thread's current phase.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/interval.h"
#include "model/thread_table.h"

namespace perf_latency {

enum class HolderState : uint8_t { running, preempted, sleeping, unknown };
inline constexpr size_t kHolderStates = 4;

struct StatePart {
  HolderState state = HolderState::unknown;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  StackId stack;          // sleeping: the call chain that it sleeps in
  ThreadId preempted_by;  // preempted: who has its CPU
};

class StateTimeline {
 public:
  static constexpr size_t kKept = 128;

  void add(const Interval& interval);

  // Calls visit(const StatePart&) for the parts of [start, end] in order; they fill it without gaps.
  template <typename Visit>
  void split(const ThreadTable& threads, ThreadId id, uint64_t start_ns, uint64_t end_ns,
             Visit visit) const {
    uint64_t at = start_ns;
    const auto give = [&](const StatePart& part) {
      if (part.end_ns <= at || part.start_ns >= end_ns) return;
      if (part.start_ns > at) visit(StatePart{HolderState::unknown, at, part.start_ns, {}, {}});
      StatePart cut = part;
      cut.start_ns = std::max(part.start_ns, at);
      cut.end_ns = std::min(part.end_ns, end_ns);
      visit(cut);
      at = cut.end_ns;
    };
    if (id.value < rings_.size()) {
      const Ring& ring = rings_[id.value];
      for (size_t i = 0; i < ring.parts.size(); ++i)
        give(ring.parts[(ring.first + i) % ring.parts.size()]);
    }
    if (id.value < threads.size()) give(current(threads[id], at, end_ns));
    if (at < end_ns) visit(StatePart{HolderState::unknown, at, end_ns, {}, {}});
  }

 private:
  struct Ring {
    std::vector<StatePart> parts;
    size_t first = 0;
  };

  static StatePart current(const Thread& thread, uint64_t at, uint64_t end_ns);

  std::vector<Ring> rings_;  // by ThreadId
};

}  // namespace perf_latency
