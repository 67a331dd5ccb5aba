// SPDX-License-Identifier: GPL-2.0-only
#include "model/task_model.h"

#include <algorithm>
#include <memory>

namespace perf_latency {
namespace {

using K = EventKind;

bool is_off_cpu(TaskPhase phase) {
  return phase == TaskPhase::sleeping || phase == TaskPhase::woken || phase == TaskPhase::preempted;
}

bool ends_life(uint8_t state) { return state == 'X' || state == 'Z' || state == 'x'; }

// A CPU number beyond this is no CPU of any Linux (NR_CPUS is at most 8192): the trailer had none.
constexpr uint32_t kMaxCpus = 1u << 16;

}  // namespace

TaskModel::Cpu& TaskModel::cpu(uint32_t number) {
  if (number >= kMaxCpus) number = kMaxCpus - 1;
  if (number >= cpus_.size()) cpus_.resize(number + 1);
  return cpus_[number];
}

void TaskModel::handle(const Event& event) {
  if (event.kind < K::record_lost && event.kind != K::sched_switch) observe_context(event);
  switch (event.kind) {
    case K::sched_switch:
      on_switch(event);
      break;
    case K::sched_waking:
      on_wake(event, WakeKind::waking);
      break;
    case K::sched_wakeup:
      on_wake(event, WakeKind::wakeup);
      break;
    case K::sched_wakeup_new:
      on_wake(event, WakeKind::wakeup_new);
      break;
    case K::sched_process_fork:
      on_fork(event);
      break;
    case K::sched_process_exec:
      on_exec(event);
      break;
    case K::sched_process_exit:
      if (const ThreadId id = threads_.find(event.task.tid); id.valid())
        threads_[id].exiting = true;
      break;
    case K::task_rename:
      on_rename(threads_.get(event.task.tid), event.task.comm, event.time_ns);
      break;
    case K::sched_stat_sleep:
    case K::sched_stat_blocked: {
      const ThreadId id = threads_.get(event.delay.tid);
      if (!id.valid()) break;
      // A thread that is not asleep left its CPU without an event: its last chain is of another sleep.
      const Thread& thread = threads_[id];
      const bool asleep = thread.phase == TaskPhase::sleeping ||
                          (!has_.wakeups && thread.phase == TaskPhase::woken);
      sink_.on_delay({id, event.kind == K::sched_stat_sleep, event.time_ns, event.delay.delay_ns,
                      asleep ? thread.stack : StackId{}});
      break;
    }
    case K::record_comm:
      if (const ThreadId id = threads_.get(event.task.tid); id.valid()) {
        threads_[id].pid = event.task.pid;
        if ((event.flags & kEventExec) != 0) threads_[id].kind = TaskKind::user;
        // A name from a table of the recording is older than what its events told.
        if (event.time_ns != 0 || threads_[id].comm == StringPool::kEmpty)
          threads_[id].comm = event.task.comm;
      }
      break;
    case K::record_fork:
      on_fork_record(event);
      break;
    case K::record_exit:
      if (const ThreadId id = threads_.find(event.fork.child_tid); id.valid())
        threads_[id].exiting = true;
      break;
    case K::record_mmap:
      on_map(event);
      return;
    case K::record_switch:
      on_switch_record(event);
      break;
    case K::record_lost:
      on_lost(event);
      return;
    default:
      break;
  }
}

// What ran on the CPU behind the loss is not known.
void TaskModel::on_lost(const Event& event) { cpu(event.cpu).current_tid = -1; }

void TaskModel::on_map(const Event& event) {
  if ((event.flags & kEventKernel) == 0) threads_.set_has_user_maps(event.map.pid);
}

// The thread that an event of its own is about; a life that ended goes on under the same name only.
ThreadId TaskModel::enter(int32_t tid, uint64_t time_ns) {
  const ThreadId id = threads_.get(tid);
  if (!id.valid() || threads_[id].phase != TaskPhase::dead) return id;
  const Thread old = threads_[id];
  const ThreadId next = threads_.create(tid);
  Thread& thread = threads_[next];
  thread.pid = old.pid;
  thread.comm = old.comm;
  thread.kind = old.kind;
  thread.phase = TaskPhase::unborn;
  thread.life_start_ns = thread.since_ns = time_ns;
  return next;
}

// The first event of a thread tells what it did before: since the recording began.
void TaskModel::begin_unseen(Thread& thread, TaskPhase phase) {
  thread.phase = phase;
  thread.life_start_ns = thread.since_ns = start_ns_;
  thread.began_before = true;
}

void TaskModel::on_switch(const Event& event) {
  ++switches_;
  const auto& change = event.sched_switch;
  Cpu& on = cpu(event.cpu);
  if (on.current_tid != -1 && on.current_tid != change.prev_tid) {
    diagnostics_.add(Diag::switch_chain_broken);
    if (lost_.empty()) {
      notice_hidden_idle(on, change.prev_tid);
      if (on.current.valid() && threads_[on.current].phase == TaskPhase::running)
        threads_[on.current].left_unseen = true;
    }
  }
  const ThreadId prev = enter(change.prev_tid, event.time_ns);
  const ThreadId next = enter(change.next_tid, event.time_ns);
  if (prev.valid()) {
    Thread& thread = threads_[prev];
    if (change.prev_comm != StringPool::kEmpty) thread.comm = change.prev_comm;
    if (event.pid > 0) thread.pid = event.pid;
    thread.prio = change.prev_prio;
    switch_out(prev, event, next);
  }
  if (next.valid()) {
    Thread& thread = threads_[next];
    if (change.next_comm != StringPool::kEmpty) thread.comm = change.next_comm;
    thread.prio = change.next_prio;
    switch_in(next, event.time_ns, event.cpu);
  }
  on.current = next;
  on.current_tid = change.next_tid;
  on.last_switch_ns = event.time_ns;
  sink_.on_switch(event.time_ns, prev, next);
}

// PERF_RECORD_SWITCH of a recording without the rights for tracepoints: a thread comes or goes, and
// only whether it was preempted is told. Without wakeups a sleep includes the wait for a CPU.
void TaskModel::on_switch_record(const Event& event) {
  const ThreadId id = enter(event.tid, event.time_ns);
  if (!id.valid()) return;
  if (event.pid > 0) threads_[id].pid = event.pid;
  if ((event.flags & kEventOut) == 0) {
    switch_in(id, event.time_ns, event.cpu);
    return;
  }
  ++switches_;
  Event out = event;
  out.state = (event.flags & kEventPreempted) != 0 ? 'R' : 'S';
  switch_out(id, out, ThreadId{});
  sink_.on_switch(event.time_ns, id, ThreadId{});
}

void TaskModel::switch_out(ThreadId id, const Event& event, ThreadId next) {
  Thread& thread = threads_[id];
  const uint64_t time_ns = event.time_ns;
  thread.left_seen = true;
  if (thread.phase == TaskPhase::unseen) begin_unseen(thread, TaskPhase::running);
  infer_running(id, time_ns, event.cpu);
  if (is_off_cpu(thread.phase))
    close_mismatch(id, time_ns);
  else
    close(id, IntervalKind::running, time_ns);
  thread.cpu = event.cpu;
  thread.cgroup = event.cgroup;
  thread.waker = ThreadId{};
  thread.waker_stack = StackId{};
  if (event.state == 'R') {
    thread.phase = TaskPhase::preempted;
    thread.preempted_by = next;
    thread.early_waking = false;
    return;
  }
  thread.stack = event.stack;
  thread.user_stack = event.user_stack;
  thread.state = event.state;
  thread.phase = TaskPhase::sleeping;
  // waking_seen of a running thread: a waking came that no wakeup has answered.
  thread.early_waking = thread.waking_seen;
  thread.waking_seen = false;
  if (ends_life(event.state)) end_life(id, time_ns);
}

// Some switches are in no recording: those on a CPU whose events were not switched on yet, and on some
// kernels those away from the idle task or from tasks that are hidden from perf. A thread in whose
// context something happens runs, whatever was seen of it before. If it was runnable, it is taken to
// have got the CPU as early as it can have, which on an idle CPU is what the scheduler does. If it
// slept, its waking was hidden too: an idle CPU runs what an interrupt wakes at once, so it slept until
// it was seen.
void TaskModel::infer_running(ThreadId id, uint64_t time_ns, uint32_t on_cpu) {
  Thread& thread = threads_[id];
  if (!is_off_cpu(thread.phase) || lost_.first_overlap(thread.since_ns, time_ns)) return;
  if (thread.phase == TaskPhase::sleeping && !thread.waking_seen && !thread.early_waking) {
    if (!idle_is_hidden_) return;
    close(id, IntervalKind::sleeping, time_ns);
  } else {
    if (thread.phase == TaskPhase::sleeping) {
      if (thread.waking_seen) close(id, IntervalKind::sleeping, thread.waking_ns);
      thread.phase = TaskPhase::woken;
    }
    const uint64_t from = std::max(thread.since_ns, cpu(on_cpu).last_switch_ns);
    close(id, IntervalKind::runnable, std::min(from, time_ns));
  }
  diagnostics_.add(Diag::inferred_switch);
  thread.phase = TaskPhase::running;
  thread.cpu = on_cpu;
  thread.waking_seen = false;
  thread.early_waking = false;
}

// An event in the context of a thread that is not known to run.
void TaskModel::observe_context(const Event& event) {
  if (event.tid == 0) return;
  Cpu& on = cpu(event.cpu);
  if (on.current_tid == event.tid) return;
  notice_hidden_idle(on, event.tid);
  const ThreadId id = threads_.find(event.tid);
  if (!id.valid()) return;
  infer_running(id, event.time_ns, event.cpu);
  on.current = id;
  on.current_tid = event.tid;
}

// A CPU that went idle and then runs something without a switch in between: this kernel hides what
// happens in the idle task from perf, wakeups by interrupts included.
void TaskModel::notice_hidden_idle(const Cpu& on, int32_t tid) {
  if (on.current_tid != 0 || tid == 0 || idle_is_hidden_) return;
  idle_is_hidden_ = true;
  diagnostics_.add(Diag::idle_hidden);
}

void TaskModel::switch_in(ThreadId id, uint64_t time_ns, uint32_t on_cpu) {
  Thread& thread = threads_[id];
  switch (thread.phase) {
    case TaskPhase::unseen:
      begin_unseen(thread, TaskPhase::woken);
      close(id, IntervalKind::runnable, time_ns);
      break;
    case TaskPhase::unborn:
      if (thread.since_ns != time_ns) close(id, IntervalKind::runnable, time_ns);
      break;
    case TaskPhase::running:
      // The last moments of a recording: events were switched off on the CPU that it left, and not yet
      // on this one. Nothing else ran there, as far as is known: it ran on until now.
      if (thread.cpu != on_cpu && cpu(thread.cpu).current == id &&
          !lost_.first_overlap(thread.since_ns, time_ns)) {
        diagnostics_.add(Diag::inferred_switch);
        close(id, IntervalKind::running, time_ns);
      } else {
        close_mismatch(id, time_ns);
      }
      break;
    case TaskPhase::sleeping:
      if (thread.waking_seen) {
        close(id, IntervalKind::sleeping, thread.waking_ns);
        thread.phase = TaskPhase::woken;
        close(id, IntervalKind::runnable, time_ns);
      } else if (thread.early_waking) {
        diagnostics_.add(Diag::woken_before_switch);
        thread.phase = TaskPhase::woken;
        close(id, IntervalKind::runnable, time_ns);
      } else if (!has_.any_wakeup() || idle_is_hidden_) {
        close(id, IntervalKind::sleeping, time_ns);
      } else {
        if (!lost_.first_overlap(thread.since_ns, time_ns))
          diagnostics_.add(Diag::sleep_without_wakeup);
        close_mismatch(id, time_ns);
      }
      break;
    case TaskPhase::woken:
    case TaskPhase::preempted:
      close(id, IntervalKind::runnable, time_ns);
      break;
    case TaskPhase::dead:
      return;
  }
  thread.phase = TaskPhase::running;
  thread.cpu = on_cpu;
  thread.waking_seen = false;
  thread.early_waking = false;
}

void TaskModel::remember_waker(Thread& thread, const Event& event) {
  thread.waker = threads_.get(event.tid);
  if (thread.waker.valid() && event.pid > 0) threads_[thread.waker].pid = event.pid;
  thread.waker_stack = event.stack;
}

void TaskModel::on_wake(const Event& event, WakeKind kind) {
  if ((event.flags & kEventFailed) != 0) return;
  const ThreadId id = enter(event.wakeup.tid, event.time_ns);
  if (!id.valid()) return;
  // A reference into the table stays good: threads are never moved.
  Thread& thread = threads_[id];
  if (event.wakeup.comm != StringPool::kEmpty) thread.comm = event.wakeup.comm;
  switch (thread.phase) {
    case TaskPhase::unseen:
      if (kind == WakeKind::wakeup_new) {
        thread.phase = TaskPhase::woken;
        thread.life_start_ns = thread.since_ns = event.time_ns;
        return;
      }
      begin_unseen(thread, TaskPhase::sleeping);
      wake_sleeper(thread, id, event, kind);
      break;
    case TaskPhase::unborn:
      // Life begins when the thread may run for the first time, not in the middle of fork().
      thread.phase = TaskPhase::woken;
      thread.life_start_ns = thread.since_ns = event.time_ns;
      remember_waker(thread, event);
      break;
    case TaskPhase::running:
      thread.waking_seen = kind == WakeKind::waking;
      thread.waking_ns = event.time_ns;
      remember_waker(thread, event);
      break;
    case TaskPhase::sleeping:
      wake_sleeper(thread, id, event, kind);
      break;
    default:
      break;
  }
}

void TaskModel::wake_sleeper(Thread& thread, ThreadId id, const Event& event, WakeKind kind) {
  if (kind == WakeKind::waking || !has_.wakings) remember_waker(thread, event);
  if (kind == WakeKind::waking && has_.wakeups) {
    thread.waking_seen = true;
    thread.waking_ns = event.time_ns;
    return;
  }
  close(id, IntervalKind::sleeping, event.time_ns);
  thread.phase = TaskPhase::woken;
  thread.waking_seen = false;
  thread.early_waking = false;
}

// Both the tracepoint and perf's own record may announce one fork, in either order.
void TaskModel::on_fork(const Event& event) {
  const ThreadId parent = threads_.get(event.fork.parent_tid);
  const ThreadId known = threads_.find(event.fork.child_tid);
  const bool announced = known.valid() && threads_[known].phase == TaskPhase::unborn;
  if (known.valid() && !announced && threads_[known].phase != TaskPhase::dead &&
      threads_[known].phase != TaskPhase::unseen)
    end_life(known, event.time_ns);
  const ThreadId id = announced ? known : threads_.create(event.fork.child_tid);
  if (!id.valid()) return;
  Thread& child = threads_[id];
  child.phase = TaskPhase::unborn;
  child.born_inside = true;
  if (!announced) child.life_start_ns = child.since_ns = event.time_ns;
  if (event.fork.child_comm != StringPool::kEmpty) child.comm = event.fork.child_comm;
  if (!parent.valid()) return;
  // A child runs what its parent ran until it says otherwise (exec).
  if (child.kind == TaskKind::unknown) child.kind = threads_[parent].kind;
  if (child.comm == StringPool::kEmpty) child.comm = threads_[parent].comm;
}

void TaskModel::on_fork_record(const Event& event) {
  constexpr int32_t kKthreadd = 2;
  if (event.time_ns != 0) on_fork(event);
  const ThreadId id = threads_.get(event.fork.child_tid);
  if (!id.valid()) return;
  Thread& child = threads_[id];
  child.pid = event.fork.child_pid;
  child.parent_pid = event.fork.parent_pid;
  const bool is_thread = event.fork.child_pid == event.fork.parent_pid;
  if (event.fork.parent_pid == kKthreadd && !is_thread) child.kind = TaskKind::kernel;
}

// exec by a thread that is not the leader: the leader is dead, and its tid goes to this thread.
void TaskModel::on_exec(const Event& event) {
  const ThreadId id = threads_.get(event.task.old_tid > 0 ? event.task.old_tid : event.task.tid);
  if (!id.valid()) return;
  threads_[id].kind = TaskKind::user;
  if (threads_[id].tid == event.task.tid) return;
  const ThreadId leader = threads_.find(event.task.tid);
  if (leader.valid() && threads_[leader].phase != TaskPhase::dead &&
      threads_[leader].phase != TaskPhase::unseen)
    end_life(leader, event.time_ns);
  threads_.move(id, event.task.tid);
}

void TaskModel::on_rename(ThreadId id, StringId comm, uint64_t time_ns) {
  if (!id.valid()) return;
  threads_[id].comm = comm;
  sink_.on_rename(time_ns, id, comm);
}

IntervalKind TaskModel::kind_of(TaskPhase phase) {
  switch (phase) {
    case TaskPhase::running:
      return IntervalKind::running;
    case TaskPhase::sleeping:
      return IntervalKind::sleeping;
    default:
      return IntervalKind::runnable;
  }
}

void TaskModel::emit(ThreadId id, IntervalKind kind, uint64_t start_ns, uint64_t end_ns,
                     bool open) {
  const Thread& thread = threads_[id];
  Interval interval;
  interval.kind = kind;
  interval.open = open;
  interval.began_before = thread.began_before;
  interval.cpu = thread.cpu;
  interval.thread = id;
  interval.start_ns = start_ns;
  interval.end_ns = end_ns;
  interval.cgroup = thread.cgroup;
  if (thread.phase == TaskPhase::sleeping) {
    interval.state = thread.state;
    // What a sleep that began before the recording waits for is not known.
    if (!thread.began_before) {
      interval.stack = thread.stack;
      interval.user_stack = thread.user_stack;
    }
    interval.waker = thread.waker;
    interval.waker_stack = thread.waker_stack;
    interval.includes_waiting = !has_.any_wakeup();
  } else if (kind == IntervalKind::runnable) {
    interval.state = 'R';
    interval.preempted = thread.phase == TaskPhase::preempted;
    if (interval.preempted) interval.preempted_by = thread.preempted_by;
  }
  interval.uncertain = lost_.first_overlap(start_ns, end_ns).has_value();
  sink_.on_interval(interval);
}

void TaskModel::close(ThreadId id, IntervalKind kind, uint64_t end_ns) {
  Thread& thread = threads_[id];
  // Clocks of two CPUs may disagree by a little: an interval is never negative.
  const uint64_t end = std::max(end_ns, thread.since_ns);
  emit(id, kind, thread.since_ns, end, false);
  thread.since_ns = end;
  thread.began_before = false;
}

void TaskModel::close_mismatch(ThreadId id, uint64_t end_ns) {
  Thread& thread = threads_[id];
  const uint64_t end = std::max(end_ns, thread.since_ns);
  if (const auto lost_from = lost_.first_overlap(thread.since_ns, end)) {
    diagnostics_.add(Diag::hidden_interval);
    if (*lost_from > thread.since_ns)
      emit(id, kind_of(thread.phase), thread.since_ns, *lost_from, false);
    emit(id, IntervalKind::hidden, *lost_from, end, false);
  } else {
    if (thread.phase != TaskPhase::sleeping) diagnostics_.add(Diag::impossible_transition);
    emit(id, IntervalKind::unknown, thread.since_ns, end, false);
  }
  thread.since_ns = end;
  thread.began_before = false;
}

// Ends a life that has reached `end_ns` in whatever phase it is. One that has not begun is none.
void TaskModel::end_life(ThreadId id, uint64_t end_ns) {
  Thread& thread = threads_[id];
  if (thread.phase == TaskPhase::unborn) {
    thread.phase = TaskPhase::dead;
    return;
  }
  if (thread.since_ns < end_ns) close_mismatch(id, end_ns);
  sink_.on_life(id, thread.life_start_ns, std::max(end_ns, thread.since_ns));
  thread.phase = TaskPhase::dead;
}

void TaskModel::finish(uint64_t end_ns) {
  for (uint32_t i = 0; i < threads_.size(); ++i) {
    const ThreadId id{i};
    Thread& thread = threads_[id];
    if (thread.phase == TaskPhase::unseen) diagnostics_.add(Diag::threads_without_events);
    if (thread.phase == TaskPhase::unseen || thread.phase == TaskPhase::dead ||
        thread.phase == TaskPhase::unborn)
      continue;
    const uint64_t end = std::max(end_ns, thread.since_ns);
    if (thread.phase == TaskPhase::sleeping && thread.waking_seen) {
      close(id, IntervalKind::sleeping, thread.waking_ns);
      thread.phase = TaskPhase::woken;
    } else if (thread.phase == TaskPhase::sleeping && thread.early_waking) {
      thread.phase = TaskPhase::woken;
    }
    emit(id, kind_of(thread.phase), thread.since_ns, end, true);
    sink_.on_life(id, thread.life_start_ns, end);
    thread.phase = TaskPhase::dead;
  }
}

}  // namespace perf_latency
