// SPDX-License-Identifier: GPL-2.0-only
#include "model/state_timeline.h"

namespace perf_latency {

void StateTimeline::add(const Interval& interval) {
  if (!interval.thread.valid() || interval.end_ns <= interval.start_ns) return;
  StatePart part;
  part.start_ns = interval.start_ns;
  part.end_ns = interval.end_ns;
  switch (interval.kind) {
    case IntervalKind::running:
      part.state = HolderState::running;
      break;
    case IntervalKind::runnable:
      part.state = HolderState::preempted;
      part.preempted_by = interval.preempted_by;
      break;
    case IntervalKind::sleeping:
      part.state = HolderState::sleeping;
      part.stack = interval.stack;
      break;
    default:
      break;
  }
  if (interval.thread.value >= rings_.size()) rings_.resize(interval.thread.value + 1);
  Ring& ring = rings_[interval.thread.value];
  if (ring.parts.size() < kKept) {
    ring.parts.push_back(part);
  } else {
    ring.parts[ring.first] = part;
    ring.first = (ring.first + 1) % kKept;
  }
}

StatePart StateTimeline::current(const Thread& thread, uint64_t at, uint64_t end_ns) {
  StatePart part;
  part.start_ns = std::max(thread.since_ns, at);
  part.end_ns = end_ns;
  switch (thread.phase) {
    case TaskPhase::running:
      part.state = HolderState::running;
      break;
    case TaskPhase::sleeping:
      part.state = HolderState::sleeping;
      part.stack = thread.stack;
      if (thread.waking_seen) part.end_ns = std::min(part.end_ns, thread.waking_ns);
      break;
    case TaskPhase::woken:
    case TaskPhase::preempted:
      part.state = HolderState::preempted;
      if (thread.phase == TaskPhase::preempted) part.preempted_by = thread.preempted_by;
      break;
    default:
      part.end_ns = part.start_ns;
      break;
  }
  return part;
}

}  // namespace perf_latency
