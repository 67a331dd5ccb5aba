// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/wait_story.h"

#include <algorithm>

namespace perf_latency {

WaitStory::Piece WaitStory::piece_of(const Interval& interval) {
  Piece piece{};
  piece.comm = StringPool::kEmpty;
  piece.start_ns = interval.start_ns;
  piece.end_ns = interval.end_ns;
  piece.cpu = interval.cpu;
  piece.thread = interval.thread;
  piece.stack = interval.stack;
  piece.waker = interval.kind == IntervalKind::sleeping ? interval.waker : interval.preempted_by;
  piece.waker_stack = interval.waker_stack;
  piece.kind = interval.kind;
  piece.state = interval.state;
  piece.preempted = interval.preempted;
  piece.began_before = interval.began_before;
  return piece;
}

void WaitStory::add(const Interval& interval, StringId comm) {
  // A run that ends as the wait begins tells on which CPU a waker was before.
  if (interval.end_ns < start_ns_ || interval.start_ns > end_ns_) return;
  if (pieces_.size() >= max_pieces_) give_up_half();
  of_thread_[interval.thread].push_back(static_cast<uint32_t>(pieces_.size()));
  pieces_.push_back(piece_of(interval));
  pieces_.back().comm = comm;
}

void WaitStory::give_up_half() {
  const size_t half = pieces_.size() / 2;
  for (size_t i = 0; i < half; ++i) kept_from_ns_ = std::max(kept_from_ns_, pieces_[i].end_ns);
  pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(half));
  of_thread_.clear();
  for (size_t i = 0; i < pieces_.size(); ++i)
    of_thread_[pieces_[i].thread].push_back(static_cast<uint32_t>(i));
}

const std::vector<uint32_t>& WaitStory::pieces_of(ThreadId thread) const {
  static const std::vector<uint32_t> kNone;
  const auto own = of_thread_.find(thread);
  return own == of_thread_.end() ? kNone : own->second;
}

size_t WaitStory::count_before(const std::vector<uint32_t>& own, uint64_t time_ns) const {
  const auto end = std::partition_point(
      own.begin(), own.end(), [&](uint32_t index) { return pieces_[index].start_ns < time_ns; });
  return static_cast<size_t>(end - own.begin());
}

bool WaitStory::ran_inside(ThreadId thread, uint64_t start_ns, uint64_t end_ns) const {
  const std::vector<uint32_t>& own = pieces_of(thread);
  for (size_t left = count_before(own, end_ns); left != 0; --left) {
    const Piece& piece = pieces_[own[left - 1]];
    if (piece.end_ns <= start_ns) return false;
    if (piece.kind == IntervalKind::running) return true;
  }
  return false;
}

void WaitStory::put(StepKind kind, ThreadId thread, uint64_t start_ns, uint64_t end_ns,
                    uint16_t depth, const Piece* piece) {
  if (start_ns >= end_ns) return;
  StoryStep step;
  step.kind = kind;
  step.thread = thread;
  step.start_ns = start_ns;
  step.end_ns = end_ns;
  step.depth = depth;
  if (piece != nullptr) {
    step.comm = piece->comm;
    step.state = piece->state;
    step.preempted = piece->preempted;
    step.began_before = piece->began_before;
    step.cpu = piece->cpu;
    step.stack = piece->stack;
    step.waker = piece->waker;
    step.waker_stack = piece->waker_stack;
  }
  steps_.push_back(step);
}

// A sleeper that wakes itself, or a waker that nobody saw running: there is nothing behind it.
void WaitStory::explain(const Piece& sleep, uint64_t start_ns, uint64_t end_ns, uint16_t depth) {
  const bool by_task = sleep.waker.valid() && sleep.waker != sleep.thread &&
                       !is_interrupt_(sleep.waker_stack) && depth < kMaxDepth &&
                       ran_inside(sleep.waker, start_ns, end_ns);
  if (by_task)
    walk(sleep.waker, start_ns, end_ns, static_cast<uint16_t>(depth + 1));
  else
    put(StepKind::sleeping, sleep.thread, start_ns, end_ns, depth, &sleep);
}

