// SPDX-License-Identifier: GPL-2.0-only
// The part of VmstatReport that takes events and adds them up; the rows are made in vmstat_rows.cc.
#include "analysis/vmstat_report.h"

#include <algorithm>

namespace perf_latency {
namespace {

using K = EventKind;

// Runs and delays have no task of their own; RowStats takes -1 for "no maximum yet".
constexpr int32_t kNoTid = 0;
// A wait that is worth naming whoever had the CPU: longer than the worker's own wakeup takes.
constexpr uint64_t kHeldUpNs = 1'000'000;

bool has_kind(const EventKinds& kinds, EventKind kind) { return kinds[static_cast<size_t>(kind)]; }

std::string no_work_events(const RecordingResult& result) {
  return "the recording has no workqueue events (" + std::to_string(result.info.samples) +
         " samples of other events): record with 'perf latency record -e vmstat'";
}

}  // namespace

std::optional<VmstatKey> parse_vmstat_key(std::string_view name) {
  if (name == "cpu") return VmstatKey::cpu;
  if (name == "task") return VmstatKey::task;
  if (name == "work") return VmstatKey::work;
  return std::nullopt;
}

VmstatWork vmstat_work_of(std::string_view function) {
  if (function == "vmstat_update" || function == "refresh_vm_stats") return VmstatWork::sync;
  return function == "vmstat_shepherd" ? VmstatWork::shepherd : VmstatWork::none;
}

// delayed_work_timer_fn ends in a tail call and is seldom in the chain: the timer code that called it
// is (kernel/time/timer.c: call_timer_fn, expire_timers, __run_timers). A timer interrupt that hits the
// shepherd stands before it in the chain, so the innermost known frame decides.
WorkSource work_source_of(const std::vector<std::string_view>& chain) {
  struct Mark {
    std::string_view function;
    WorkSource source;
  };
  static constexpr std::array<Mark, 9> kMarks{{{"vmstat_shepherd", WorkSource::shepherd},
                                               {"delayed_work_timer_fn", WorkSource::timer},
                                               {"call_timer_fn", WorkSource::timer},
                                               {"expire_timers", WorkSource::timer},
                                               {"__run_timers", WorkSource::timer},
                                               {"run_timer_softirq", WorkSource::timer},
                                               {"run_timer_base", WorkSource::timer},
                                               {"schedule_on_each_cpu", WorkSource::stat_refresh},
                                               {"vmstat_refresh", WorkSource::stat_refresh}}};
  if (chain.empty()) return WorkSource::unknown;
  for (const std::string_view function : chain)
    for (const Mark& mark : kMarks)
      if (function == mark.function) return mark.source;
  return WorkSource::other;
}

// mm/vmstat.c, vmstat_shepherd(): cpu_is_isolated() came with 6.5.
bool shepherd_skips_isolated(std::string_view os_release) {
  uint32_t numbers[2] = {0, 0};
  size_t at = 0;
  for (uint32_t& number : numbers) {
    while (at < os_release.size() && os_release[at] >= '0' && os_release[at] <= '9' &&
           number < 100000)
      number = number * 10 + static_cast<uint32_t>(os_release[at++] - '0');
    if (at < os_release.size() && os_release[at] == '.') ++at;
  }
  return numbers[0] > 6 || (numbers[0] == 6 && numbers[1] >= 5);
}

VmstatReport::VmstatReport(const AnalysisOptions& options, const VmstatOptions& vmstat,
                           CauseTable& causes)
    : TaskAnalysis(options, causes), vmstat_(vmstat) {
  for (const std::string& name : options.by)
    if (const auto key = parse_vmstat_key(name)) by_.push_back(*key);
  if (by_.empty()) by_.push_back(VmstatKey::cpu);
}

bool VmstatReport::has(VmstatKey key) const {
  return std::find(by_.begin(), by_.end(), key) != by_.end();
}

DecodeNeeds VmstatReport::needs() const {
  DecodeNeeds needs = TaskAnalysis::needs();
  needs.want({K::workqueue_queue_work, K::workqueue_activate_work, K::workqueue_execute_start,
              K::workqueue_execute_end, K::timer_start, K::timer_cancel, K::timer_expire_entry,
              K::tick_stop});
  needs.other_stacks = true;
  return needs;
}

void VmstatReport::begin_recording(const RecordingContext& context) {
  TaskAnalysis::begin_recording(context);
  model_ = std::make_unique<WorkModel>(*this, threads());
  works_.clear();
  queued_.clear();
  pushes_.clear();
  held_.clear();
  ticks_.clear();
  functions_on_.clear();
  seen_cpus_.clear();
  names_.clear();
}

void VmstatReport::set_start(uint64_t start_ns) {
  TaskAnalysis::set_start(start_ns);
  start_ns_ = start_ns;
  model_->set_start(start_ns);
}

void VmstatReport::take_event(const Event& event) {
  constexpr size_t kMaxCpus = 1u << 16;
  if (event.cpu < kMaxCpus) {
    if (event.cpu >= seen_cpus_.size()) seen_cpus_.resize(event.cpu + 1);
    seen_cpus_[event.cpu] = true;
  }
  if (event.kind == K::workqueue_queue_work || event.kind == K::workqueue_execute_start)
    functions_on_.emplace(event.cpu, event.work.function);
  model_->handle(event);
}

void VmstatReport::take_record(const Event& event) {
  if (event.kind == K::record_lost) model_->on_lost(event.time_ns);
}

Result<void> VmstatReport::end_recording(const RecordingResult& result) {
  if (!has_kind(result.present, K::workqueue_execute_start) ||
      !has_kind(result.present, K::workqueue_queue_work))
    return make_error(no_work_events(result));
  if (recording().symbols.kernel() == nullptr)
    return make_error("the kernel's symbols were not found (" + recording().symbols.kernel_error() +
                      "), and work functions are known by their addresses only: give --kallsyms or "
                      "--vmlinux of the kernel that was recorded");
  return TaskAnalysis::end_recording(result);
}

uint32_t VmstatReport::part_of(uint64_t time_ns) const {
  if (options().interval_ns == 0) return kNoPart;
  const uint64_t start_ns = start_ns_;
  return time_ns <= start_ns ? 0
                             : static_cast<uint32_t>((time_ns - start_ns) / options().interval_ns);
}

void VmstatReport::on_work_run(const WorkRun& run) {
  if (!keeps_cpu(run.cpu) || !recording().window.contains(run.end_ns)) return;
  const uint64_t length_ns = run.end_ns - run.start_ns;
  if (length_ns < options().min_latency_ns) return;
  const CpuFunction where{part_of(run.end_ns), run.cpu, run.function};
  WorkSums& sums = works_[where];
  sums.runs.add(length_ns, run.start_ns, kNoTid, StringPool::kEmpty,
                !run.open && !run.began_before);
  if (run.open) ++sums.runs.open;
  if (run.queued_ns == 0) return;
  const uint64_t delay_ns = run.start_ns - run.queued_ns;
  sums.delays.add(delay_ns, run.queued_ns, kNoTid, StringPool::kEmpty, true);
  if (delay_ns >= sums.worst_delay.ns) sums.worst_delay = {delay_ns, run.queued_ns, run.behind};
  if (delay_ns >= kHeldUpNs) hold(where, run.behind);
}

void VmstatReport::hold(const CpuFunction& where, const WorkBehind& behind) {
  if (!behind.thread.valid() || behind.ns == 0 || !keeps_thread(threads()[behind.thread])) return;
  held_[HeldKey{where, behind.thread, behind.prio}] += behind.ns;
}

void VmstatReport::on_work_queued(const WorkQueueing& queueing) {
  if (!recording().window.contains(queueing.time_ns)) return;
  if (queueing.cpu != kNoCpu && !keeps_cpu(queueing.cpu)) return;
  QueueKey key{{part_of(queueing.time_ns), queueing.cpu, queueing.function},
               queueing.stack,
               queueing.has_chain,
               queueing.by_function};
  QueueSums& sums = queued_[key];
  ++sums.count;
  if (queueing.after_idle_stop) ++sums.after_idle_stop;
}

void VmstatReport::on_work_pending(const WorkPending& pending) {
  if (pending.cpu != kNoCpu && !keeps_cpu(pending.cpu)) return;
  if (!recording().window.contains(pending.queued_ns)) return;
  const CpuFunction where{part_of(pending.end_ns), pending.cpu, pending.function};
  WorkSums& sums = works_[where];
  if (pending.lost) {
    ++sums.lost_track;
    return;
  }
  ++sums.never_executed;
  const uint64_t age_ns = pending.end_ns - pending.queued_ns;
  if (age_ns >= sums.oldest.ns) sums.oldest = {age_ns, pending.queued_ns, pending.behind};
  if (age_ns >= kHeldUpNs) hold(where, pending.behind);
}

void VmstatReport::on_work_push(const WorkPush& push) {
  if (!keeps_cpu(push.cpu) || !keeps_thread(threads()[push.thread])) return;
  const auto inside = recording().window.clip(push.start_ns, push.end_ns);
  if (!inside || push.end_ns - push.start_ns < options().min_latency_ns) return;
  const Thread& thread = threads()[push.thread];
  RowStats& stats =
      pushes_[PushKey{part_of(push.end_ns), push.cpu, push.thread, push.prio, push.functions}];
  stats.add(inside->length_ns(), push.start_ns, thread.tid, thread.comm, !push.open);
  if (push.open) ++stats.open;
}

void VmstatReport::on_work_timer(const WorkTimer& timer) {
  if (!keeps_cpu(timer.cpu) || !recording().window.contains(timer.start_ns)) return;
  WorkSums& sums = works_[{part_of(timer.end_ns), timer.cpu, timer.function}];
  ++sums.timers_pending;
  sums.timer_pending_ns = std::max(sums.timer_pending_ns, timer.end_ns - timer.start_ns);
}

void VmstatReport::on_tick_stop(const TickStop& stop) {
  if (!keeps_cpu(stop.cpu) || !recording().window.contains(stop.time_ns) || !stop.stopped) return;
  const uint32_t part = part_of(stop.time_ns);
  ++ticks_[{part, stop.cpu}].stopped;
  if (stop.settled == nullptr) return;
  for (const uint64_t function : *stop.settled) ++works_[{part, stop.cpu, function}].stops_settled;
}

}  // namespace perf_latency
