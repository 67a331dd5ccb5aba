// SPDX-License-Identifier: GPL-2.0-only
// Follows every thread through running, sleeping and waiting for a CPU, and emits closed intervals.
//
// Input: events in order of time. Rules: Documentation/semantics.md, "The life of a task"; kernel side
// kernel/sched/core.c (__schedule, try_to_wake_up, wake_up_new_task), 6.12.
//
//   phase      switch out          switch in        waking / wakeup          fork, exec
//   ---------  ------------------  ---------------  -----------------------  -----------
//   unseen     ran since start     waited since     slept since start        -
//                                  start
//   unborn     (odd) ran           waits from fork  waits from here          -
//   running    S,D,…: sleeping     (odd) mismatch   early waking, see below  tid moves
//              R: preempted
//              X,Z: dead
//   sleeping   see hidden idle     early: waited    waking: remembered, or   -
//                                  from the out;    the end where the file
//                                  waking seen:     has no wakeups;
//                                  from there;      wakeup: the end
//                                  else mismatch
//   woken,     switch-in inferred  running          ignored                  -
//   preempted
//   dead       new life: ran       new life         new life                 new life
//
// Hidden idle: some kernels keep what happens in the idle task from perf, now and then or always,
// wakeups by interrupts and the switch to the woken task included (seen on 6.18). Then a sleep without a waking lasts until the thread
// is seen again, and includes its wait for a CPU.
// Mismatch: when events were lost meanwhile, the phase's interval ends where the loss began and the
// rest is hidden; when nothing was lost the whole is unknown.
// Early waking: a waker may run between the sleeper's decision to sleep and its switch-out. Unless a
// wakeup had answered it before the switch-out, or another waking comes, there was no sleep: the task
// waits for a CPU from its switch-out on. Seen in recordings: 437 such wakings, 2 with another one.
#pragma once

#include <vector>

#include "base/diagnostics.h"
#include "model/interval.h"
#include "model/lost_spans.h"
#include "model/thread_table.h"
#include "tracepoint/event.h"

namespace perf_latency {

// What a recording can tell, from the events that it has.
struct TaskEvents {
  bool wakings = false;      // sched_waking
  bool wakeups = false;      // sched_wakeup
  bool new_wakeups = false;  // sched_wakeup_new
  bool any_wakeup() const { return wakings || wakeups; }
};

class TaskModel {
 public:
  TaskModel(IntervalSink& sink, Diagnostics& diagnostics)
      : sink_(sink), diagnostics_(diagnostics) {}

  // Before the first event, and again when a pipe brings further events.
  void set_events(const TaskEvents& events) { has_ = events; }
  // Before the first event with a time: when the recording begins.
  void set_start(uint64_t start_ns) { start_ns_ = start_ns; }

  void handle(const Event& event);

  // A ring lost events between these times. To be called before the events after the loss.
  void announce_loss(uint64_t start_ns, uint64_t end_ns) { lost_.add(start_ns, end_ns); }

  // Closes what is still going on.
  void finish(uint64_t end_ns);

  const ThreadTable& threads() const { return threads_; }
  ThreadTable& threads() { return threads_; }
  const LostSpans& lost_spans() const { return lost_; }
  uint64_t switches() const { return switches_; }
  // The thread that runs on a CPU now; none: idle or not known.
  ThreadId running_on(uint32_t cpu) const {
    return cpu < cpus_.size() ? cpus_[cpu].current : ThreadId{};
  }

 private:
  struct Cpu {
    ThreadId current;
    int32_t current_tid = -1;  // -1: not known
    uint64_t last_switch_ns = 0;
  };
  enum class WakeKind { waking, wakeup, wakeup_new };

  void on_switch(const Event& event);
  void on_switch_record(const Event& event);
  void switch_out(ThreadId id, const Event& event, ThreadId next);
  void infer_running(ThreadId id, uint64_t time_ns, uint32_t on_cpu);
  void observe_context(const Event& event);
  void notice_hidden_idle(const Cpu& on, int32_t tid);
  void switch_in(ThreadId id, uint64_t time_ns, uint32_t cpu);
  void on_wake(const Event& event, WakeKind kind);
  void wake_sleeper(Thread& thread, ThreadId id, const Event& event, WakeKind kind);
  void remember_waker(Thread& thread, const Event& event);
  void on_fork(const Event& event);
  void on_fork_record(const Event& event);
  void on_exec(const Event& event);
  void on_rename(ThreadId id, StringId comm, uint64_t time_ns);
  void on_map(const Event& event);
  void on_lost(const Event& event);

  ThreadId enter(int32_t tid, uint64_t time_ns);
  void begin_unseen(Thread& thread, TaskPhase phase);
  void close(ThreadId id, IntervalKind kind, uint64_t end_ns);
  void close_mismatch(ThreadId id, uint64_t end_ns);
  void emit(ThreadId id, IntervalKind kind, uint64_t start_ns, uint64_t end_ns, bool open);
  void end_life(ThreadId id, uint64_t end_ns);
  static IntervalKind kind_of(TaskPhase phase);
  Cpu& cpu(uint32_t number);

  IntervalSink& sink_;
  Diagnostics& diagnostics_;
  TaskEvents has_;
  ThreadTable threads_;
  LostSpans lost_;
  std::vector<Cpu> cpus_;
  uint64_t start_ns_ = 0;
  uint64_t switches_ = 0;
  bool idle_is_hidden_ = false;
};

}  // namespace perf_latency
