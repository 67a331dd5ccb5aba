// SPDX-License-Identifier: GPL-2.0-only
#include "model/work_model.h"

#include <algorithm>
#include <utility>

namespace perf_latency {
namespace {

using K = EventKind;

// CPU numbers of hostile files must not size a table (CONFIG_NR_CPUS is at most 8192).
constexpr uint32_t kMaxCpus = 1u << 16;
// A timer belongs to the work item right before it in struct delayed_work; lockdep makes it larger.
constexpr uint64_t kMaxTimerDistance = 256;
// Tasks told apart behind one item; the rest of its wait stays without a name.
constexpr size_t kMaxBehind = 64;

void insert_sorted(std::vector<uint64_t>& list, uint64_t value) {
  const auto at = std::lower_bound(list.begin(), list.end(), value);
  if (at == list.end() || *at != value) list.insert(at, value);
}

void erase_value(std::vector<uint64_t>& list, uint64_t value) {
  const auto at = std::find(list.begin(), list.end(), value);
  if (at == list.end()) return;
  *at = list.back();
  list.pop_back();
}

}  // namespace

WorkModel::Cpu& WorkModel::cpu(uint32_t number) {
  number = std::min(number, kMaxCpus);
  if (number >= cpus_.size()) cpus_.resize(number + 1);
  return cpus_[number];
}

void WorkModel::handle(const Event& event) {
  switch (event.kind) {
    case K::sched_switch:
      on_switch(event);
      break;
    case K::workqueue_queue_work:
      on_queue(event);
      break;
    case K::workqueue_activate_work: {
      const auto item = items_.find(event.work.work);
      if (item != items_.end()) item->second.activated = true;
      break;
    }
    case K::workqueue_execute_start:
      on_start(event);
      break;
    case K::workqueue_execute_end:
      on_end(event);
      break;
    case K::timer_start:
      on_timer_start(event);
      break;
    case K::timer_cancel:
    case K::timer_expire_entry:
      timers_.erase(event.timer.timer);
      break;
    case K::tick_stop:
      on_tick(event);
      break;
    default:
      break;
  }
}

// The time since the last switch goes to the task that had the CPU, for each item that waits there.
void WorkModel::charge(Cpu& cpu, uint64_t now_ns, bool switched_out) {
  const uint64_t since_ns = std::exchange(cpu.since_ns, now_ns);
  if (!cpu.current.valid()) return;
  for (const uint64_t work : cpu.waiting) {
    const auto found = items_.find(work);
    if (found == items_.end()) continue;
    const uint64_t from = std::max(since_ns, found->second.queued_ns);
    if (now_ns <= from) continue;
    std::vector<Behind>& behind = found->second.behind;
    const auto entry = std::find_if(behind.begin(), behind.end(),
                                    [&](const Behind& one) { return one.thread == cpu.current; });
    if (entry != behind.end()) {
      entry->ns += now_ns - from;
      entry->prio = cpu.current_prio;
      entry->old_prio = !switched_out;
    } else if (behind.size() < kMaxBehind) {
      behind.push_back({cpu.current, cpu.current_prio, !switched_out, now_ns - from});
    }
  }
}

WorkBehind WorkModel::longest(const std::vector<Behind>& behind) {
  WorkBehind result;
  for (const Behind& one : behind)
    if (one.ns > result.ns) result = {one.thread, one.prio, one.old_prio, one.ns};
  return result;
}

void WorkModel::close_push(ThreadId thread, uint64_t end_ns, bool open) {
  const auto found = pushed_.find(thread);
  if (found == pushed_.end()) return;
  found->second.end_ns = std::max(end_ns, found->second.start_ns);
  found->second.open = open;
  sink_.on_work_push(found->second);
  pushed_.erase(found);
}

void WorkModel::on_switch(const Event& event) {
  Cpu& on = cpu(event.cpu);
  // The priority of a task that changed its policy while it ran is known only now.
  on.current_prio = event.sched_switch.prev_prio;
  if (!on.current.valid() && event.sched_switch.prev_tid > 0 && on.current_tid == -1) {
    on.current = threads_.find(event.sched_switch.prev_tid);
    on.since_ns = start_ns_;
  }
  charge(on, event.time_ns, true);

  const ThreadId next = threads_.find(event.sched_switch.next_tid);
  if (on.push.thread.valid() && !on.push.functions.empty())
    pushed_[on.push.thread] = std::move(on.push);
  on.push = WorkPush();
  if (next.valid()) close_push(next, event.time_ns, false);

  on.current_tid = event.sched_switch.next_tid;
  on.current = next;
  on.current_prio = event.sched_switch.next_prio;
  if (on.current_tid != 0) on.idle_tick_stopped = false;
  if (event.state == 'R' && event.sched_switch.prev_tid > 0) {
    on.push.thread = threads_.find(event.sched_switch.prev_tid);
    on.push.prio = event.sched_switch.prev_prio;
    on.push.cpu = event.cpu;
    on.push.start_ns = event.time_ns;
    // A worker that comes back in the middle of an item.
    const auto running = running_.find(on.current_tid);
    if (running != running_.end()) insert_sorted(on.push.functions, running->second.function);
  }
}

void WorkModel::on_queue(const Event& event) {
  const uint64_t work = event.work.work;
  const bool bound = event.work.cpu >= 0 && static_cast<uint32_t>(event.work.cpu) < kMaxCpus;
  const uint32_t target = bound ? static_cast<uint32_t>(event.work.cpu) : kNoCpu;

  const auto running = running_.find(event.tid);
  WorkQueueing queueing;
  queueing.function = event.work.function;
  queueing.cpu = target;
  queueing.time_ns = event.time_ns;
  queueing.stack = event.stack;
  queueing.has_chain = (event.flags & kEventChain) != 0;
  if (running != running_.end()) {
    queueing.by_function = running->second.function;
    if (running->second.work == work) running->second.rearmed = true;
  }
  if (bound) {
    queueing.after_idle_stop = cpu(target).idle_tick_stopped;
    std::erase(cpu(target).settled, event.work.function);
  }
  sink_.on_work_queued(queueing);

  Item& item = items_[work];
  if (item.queued_ns != 0 && item.cpu != kNoCpu) erase_value(cpu(item.cpu).waiting, work);
  item = Item();
  item.function = event.work.function;
  item.cpu = target;
  item.queued_ns = event.time_ns;
  if (bound) cpu(target).waiting.push_back(work);
}

void WorkModel::emit_run(const Running& run, uint64_t end_ns, bool open) {
  WorkRun out;
  out.worker = run.worker;
  out.work = run.work;
  out.function = run.function;
  out.cpu = run.cpu;
  out.queued_ns = run.queued_ns;
  out.start_ns = run.start_ns;
  out.end_ns = std::max(end_ns, run.start_ns);
  out.open = open;
  out.began_before = run.began_before;
  out.behind = run.behind;
  sink_.on_work_run(out);
}

void WorkModel::on_start(const Event& event) {
  Running run;
  run.worker = threads_.find(event.tid);
  run.work = event.work.work;
  run.function = event.work.function;
  run.cpu = event.cpu;
  run.start_ns = event.time_ns;
  const auto item = items_.find(run.work);
  if (item != items_.end() && item->second.function == run.function) {
    run.queued_ns = item->second.queued_ns;
    run.bound = item->second.cpu != kNoCpu;
    if (run.bound) {
      Cpu& target = cpu(item->second.cpu);
      charge(target, event.time_ns, false);
      run.behind = longest(item->second.behind);
      erase_value(target.waiting, run.work);
    }
    items_.erase(item);
  }
  Cpu& on = cpu(event.cpu);
  // A worker that got the CPU before the recording began is known from here on.
  if (on.current_tid == event.tid && on.push.thread.valid())
    insert_sorted(on.push.functions, run.function);
  running_[event.tid] = std::move(run);
}

void WorkModel::on_end(const Event& event) {
  const auto found = running_.find(event.tid);
  if (found == running_.end() || found->second.work != event.work.work) {
    if (event.work.function == 0) return;  // before 5.7 the event does not say which function
    Running run;
    run.worker = threads_.find(event.tid);
    run.work = event.work.work;
    run.function = event.work.function;
    run.cpu = event.cpu;
    run.start_ns = start_ns_;
    run.began_before = true;
    emit_run(run, event.time_ns, false);
    return;
  }
  const Running run = std::move(found->second);
  running_.erase(found);
  emit_run(run, event.time_ns, false);
  if (run.bound && !run.rearmed) insert_sorted(cpu(run.cpu).settled, run.function);
}

// A timer is known as that of a work item when the item arms it while it runs.
void WorkModel::on_timer_start(const Event& event) {
  const auto running = running_.find(event.tid);
  if (running == running_.end()) return;
  Running& run = running->second;
  const uint64_t timer = event.timer.timer;
  if (timer <= run.work || timer - run.work > kMaxTimerDistance) return;
  run.rearmed = true;
  std::erase(cpu(run.cpu).settled, run.function);
  timers_[timer] = {run.function, event.cpu, event.time_ns};
}

void WorkModel::on_tick(const Event& event) {
  Cpu& on = cpu(event.cpu);
  TickStop stop;
  stop.cpu = event.cpu;
  stop.time_ns = event.time_ns;
  stop.stopped = event.tick.success != 0;
  stop.idle = event.tid == 0;
  if (stop.stopped && stop.idle) {
    on.idle_tick_stopped = true;
    stop.settled = &on.settled;
  }
  sink_.on_tick_stop(stop);
}

void WorkModel::finish(uint64_t end_ns) {
  for (Cpu& cpu : cpus_) {
    charge(cpu, end_ns, false);
    if (cpu.push.thread.valid() && !cpu.push.functions.empty())
      pushed_[cpu.push.thread] = std::move(cpu.push);
  }
  for (const auto& [tid, run] : running_) emit_run(run, end_ns, true);
  for (const auto& [work, item] : items_) {
    WorkPending pending;
    pending.function = item.function;
    pending.cpu = item.cpu;
    pending.queued_ns = item.queued_ns;
    pending.end_ns = std::max(end_ns, item.queued_ns);
    pending.activated = item.activated;
    pending.lost = lost_ns_ >= item.queued_ns;
    pending.behind = longest(item.behind);
    sink_.on_work_pending(pending);
  }
  for (const auto& [timer, armed] : timers_)
    sink_.on_work_timer(
        {armed.function, armed.cpu, armed.start_ns, std::max(end_ns, armed.start_ns)});
  std::vector<ThreadId> away;
  for (const auto& [thread, push] : pushed_) away.push_back(thread);
  std::sort(away.begin(), away.end());
  for (const ThreadId thread : away) close_push(thread, end_ns, true);
}

}  // namespace perf_latency
