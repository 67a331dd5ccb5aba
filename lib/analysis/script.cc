// SPDX-License-Identifier: GPL-2.0-only
// The part of ScriptAnalysis that collects lines of ids; they get their names in script_rows.cc.
#include "analysis/script.h"

#include <algorithm>

#include "analysis/registry.h"

namespace perf_latency {
namespace {

using K = EventKind;

// The report whose events tell of a kind.
constexpr std::array<std::string_view, kRowKinds> kReportOfKind{"report", "report", "contention",
                                                                "hold-time", "vmstat-sync"};

// Rows "by type" show the locks of every source.
LockOptions rows_by_type(const ScriptOptions& script) {
  LockOptions options;
  options.types = script.lock_types;
  options.by = {LockBy::type};
  return options;
}

}  // namespace

std::optional<RowKind> parse_row_kind(std::string_view name) {
  for (size_t i = 0; i < kRowKinds; ++i)
    if (to_string(static_cast<RowKind>(i)) == name) return static_cast<RowKind>(i);
  return std::nullopt;
}

ScriptAnalysis::ScriptAnalysis(const AnalysisOptions& options, const ScriptOptions& script,
                               CauseTable& causes, IntervalTaker& taker)
    : LockAnalysis(options, rows_by_type(script), causes, LockBy::type,
                   script.wants(RowKind::wait)),
      script_(script),
      taker_(taker),
      all_states_(options.states == "all") {}

DecodeNeeds ScriptAnalysis::needs() const {
  const bool locks = script_.wants(RowKind::wait) || script_.wants(RowKind::hold);
  DecodeNeeds needs = locks ? LockAnalysis::needs() : TaskAnalysis::needs();
  needs.waker_stacks = locks || script_.wants(RowKind::sleep);
  if (script_.wants(RowKind::vmstat_sync))
    needs.want({K::workqueue_queue_work, K::workqueue_activate_work, K::workqueue_execute_start,
                K::workqueue_execute_end});
  return needs;
}

void ScriptAnalysis::begin_recording(const RecordingContext& context) {
  LockAnalysis::begin_recording(context);
  works_ = std::make_unique<WorkModel>(*this, threads());
  places_.clear();
  place_of_sleep_.clear();
  place_of_lock_.clear();
  place_of_user_.clear();
  place_of_cause_.clear();
  interrupts_.clear();
  locks_text_.clear();
  vmstat_functions_.clear();
  cgroups_.clear();
  taker_.begin_recording(recording_number_++);
}

void ScriptAnalysis::set_start(uint64_t start_ns) {
  LockAnalysis::set_start(start_ns);
  works_->set_start(start_ns);
}

void ScriptAnalysis::take_event(const Event& event) {
  if (script_.wants(RowKind::wait) || script_.wants(RowKind::hold)) LockAnalysis::take_event(event);
  if (script_.wants(RowKind::vmstat_sync) && has(K::workqueue_execute_start)) works_->handle(event);
}

void ScriptAnalysis::take_record(const Event& event) {
  if (event.kind == K::record_cgroup)
    cgroups_[event.cgroup_path.id] = strings().view(event.cgroup_path.path);
  if (event.kind == K::record_lost) works_->on_lost(event.time_ns);
}

Result<void> ScriptAnalysis::check_events(const RecordingResult& result) const {
  std::string sets;
  for (size_t i = 0; i < kRowKinds; ++i) {
    if (!script_.kinds[i]) continue;
    for (const ReportEntry& entry : report_registry()) {
      if (entry.name != kReportOfKind[i]) continue;
      if (can_answer(entry, result.present)) return {};
      if (sets.find(entry.record_sets) == std::string::npos)
        sets.append(sets.empty() ? "" : ",").append(entry.record_sets);
    }
  }
  return make_error("the recording has none of the events that these intervals are made from (" +
                    std::to_string(result.info.samples) +
                    " samples of others): record with 'perf latency record -e " + sets + "'");
}

Result<void> ScriptAnalysis::end_recording(const RecordingResult& result) {
  works_->finish(result.info.end_ns.value_or(0));
  return LockAnalysis::end_recording(result);
}

void ScriptAnalysis::fold(const RecordingResult& result, const Totals& totals) {
  LockAnalysis::fold(result, totals);
  taker_.end_recording(result.info);
}

void ScriptAnalysis::fold_rows() {
  order_.finish([this](const Line& line) { give(line); });
}

void ScriptAnalysis::hold_back(const Line& line) {
  order_.add(line, [this](const Line& first) { give(first); });
}

// As the task is called when its interval ends.
void ScriptAnalysis::name_task(Line& line, ThreadId thread) const {
  line.thread = thread;
  line.tid = tid_of(thread);
  line.comm = comm_of(thread);
  line.pid = is_idle_context(thread) ? 0 : thread.valid() ? threads()[thread].pid : -1;
}

bool ScriptAnalysis::keeps_state(uint8_t state) const {
  return all_states_ || options().states.find(static_cast<char>(state)) != std::string::npos;
}

void ScriptAnalysis::take(const Interval& interval, const TimeSpan& inside, TaskKind kind) {
  const bool sleep = interval.kind == IntervalKind::sleeping;
  if (!sleep && interval.kind != IntervalKind::runnable) return;
  if (!script_.wants(sleep ? RowKind::sleep : RowKind::runnable)) return;
  if (kind == TaskKind::kernel && !options().kernel_threads) return;
  if (sleep && !keeps_state(interval.state)) return;
  if (interval.length_ns() < options().min_latency_ns) return;
  Line line;
  line.kind = sleep ? RowKind::sleep : RowKind::runnable;
  line.start_ns = inside.start_ns;
  line.end_ns = inside.end_ns;
  line.full_ns = interval.length_ns();
  line.owner = kind;
  line.state = static_cast<char>(interval.state);
  line.open = interval.open;
  line.began_before = interval.began_before;
  line.preempted = interval.preempted;
  line.uncertain = interval.uncertain;
  line.includes_waiting = interval.includes_waiting;
  line.cpu = interval.cpu;
  line.stack = interval.stack;
  line.user_stack = interval.user_stack;
  line.other = sleep ? interval.waker : interval.preempted_by;
  line.waker_stack = interval.waker_stack;
  line.cgroup = interval.cgroup;
  name_task(line, interval.thread);
  hold_back(line);
}

// The owner who had the lock for the longest part of the wait.
void ScriptAnalysis::find_holder(const LockWait& wait, const TimeSpan& inside, Line& line) const {
  constexpr size_t kMaxOwners = 32;
  std::vector<std::pair<ThreadId, uint64_t>> owners;
  for (const HolderSegment& segment : wait.holders) {
    if (!segment.owner.valid()) continue;
    const uint64_t from = std::max(segment.start_ns, inside.start_ns);
    const uint64_t to = std::min(segment.end_ns, inside.end_ns);
    if (from >= to) continue;
    const auto known = std::find_if(owners.begin(), owners.end(), [&](const auto& owner) {
      return owner.first == segment.owner;
    });
    if (known != owners.end())
      known->second += to - from;
    else if (owners.size() < kMaxOwners)
      owners.emplace_back(segment.owner, to - from);
  }
  for (const auto& [owner, ns] : owners)
    if (ns > line.other_ns) line.other = owner, line.other_ns = ns;
}

void ScriptAnalysis::take_wait(const LockWait& wait, const TimeSpan& inside) {
  if (!script_.wants(RowKind::wait)) return;
  Line line;
  line.kind = RowKind::wait;
  line.start_ns = inside.start_ns;
  line.end_ns = inside.end_ns;
  line.full_ns = wait.length_ns();
  line.lock_type = wait.type;
  line.open = wait.open;
  line.began_before = wait.began_before;
  line.failed = wait.failed;
  line.cpu = wait.cpu;
  line.stack = wait.stack;
  line.lock_address = wait.address;
  line.lock_name = wait.name;
  if (wait.has_outer) {
    line.outer = static_cast<uint8_t>(wait.outer.source) + 1;
    line.outer_address = wait.outer.address;
    if (wait.outer.source == LockSource::lockdep) line.lock_name = wait.outer_name;
  }
  line.cgroup = wait.cgroup;
  line.spin_ns = wait.spin_ns;
  line.sleep_ns = wait.sleep_ns;
  find_holder(wait, inside, line);
  name_task(line, wait.thread);
  hold_back(line);
}

void ScriptAnalysis::take_hold(const LockHold& hold, const TimeSpan& inside) {
  if (!script_.wants(RowKind::hold)) return;
  Line line;
  line.kind = RowKind::hold;
  line.start_ns = inside.start_ns;
  line.end_ns = inside.end_ns;
  line.full_ns = hold.length_ns();
  line.lock_type = hold.type;
  line.open = hold.open;
  line.began_before = hold.began_before;
  line.contended = hold.contended;
  line.cpu = hold.cpu;
  line.stack = hold.stack;
  line.lock_address = hold.address;
  line.lock_name = hold.name;
  line.cgroup = hold.cgroup;
  name_task(line, hold.thread);
  hold_back(line);
}

void ScriptAnalysis::on_work_run(const WorkRun& run) {
  if (!keeps_cpu(run.cpu) || !recording().window.contains(run.end_ns)) return;
  if (run.end_ns - run.start_ns < options().min_latency_ns) return;
  if (run.worker.valid() ? !keeps_thread(threads()[run.worker]) : !keeps_context(run.worker))
    return;
  Line line;
  line.kind = RowKind::vmstat_sync;
  line.start_ns = run.start_ns;
  line.end_ns = run.end_ns;
  line.full_ns = run.end_ns - run.start_ns;
  line.open = run.open;
  line.began_before = run.began_before;
  line.cpu = run.cpu;
  line.spin_ns = run.queued_ns;
  line.sleep_ns = run.function;
  line.other = run.behind.thread;
  line.other_ns = run.behind.ns;
  name_task(line, run.worker);
  hold_back(line);
}

}  // namespace perf_latency
