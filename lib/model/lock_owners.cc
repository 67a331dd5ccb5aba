// SPDX-License-Identifier: GPL-2.0-only
#include "model/lock_owners.h"

#include <algorithm>

namespace perf_latency {

void LockOwners::end_wait() {
  if (waits_ != 0) --waits_;
  if (waits_ != 0) return;
  spans_.clear();
  readers_.clear();
  current_ = ThreadId{};
  last_change_ns_ = 0;
}

void LockOwners::keep(const HolderSegment& span) {
  if (waits_ == 0 || span.end_ns <= span.start_ns) return;
  if (spans_.size() >= kMaxSpans)
    spans_.erase(spans_.begin(), spans_.begin() + static_cast<ptrdiff_t>(kMaxSpans / 2));
  spans_.push_back(span);
}

void LockOwners::acquired(ThreadId thread, uint64_t time_ns, bool read, StackId stack) {
  if (current_.valid() && current_ != thread) {
    if (read && current_reads_) {
      readers_.push_back({current_, since_ns_, true, current_stack_});
    } else {
      keep({current_, HolderHow::handover, !readers_.empty(), false, since_ns_, time_ns, {}});
      readers_.clear();
    }
  }
  current_ = thread;
  current_stack_ = stack;
  current_reads_ = read;
  since_ns_ = last_change_ns_ = time_ns;
}

std::optional<ContendedHold> LockOwners::released(ThreadId thread, uint64_t time_ns, bool read,
                                                  StackId stack) {
  std::optional<ContendedHold> hold;
  HolderSegment span{thread, HolderHow::wakeup, !readers_.empty(), false, time_ns, time_ns, stack};
  const auto reader = std::find_if(readers_.begin(), readers_.end(),
                                   [&](const Hold& other) { return other.thread == thread; });
  if (current_ == thread) {
    span.start_ns = since_ns_;
    hold = ContendedHold{since_ns_, current_stack_};
  } else if (reader != readers_.end()) {
    span.start_ns = reader->start_ns;
    hold = ContendedHold{reader->start_ns, reader->stack};
    readers_.erase(reader);
  } else if (current_.valid()) {
    if (read && current_reads_) {
      span.start_ns = since_ns_;
      span.one_of_several = true;
    }
  } else {
    span.start_ns = last_change_ns_;
  }
  keep(span);
  if (current_ == thread && !readers_.empty()) {
    current_ = readers_.back().thread;
    since_ns_ = readers_.back().start_ns;
    current_stack_ = readers_.back().stack;
    readers_.pop_back();
  } else if (current_ == thread || !(read && current_reads_)) {
    current_ = ThreadId{};
    readers_.clear();
  }
  last_change_ns_ = time_ns;
  return hold;
}

void LockOwners::start_hold(ThreadId thread, uint64_t time_ns, bool read) {
  holds_.push_back({thread, time_ns, read, {}});
}

void LockOwners::stop_hold(ThreadId thread, uint64_t time_ns, StackId stack) {
  for (size_t i = holds_.size(); i-- != 0;) {
    if (holds_[i].thread != thread) continue;
    const Hold hold = holds_[i];
    holds_.erase(holds_.begin() + static_cast<ptrdiff_t>(i));
    const bool shared = hold.read && std::any_of(holds_.begin(), holds_.end(),
                                                 [](const Hold& other) { return other.read; });
    keep({thread, HolderHow::exact, shared, false, hold.start_ns, time_ns, stack});
    return;
  }
}

// From the end backwards: the last to release is named from its own acquisition on, then the one
// before it. What lies behind the last release is the waiter's own way to the lock.
void LockOwners::segments(ThreadId waiter, uint64_t start_ns, uint64_t end_ns, bool read,
                          bool spinning, bool ended, std::vector<HolderSegment>& out) const {
  const size_t first = out.size();
  uint64_t at = end_ns;
  bool any = false;
  const auto take = [&](const HolderSegment& span) {
    if (span.owner == waiter || span.start_ns >= at || span.end_ns <= start_ns || at <= start_ns)
      return;
    if (spinning && span.start_ns < start_ns) return;
    HolderSegment part = span;
    part.start_ns = std::max(span.start_ns, start_ns);
    part.end_ns = std::min(span.end_ns, at);
    if (part.end_ns < at) {
      HolderSegment gap{{}, HolderHow::unknown, false, false, part.end_ns, at, {}};
      gap.released = ended && !any && span.how != HolderHow::handover;
      out.push_back(gap);
    }
    out.push_back(part);
    at = part.start_ns;
    any = true;
  };
  for (const Hold& hold : holds_)
    if (!ended || !(read && hold.read))
      take({hold.thread, HolderHow::exact, hold.read, false, hold.start_ns, end_ns, {}});
  if (!ended && current_.valid())
    take({current_, HolderHow::handover, current_reads_, false, since_ns_, end_ns, {}});
  for (size_t i = spans_.size(); i-- != 0;) take(spans_[i]);
  if (at > start_ns || out.size() == first)
    out.push_back({{}, HolderHow::unknown, false, false, start_ns, at, {}});
  std::reverse(out.begin() + static_cast<ptrdiff_t>(first), out.end());
}

}  // namespace perf_latency
