// SPDX-License-Identifier: GPL-2.0-only
// Follows work items, the timers behind delayed ones, and stopped ticks; says whom a worker pushed off.
//
// Input: workqueue_*, timer_*, tick_stop and sched_switch events in order of time, each handed in after
// the task model has seen it (threads are looked up by tid). Kernel side: kernel/workqueue.c
// (__queue_work, process_one_work), kernel/time/timer.c, kernel/time/tick-sched.c, 6.1 and 6.12.
//
//   item        queue_work             activate_work   execute_start           execute_end
//   ----------  ---------------------  --------------  ----------------------  -----------------------
//   none        queued                 ignored         runs, queued unknown    ran since the start
//   queued      the first one is gone  activated       runs, delay known       (odd) ran since the start
//               (run unseen, or
//               cancelled)
//   running     queued again (it may)  -               (odd) end was lost      closed
//
// A worker is whoever has an execute_start; its stay on the CPU lasts from its switch-in to its
// switch-out. A task that was runnable when the worker took its CPU is pushed off, from its switch-out
// until it is back on any CPU; the stay's functions are what it was pushed off by. Several items may run
// in one stay.
// A work item bound to a CPU waits behind what that CPU runs meanwhile: per item the time of each task.
// An idle tick counts as stopped from tick_stop with success 1 until the CPU runs a task.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "model/thread_table.h"
#include "tracepoint/event.h"

namespace perf_latency {

// Who had the CPU for most of the time that an item waited there.
struct WorkBehind {
  ThreadId thread;  // none: nobody but the idle task, or not known
  int16_t prio = 0;
  bool old_prio = false;  // prio is of its switch-in: no event tells of a change while it runs
  uint64_t ns = 0;
};

struct WorkRun {
  ThreadId worker;
  uint64_t work = 0;
  uint64_t function = 0;
  uint32_t cpu = 0;
  uint64_t queued_ns = 0;  // 0: not seen
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  bool open = false;
  bool began_before = false;
  WorkBehind behind;
};

struct WorkQueueing {
  uint64_t function = 0;
  uint32_t cpu = 0;  // where it is to run; kNoCpu: anywhere
  uint64_t time_ns = 0;
  StackId stack;
  bool has_chain = false;
  uint64_t by_function = 0;      // the work that the queueing thread was executing; 0: none
  bool after_idle_stop = false;  // the CPU's idle tick is stopped and it ran nothing since
};

// Queued, and not started when the recording ended.
struct WorkPending {
  uint64_t function = 0;
  uint32_t cpu = 0;
  uint64_t queued_ns = 0;
  uint64_t end_ns = 0;
  bool activated = false;
  bool lost = false;  // events were lost since
  WorkBehind behind;
};

// A task that a worker pushed off its CPU.
struct WorkPush {
  ThreadId thread;
  int16_t prio = 0;
  uint32_t cpu = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  bool open = false;
  std::vector<uint64_t> functions;  // that ran meanwhile; sorted, each once
};

// A work item whose timer was armed by the item itself and had not fired when the recording ended.
struct WorkTimer {
  uint64_t function = 0;
  uint32_t cpu = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};

struct TickStop {
  uint32_t cpu = 0;
  uint64_t time_ns = 0;
  bool stopped = false;  // false: the tick could not be stopped
  bool idle = false;
  // idle: functions whose item of this CPU has run and is neither queued nor in a timer.
  const std::vector<uint64_t>* settled = nullptr;
};

class WorkSink {
 public:
  virtual ~WorkSink() = default;
  virtual void on_work_run(const WorkRun&) = 0;
  virtual void on_work_queued(const WorkQueueing&) = 0;
  virtual void on_work_pending(const WorkPending&) = 0;
  virtual void on_work_push(const WorkPush&) = 0;
  virtual void on_work_timer(const WorkTimer&) = 0;
  virtual void on_tick_stop(const TickStop&) = 0;
};

class WorkModel {
 public:
  static constexpr uint32_t kNoCpu = UINT32_MAX;

  WorkModel(WorkSink& sink, const ThreadTable& threads) : sink_(sink), threads_(threads) {}

  void set_start(uint64_t start_ns) { start_ns_ = start_ns; }
  void handle(const Event& event);
  void on_lost(uint64_t time_ns) { lost_ns_ = time_ns; }
  // Gives out what is still pending or running; when the recording ended.
  void finish(uint64_t end_ns);

 private:
  struct Behind {
    ThreadId thread;
    int16_t prio;
    bool old_prio;
    uint64_t ns;
  };
  struct Item {
    uint64_t function = 0;
    uint32_t cpu = kNoCpu;
    uint64_t queued_ns = 0;
    bool activated = false;
    std::vector<Behind> behind;
  };
  struct Running {
    ThreadId worker;
    uint64_t work = 0;
    uint64_t function = 0;
    uint32_t cpu = 0;
    uint64_t queued_ns = 0;
    uint64_t start_ns = 0;
    bool began_before = false;
    bool bound = false;    // queued for one CPU
    bool rearmed = false;  // queued again, or its timer armed, while it runs
    WorkBehind behind;
  };
  struct Timer {
    uint64_t function = 0;
    uint32_t cpu = 0;
    uint64_t start_ns = 0;
  };
  struct Cpu {
    int32_t current_tid = -1;  // -1: not known
    ThreadId current;
    int16_t current_prio = 0;
    uint64_t since_ns = 0;
    WorkPush push;                  // of the current stay; a thread only if one was pushed off
    std::vector<uint64_t> waiting;  // works bound to this CPU, not started
    std::vector<uint64_t> settled;  // functions, see TickStop
    bool idle_tick_stopped = false;
  };

  void on_switch(const Event& event);
  void on_queue(const Event& event);
  void on_start(const Event& event);
  void on_end(const Event& event);
  void on_timer_start(const Event& event);
  void on_tick(const Event& event);
  void charge(Cpu& cpu, uint64_t now_ns, bool switched_out);
  void close_push(ThreadId thread, uint64_t end_ns, bool open);
  void emit_run(const Running& run, uint64_t end_ns, bool open);
  static WorkBehind longest(const std::vector<Behind>& behind);
  Cpu& cpu(uint32_t number);

  WorkSink& sink_;
  const ThreadTable& threads_;
  std::vector<Cpu> cpus_;
  std::unordered_map<uint64_t, Item> items_;       // by work
  std::unordered_map<int32_t, Running> running_;   // by worker
  std::unordered_map<uint64_t, Timer> timers_;     // by timer
  std::unordered_map<ThreadId, WorkPush> pushed_;  // not yet back
  uint64_t start_ns_ = 0;
  uint64_t lost_ns_ = 0;
};

}  // namespace perf_latency
