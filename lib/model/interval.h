// SPDX-License-Identifier: GPL-2.0-only
// What the task model gives out: stretches of a thread's time, each of exactly one kind.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace perf_latency {

enum class IntervalKind : uint8_t {
  running,
  sleeping,  // in the state `state`
  runnable,  // waiting for a CPU
  hidden,    // lost events make it unknowable
  unknown,   // nothing was lost, but what the thread did is not known
};

struct Interval {
  IntervalKind kind = IntervalKind::running;
  uint8_t state = 0;              // sleeping (and hidden behind a sleep): the letter
  bool open = false;              // still going on when the recording ended
  bool began_before = false;      // going on when the recording began
  bool preempted = false;         // runnable: taken off the CPU; else after a wakeup
  bool includes_waiting = false;  // sleeping: the wait for a CPU is not known apart
  bool uncertain = false;         // events were lost meanwhile; the next one fits all the same
  uint32_t cpu = 0;               // sleeping, runnable: of the switch-out; running: where
  ThreadId thread;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  StackId stack;  // sleeping: kernel frames of the switch-out that began it
  StackId user_stack;
  ThreadId waker;  // sleeping: who ended it; none: not known, or an idle CPU's interrupt
  StackId waker_stack;
  ThreadId preempted_by;  // runnable, preempted: who got the CPU
  uint64_t cgroup = 0;    // of the thread at its switch-out; 0: not known

  uint64_t length_ns() const { return end_ns - start_ns; }
};

// The kernel's own length of a sleep (sched_stat_sleep, sched_stat_blocked), at the moment in which it
// ends; `stack` is that of the thread's last switch-out.
struct SleepDelay {
  ThreadId thread;
  bool interruptible = true;
  uint64_t time_ns = 0;
  uint64_t delay_ns = 0;
  StackId stack;
};

class IntervalSink {
 public:
  virtual ~IntervalSink() = default;
  // In order of end_ns, but for those that are open: they come at the end.
  virtual void on_interval(const Interval& interval) = 0;
  // A thread's life inside the recording; its intervals fill it without gap or overlap.
  virtual void on_life(ThreadId, uint64_t /*start_ns*/, uint64_t /*end_ns*/) {}
  virtual void on_switch(uint64_t /*time_ns*/, ThreadId /*prev*/, ThreadId /*next*/) {}
  virtual void on_delay(const SleepDelay&) {}
  virtual void on_rename(uint64_t /*time_ns*/, ThreadId, StringId /*new_comm*/) {}
};

}  // namespace perf_latency
