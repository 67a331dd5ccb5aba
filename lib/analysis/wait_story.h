// SPDX-License-Identifier: GPL-2.0-only
// Why one wait lasted as long as it did: the steps that lead to its end, backwards along who woke whom.
//
// A sleep is explained by what its waker did meanwhile: it ran, it waited for a CPU, or it slept itself,
// which the one that woke it explains in turn. So each moment of the wait belongs to one step of one
// task, and the steps add up to the wait:
//
//   sleeper  |================ asleep ================|
//   waker    |== asleep ==|- waits for a CPU -|= runs =|      the waker's own sleep ends in an interrupt:
//   steps    [  sleeping  ][     runnable     ][running]      its first step stays one
//
//   waker's stretch        step
//   ---------------------  --------------------------------------------------------------------------
//   running                running
//   waiting for a CPU      runnable
//   sleeping               what its own waker did meanwhile; sleeping where an interrupt ended it, where
//                          nobody is known to have, or where the chain is longer than kMaxDepth
//   unknown, not kept      unknown
//   (gone from the CPU     wakeup: from its last run to the moment when the sleeper was on a run queue
//   before the end)
//
// A wait for a CPU is explained by who had that CPU. Input: the intervals of all threads that touch the
// wait, each thread's in order; bounded: of more than max_pieces the earliest half is given up.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "base/string_pool.h"
#include "model/interval.h"

namespace perf_latency {

enum class StepKind : uint8_t { running, runnable, sleeping, wakeup, idle, unknown };

struct StoryStep {
  StepKind kind = StepKind::unknown;
  uint8_t state = 0;
  bool preempted = false;
  bool began_before = false;
  uint16_t depth = 0;  // how many wakers lie between the sleeper and this step's task
  uint32_t cpu = 0;
  StringId comm = StringPool::kEmpty;  // as the task was called then
  ThreadId thread;                     // none: the idle task
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  StackId stack;   // sleeping
  ThreadId waker;  // sleeping: who ended it; runnable and preempted: who got the CPU
  StackId waker_stack;
};

class WaitStory {
 public:
  static constexpr uint16_t kMaxDepth = 64;

  // Whether a waker's call chain is that of an interrupt.
  using IsInterrupt = std::function<bool(StackId)>;

  WaitStory(uint64_t start_ns, uint64_t end_ns, IsInterrupt is_interrupt,
            size_t max_pieces = size_t{1} << 21)
      : start_ns_(start_ns),
        end_ns_(end_ns),
        is_interrupt_(std::move(is_interrupt)),
        max_pieces_(max_pieces) {}

  // `comm`: what the thread is called now.
  void add(const Interval& interval, StringId comm = StringPool::kEmpty);

  // The steps in order of time; they fill the wait without gap or overlap. `wait` is the interval to be
  // explained (all of it: what lies outside start and end is cut off).
  std::vector<StoryStep> tell(const Interval& wait);

  // From when on everything is kept; start_ns where nothing was given up.
  uint64_t kept_from_ns() const { return kept_from_ns_; }

 private:
  struct Piece {
    uint64_t start_ns;
    uint64_t end_ns;
    uint32_t cpu;
    StringId comm;
    ThreadId thread;
    StackId stack;
    ThreadId waker;
    StackId waker_stack;
    IntervalKind kind;
    uint8_t state;
    bool preempted;
    bool began_before;
  };

  void give_up_half();
  // Indexes of a thread's pieces, and how many of them begin before a moment.
  const std::vector<uint32_t>& pieces_of(ThreadId thread) const;
  size_t count_before(const std::vector<uint32_t>& own, uint64_t time_ns) const;
  bool ran_inside(ThreadId thread, uint64_t start_ns, uint64_t end_ns) const;
  void explain(const Piece& sleep, uint64_t start_ns, uint64_t end_ns, uint16_t depth);
  void walk(ThreadId thread, uint64_t start_ns, uint64_t end_ns, uint16_t depth);
  void tell_cpu(const Piece& wait, uint64_t start_ns, uint64_t end_ns);
  void put(StepKind kind, ThreadId thread, uint64_t start_ns, uint64_t end_ns, uint16_t depth,
           const Piece* piece);
  static Piece piece_of(const Interval& interval);

  uint64_t start_ns_;
  uint64_t end_ns_;
  IsInterrupt is_interrupt_;
  size_t max_pieces_;
  uint64_t kept_from_ns_ = 0;
  std::vector<Piece> pieces_;
  std::unordered_map<ThreadId, std::vector<uint32_t>> of_thread_;
  std::vector<StoryStep> steps_;  // backwards
};

}  // namespace perf_latency
