// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/task_analysis.h"

#include <algorithm>

#include "base/range_list.h"

namespace perf_latency {
namespace {

using K = EventKind;

bool has(const EventKinds& kinds, EventKind kind) { return kinds[static_cast<size_t>(kind)]; }

// What the recording has instead, and how to make one that has them.
std::string no_sched_events(const Metadata& metadata) {
  std::string names;
  for (const EventDescription& event : metadata.events) {
    if (event.name.empty() || event.name.starts_with("dummy")) continue;
    names.append(names.empty() ? "" : ", ").append(event.name);
  }
  return "the recording has no scheduler events" +
         (names.empty() ? "" : " (it has " + names + ")") +
         ": record with 'perf latency record', or 'perf record -a -g -e sched:sched_switch -e "
         "sched:sched_waking'";
}

}  // namespace

TaskAnalysis::TaskAnalysis(const AnalysisOptions& options, CauseTable& causes)
    : options_(options),
      causes_(causes),
      pids_(options.pids.begin(), options.pids.end()),
      tids_(options.tids.begin(), options.tids.end()),
      cpus_(options.cpus.begin(), options.cpus.end()),
      filters_threads_(!options.pids.empty() || !options.tids.empty() || !options.comms.empty()),
      filters_(filters_threads_ || !options.cpus.empty()) {}

DecodeNeeds TaskAnalysis::needs() const {
  DecodeNeeds needs;
  needs.want({K::sched_switch, K::sched_waking, K::sched_wakeup, K::sched_wakeup_new,
              K::sched_process_fork, K::sched_process_exec, K::sched_process_exit, K::task_rename,
              K::record_lost, K::record_comm, K::record_fork, K::record_exit, K::record_mmap,
              K::record_ksymbol, K::record_cgroup, K::record_switch, K::record_callchain_deferred});
  needs.sleep_stacks = true;
  needs.user_stacks =
      options_.callchain == CallchainMode::user || options_.callchain == CallchainMode::both;
  needs.user_maps = needs.user_stacks;
  return needs;
}

void TaskAnalysis::begin_recording(const RecordingContext& context) {
  recording_ = std::make_unique<Recording>(context, options_, causes_, *this);
  diagnostics_ = &context.diagnostics;
  // Beside a chosen task others stand in a switch or as wakers: nobody knows how they went on.
  if (const std::string* tasks = context.metadata.machine_fact("tasks"))
    if (const auto tids = parse_range_list(*tasks, 1u << 22); tids)
      recording_->chosen_tids = {tids->begin(), tids->end()};
  auto window = Window::make(options_, context.metadata);
  window_error_.reset();
  if (window)
    recording_->window = *window;
  else
    window_error_ = window.error();
}

void TaskAnalysis::set_present(const EventKinds& present) {
  recording_->present = present;
  TaskEvents& events = recording_->task_events;
  events.wakings = has(present, K::sched_waking);
  events.wakeups = has(present, K::sched_wakeup);
  events.new_wakeups = has(present, K::sched_wakeup_new);
  recording_->model.set_events(events);
}

void TaskAnalysis::set_start(uint64_t start_ns) {
  recording_->start_ns = start_ns;
  recording_->model.set_start(start_ns);
}

void TaskAnalysis::consume(const Event* const* events, size_t count) {
  Recording& recording = *recording_;
  // With tracepoints at hand the switch records of the same recording say nothing new.
  const bool ignore_switch_records = has(recording.present, K::sched_switch);
  constexpr size_t kAhead = 12;  // the events of a long round are in memory, not in a cache
  for (size_t i = 0; i < count; ++i) {
    if (i + kAhead < count) __builtin_prefetch(events[i + kAhead]);
    const Event& event = *events[i];
    if (event.kind == K::record_switch && ignore_switch_records) continue;
    if (event.kind == K::record_callchain_deferred) handle_deferred_chain(event);
    if (event.kind == K::sched_switch &&
        (event.user_stack.valid() || event.sched_switch.deferred != 0))
      handle_with_user_stack(event);
    else
      recording.model.handle(event);
    if (event.kind < K::record_lost) {
      take_event(event);
    } else {
      recording.symbols.handle(event);
      take_record(event);
    }
  }
}

// The user chain is resolved while the maps are those of the moment; from here on user_stack is an id of
// user_stacks. A chain that is not reported (of another thread or state) is not worth the unwinding.
void TaskAnalysis::handle_with_user_stack(const Event& event) {
  Recording& recording = *recording_;
  Event resolved = event;
  const ThreadId id = threads().find(event.sched_switch.prev_tid);
  const int32_t pid = event.pid > 0 ? event.pid : id.valid() ? threads()[id].pid : -1;
  const bool keeps_state =
      options_.states == "all" || options_.latencytop ||
      options_.states.find(static_cast<char>(event.state)) != std::string::npos;
  if (event.state != 'R' && keeps_state && (!id.valid() || keeps_thread(threads()[id]))) {
    resolved.user_stack = recording.user_stacks.resolve(event, pid);
    if (!event.user_stack.valid()) {
      recording.deferred.expect(event.sched_switch.prev_tid, event.sched_switch.deferred);
      take_what_waited();
      resolved.user_stack = DeferredStacks::kPlaceholder;
    }
  } else {
    recording.user_stacks.drop(event);
    resolved.user_stack = StackId{};
  }
  recording.model.handle(resolved);
}

// The maps are those of the return to user mode: the thread could not change them while it slept.
void TaskAnalysis::handle_deferred_chain(const Event& event) {
  Recording& recording = *recording_;
  const ThreadId id = threads().find(event.tid);
  const int32_t pid = event.pid > 0 ? event.pid : id.valid() ? threads()[id].pid : -1;
  recording.deferred.arrive(event.tid, event.deferred.cookie,
                            recording.user_stacks.resolve(event, pid));
  take_what_waited();
}

void TaskAnalysis::take_what_waited() {
  for (const DeferredStacks::Held& held : recording_->deferred.take_ready())
    take(held.interval, held.inside, held.kind);
}

void TaskAnalysis::announce_loss(uint64_t start_ns, uint64_t end_ns) {
  recording_->model.announce_loss(start_ns, end_ns);
}

Result<void> TaskAnalysis::end_recording(const RecordingResult& result) {
  if (window_error_) return *window_error_;
  if (const auto checked = check_events(result); !checked) return checked.error();
  if (!recording_->window.opened())
    return make_error("no task was renamed to '" + options_.time_comm->first + "' (--time-comm)");
  recording_->model.finish(result.info.end_ns.value_or(0));
  recording_->deferred.finish();
  take_what_waited();
  const uint64_t hidden = recording_->account.settle([this](ThreadId thread) {
    if (threads()[thread].hidden()) return TaskKind::unknown;
    return is_kernel_thread(thread) ? TaskKind::kernel : TaskKind::user;
  });
  if (hidden != 0) recording_->context.diagnostics.add(Diag::hidden_threads, hidden);
  const bool runnable_known = recording_->task_events.any_wakeup();
  if (!runnable_known && recording_->model.switches() != 0)
    recording_->context.diagnostics.add(Diag::no_wakeup_events);
  Totals totals = recording_->account.totals(options_.kernel_threads, runnable_known);
  totals.switches = recording_->switches;
  fold(result, totals);
  return {};
}

Result<void> TaskAnalysis::check_events(const RecordingResult& result) const {
  if (recording_->model.switches() == 0 && !result.interrupted)
    return make_error(no_sched_events(recording_->context.metadata));
  return {};
}

bool TaskAnalysis::keeps_comm(StringId comm) const {
  const std::string_view name = recording_->context.pools.strings.view(comm);
  return std::find(options_.comms.begin(), options_.comms.end(), name) != options_.comms.end();
}

bool TaskAnalysis::keeps_thread(const Thread& thread) const {
  const auto& chosen = recording_->chosen_tids;
  if (!chosen.empty() && !chosen.contains(static_cast<uint32_t>(thread.tid))) return false;
  if (!filters_threads_) return true;
  if (!pids_.empty() && !pids_.contains(static_cast<uint32_t>(thread.pid))) return false;
  if (!tids_.empty() && !tids_.contains(static_cast<uint32_t>(thread.tid))) return false;
  return options_.comms.empty() || keeps_comm(thread.comm);
}

// A thread of which no table tells: one that sleeps in chains without user mode is the kernel's.
bool TaskAnalysis::is_kernel_thread(ThreadId thread) {
  const TaskKind kind = threads().last_kind(threads()[thread]);
  if (kind != TaskKind::unknown) return kind == TaskKind::kernel;
  const auto stack = recording_->a_stack_of.find(thread);
  if (stack == recording_->a_stack_of.end()) return false;
  const StackNames::Named& named = recording_->names.of(stack->second);
  return named.cause != CauseTable::kUnattributed && !named.user_entry;
}

void TaskAnalysis::on_interval(const Interval& interval) {
  const auto inside = recording_->window.clip(interval.start_ns, interval.end_ns);
  if (!inside) return;
  const Thread& thread = threads()[interval.thread];
  if (!keeps_cpu(interval.cpu) || !keeps_thread(thread)) return;
  const TaskKind kind = threads().kind(thread);
  if (kind == TaskKind::unknown && interval.stack.valid())
    recording_->a_stack_of[interval.thread] = interval.stack;
  recording_->account.add(kind, interval.thread, interval.kind, inside->length_ns());
  // A filter may keep a part of a thread's life (a comm, a CPU): that part is what is accounted for.
  if (filters_) recording_->account.add_life(kind, interval.thread, inside->length_ns(), 0);
  if (interval.user_stack == DeferredStacks::kPlaceholder) {
    recording_->deferred.hold(thread.tid, {interval, *inside, kind});
    take_what_waited();
    return;
  }
  take(interval, *inside, kind);
}

void TaskAnalysis::on_life(ThreadId thread, uint64_t start_ns, uint64_t end_ns) {
  const auto inside = recording_->window.clip(start_ns, end_ns);
  if (!inside || !keeps_thread(threads()[thread])) return;
  recording_->account.add_life(threads().kind(threads()[thread]), thread,
                               filters_ ? 0 : inside->length_ns(), 1);
}

void TaskAnalysis::on_switch(uint64_t time_ns, ThreadId prev, ThreadId next) {
  if (!recording_->window.contains(time_ns)) return;
  if ((filters_threads_ || !recording_->chosen_tids.empty()) &&
      !(prev.valid() && keeps_thread(threads()[prev])) &&
      !(next.valid() && keeps_thread(threads()[next])))
    return;
  ++recording_->switches;
}

void TaskAnalysis::on_rename(uint64_t time_ns, ThreadId, StringId new_comm) {
  recording_->window.on_rename(time_ns, recording_->context.pools.strings.view(new_comm));
}

}  // namespace perf_latency