// Backwards through what a thread did. It ran at the end, but for the time that a wakeup takes to reach
// another CPU.
void WaitStory::walk(ThreadId thread, uint64_t start_ns, uint64_t end_ns, uint16_t depth) {
  const std::vector<uint32_t>& own = pieces_of(thread);
  size_t left = count_before(own, end_ns);
  while (left != 0 && pieces_[own[left - 1]].kind != IntervalKind::running) --left;
  uint64_t now = end_ns;
  if (left != 0 && pieces_[own[left - 1]].end_ns < end_ns) {
    const Piece& last_run = pieces_[own[left - 1]];
    now = std::max(last_run.end_ns, start_ns);
    put(StepKind::wakeup, thread, now, end_ns, depth, &last_run);
  }
  for (; left != 0 && now > start_ns; --left) {
    const Piece& piece = pieces_[own[left - 1]];
    if (piece.end_ns < now) {
      const uint64_t from = std::max(piece.end_ns, start_ns);
      put(StepKind::unknown, thread, from, now, depth, nullptr);
      now = from;
    }
    const uint64_t from = std::max(piece.start_ns, start_ns);
    if (from >= now) continue;
    switch (piece.kind) {
      case IntervalKind::running:
        put(StepKind::running, thread, from, now, depth, &piece);
        break;
      case IntervalKind::runnable:
        put(StepKind::runnable, thread, from, now, depth, &piece);
        break;
      case IntervalKind::sleeping:
        explain(piece, from, now, depth);
        break;
      default:
        put(StepKind::unknown, thread, from, now, depth, nullptr);
        break;
    }
    now = from;
  }
  put(StepKind::unknown, thread, start_ns, now, depth, nullptr);
}

// Who had the CPU that the thread ran on in the end; where it has not run yet, the one it was last on.
void WaitStory::tell_cpu(const Piece& wait, uint64_t start_ns, uint64_t end_ns) {
  uint32_t cpu = wait.cpu;
  std::vector<const Piece*> runs;
  for (const Piece& piece : pieces_)
    if (piece.kind == IntervalKind::running && piece.thread == wait.thread &&
        piece.start_ns == wait.end_ns)
      cpu = piece.cpu;
  for (const Piece& piece : pieces_)
    if (piece.kind == IntervalKind::running && piece.cpu == cpu && piece.thread != wait.thread)
      runs.push_back(&piece);
  std::stable_sort(runs.begin(), runs.end(),
                   [](const Piece* a, const Piece* b) { return a->end_ns > b->end_ns; });
  uint64_t now = end_ns;
  Piece idle{};
  idle.cpu = cpu;
  for (const Piece* run : runs) {
    const uint64_t to = std::clamp(run->end_ns, start_ns, now);
    const uint64_t from = std::clamp(run->start_ns, start_ns, to);
    if (from == to) continue;
    put(StepKind::idle, ThreadId{}, to, now, 1, &idle);
    put(StepKind::running, run->thread, from, to, 1, run);
    now = from;
  }
  const uint64_t known = std::clamp(kept_from_ns_, start_ns, now);
  put(StepKind::idle, ThreadId{}, known, now, 1, &idle);
  put(StepKind::unknown, ThreadId{}, start_ns, known, 1, nullptr);
}

std::vector<StoryStep> WaitStory::tell(const Interval& wait) {
  steps_.clear();
  const uint64_t start_ns = std::max(wait.start_ns, start_ns_);
  const uint64_t end_ns = std::min(wait.end_ns, end_ns_);
  const Piece piece = piece_of(wait);
  if (start_ns < end_ns) {
    if (wait.kind == IntervalKind::runnable)
      tell_cpu(piece, start_ns, end_ns);
    else
      explain(piece, start_ns, end_ns, 0);
  }
  std::reverse(steps_.begin(), steps_.end());
  return std::move(steps_);
}

}  // namespace perf_latency
