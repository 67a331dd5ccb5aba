// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/lock_analysis.h"

#include <algorithm>

#include "analysis/registry.h"

namespace perf_latency {
namespace {

using K = EventKind;

constexpr K kLockEvents[] = {
    K::contention_begin,
    K::contention_end,
    K::lock_acquire,
    K::lock_contended,
    K::lock_acquired,
    K::lock_release,
    K::mmap_lock_start_locking,
    K::mmap_lock_acquire_returned,
    K::mmap_lock_released,
    K::rstat_lock_contended,
    K::rstat_locked,
    K::rstat_unlock,
    K::rstat_cpu_lock_contended,
    K::rstat_cpu_locked,
    K::rstat_cpu_unlock,
    K::rstat_cpu_lock_contended_fastpath,
    K::rstat_cpu_locked_fastpath,
    K::rstat_cpu_unlock_fastpath,
};

bool is_lock_event(K kind) {
  return kind >= K::contention_begin && kind <= K::rstat_cpu_unlock_fastpath;
}

struct ByName {
  LockBy by;
  std::string_view name;
};
constexpr std::array<ByName, 10> kByNames{{{LockBy::caller, "caller"},
                                           {LockBy::lock, "lock"},
                                           {LockBy::type, "type"},
                                           {LockBy::process, "process"},
                                           {LockBy::thread, "thread"},
                                           {LockBy::cpu, "cpu"},
                                           {LockBy::cgroup, "cgroup"},
                                           {LockBy::holder, "holder"},
                                           {LockBy::stack, "stack"},
                                           {LockBy::function, "function"}}};

bool records_chains(const Metadata& metadata) {
  return std::any_of(metadata.events.begin(), metadata.events.end(),
                     [](const EventDescription& event) {
                       return (event.attr.sample_type & kSampleCallchain) != 0;
                     });
}

}  // namespace

std::optional<LockBy> parse_lock_by(std::string_view name) {
  for (const ByName& known : kByNames)
    if (known.name == name) return known.by;
  return std::nullopt;
}

std::string_view lock_by_name(LockBy by) {
  for (const ByName& known : kByNames)
    if (known.by == by) return known.name;
  return {};
}

size_t RawLockKeyHash::operator()(const RawLockKey& key) const noexcept {
  uint64_t hash = key.stack.value;
  const auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
  };
  mix((uint64_t{key.thread.value} << 32) | key.holder.value);
  mix((uint64_t{key.cpu} << 32) | key.part);
  mix(key.cgroup);
  mix(key.address);
  mix(key.outer_address);
  mix((uint64_t{key.name.value} << 32) | key.function.value);
  mix((static_cast<uint64_t>(key.type) << 8) | key.outer);
  return hash;
}

LockAnalysis::LockAnalysis(const AnalysisOptions& options, const LockOptions& lock_options,
                           CauseTable& causes, LockBy default_by, bool with_holders)
    : TaskAnalysis(options, causes),
      lock_options_(lock_options),
      by_(lock_options.by),
      default_by_(default_by),
      with_holders_(with_holders) {
  if (by_.empty()) by_.push_back(default_by_);
}

DecodeNeeds LockAnalysis::needs() const {
  DecodeNeeds needs = TaskAnalysis::needs();
  for (const K kind : kLockEvents) needs.kinds.set(static_cast<size_t>(kind));
  needs.other_stacks = true;
  needs.waker_stacks = true;
  return needs;
}

void LockAnalysis::begin_recording(const RecordingContext& context) {
  TaskAnalysis::begin_recording(context);
  locks_ = std::make_unique<LockModel>(*this, with_holders_);
  timeline_ = StateTimeline();
  release_kinds_.clear();
  callers_.clear();
  mm_users_.clear();
  lock_names_.clear();
  cgroup_paths_.clear();
  lock_events_ = 0;
}

// Which events are shown, and by what where nobody said it: a file without call chains has no callers.
void LockAnalysis::set_present(const EventKinds& present) {
  TaskAnalysis::set_present(present);
  present_ = present;
  has_chains_ = records_chains(recording().context.metadata);
  if (lock_options_.by.empty()) {
    const bool by_lock = default_by_ == LockBy::caller && !has_chains_;
    by_.assign(1, by_lock ? LockBy::lock : default_by_);
  }
  const bool all = is_by(LockBy::lock) || is_by(LockBy::type);
  const bool contention = has(K::contention_begin);
  const bool lockdep = has(K::lock_acquire) || has(K::lock_contended);
  for (size_t i = 0; i < kLockTypes; ++i) {
    const auto type = static_cast<LockType>(i);
    const LockSource source = lock_source(type);
    const auto& wanted = lock_options_.types;
    if (!wanted.empty()) {
      shown_[i] = std::find(wanted.begin(), wanted.end(), type) != wanted.end();
    } else if (all) {
      shown_[i] = true;
    } else if (contention) {
      shown_[i] = source == LockSource::contention;
    } else {
      shown_[i] = source == LockSource::lockdep || !lockdep;
    }
  }
}

bool LockAnalysis::shows(LockType type) const { return shown_[static_cast<size_t>(type)]; }

void LockAnalysis::set_start(uint64_t start_ns) {
  TaskAnalysis::set_start(start_ns);
  locks_->set_start(start_ns);
}

// The thread that ran when the event was written; its name may be known from the event alone.
ThreadId LockAnalysis::context_of(const Event& event) {
  if (event.tid == 0) return idle_context(event.cpu);
  if (event.tid < 0) return recording().model.running_on(event.cpu);
  ThreadTable& table = recording().model.threads();
  const ThreadId id = table.get(event.tid);
  if (id.valid() && event.pid > 0 && table[id].pid <= 0) table[id].pid = event.pid;
  return id;
}

void LockAnalysis::take_event(const Event& event) {
  if (is_lock_event(event.kind)) {
    ++lock_events_;
    const ThreadId context = context_of(event);
    if (event.kind == K::mmap_lock_start_locking)
      mm_users_.try_emplace(event.lock.address, context);
    locks_->handle(event, context);
  } else if (event.kind == K::sched_waking) {
    locks_->handle(event, context_of(event), threads().find(event.wakeup.tid));
  } else if (event.kind == K::cpu_sample) {
    take_sample(event, context_of(event));
  }
}

void LockAnalysis::take_record(const Event& event) {
  if (event.kind == K::record_cgroup) cgroup_paths_[event.cgroup_path.id] = event.cgroup_path.path;
}

void LockAnalysis::on_interval(const Interval& interval) {
  timeline_.add(interval);
  TaskAnalysis::on_interval(interval);
}

bool LockAnalysis::keeps_context(ThreadId id) const {
  if (is_idle_context(id))
    return options().pids.empty() && options().tids.empty() && options().comms.empty();
  return id.valid() && keeps_thread(threads()[id]);
}

std::optional<TimeSpan> LockAnalysis::inside_window(LockType type, uint64_t start_ns,
                                                    uint64_t end_ns) const {
  const Window& window = const_cast<LockAnalysis*>(this)->recording().window;
  if (lock_source(type) != LockSource::lockdep) return window.clip(start_ns, end_ns);
  if (!window.contains(end_ns)) return std::nullopt;
  return TimeSpan{start_ns, end_ns};
}

void LockAnalysis::on_lock_wait(const LockWait& wait) {
  if (!shows(wait.type) || !keeps_cpu(wait.cpu) || !keeps_context(wait.thread) ||
      wait.length_ns() < options().min_latency_ns)
    return;
  if (const auto inside = inside_window(wait.type, wait.start_ns, wait.end_ns))
    take_wait(wait, *inside);
}

void LockAnalysis::on_lock_hold(const LockHold& hold) {
  if (!shows(hold.type) || !keeps_cpu(hold.cpu) || !keeps_context(hold.thread) ||
      hold.length_ns() < options().min_latency_ns)
    return;
  if (const auto inside = inside_window(hold.type, hold.start_ns, hold.end_ns))
    take_hold(hold, *inside);
}

std::vector<std::string_view> LockAnalysis::functions_of(StackId stack) {
  std::vector<std::string_view> functions;
  const auto chain = recording().context.pools.stacks.view(stack);
  for (size_t i = 0; i < chain.size(); ++i)
    functions.push_back(recording().symbols.kernel_function(chain[i], i != 0));
  return functions;
}

std::string_view LockAnalysis::release_kind(StackId waker_stack) {
  if (!waker_stack.valid()) return {};
  const auto [found, is_new] = release_kinds_.try_emplace(waker_stack);
  if (is_new) {
    const auto functions = functions_of(waker_stack);
    if (!causes().groups().interrupt_source(functions))
      found->second = causes().groups().release_kind(functions).value_or(std::string_view());
  }
  return found->second;
}

Result<void> LockAnalysis::check_events(const RecordingResult& result) const {
  for (const ReportEntry& entry : report_registry()) {
    if (entry.name != report_name() || can_answer(entry, result.present)) continue;
    return make_error("the recording has none of the events that '" + std::string(entry.name) +
                      "' is made from (" + std::to_string(result.info.samples) +
                      " samples of others): record with 'perf latency record -e " +
                      std::string(entry.record_sets) + "'");
  }
  return {};
}

Result<void> LockAnalysis::end_recording(const RecordingResult& result) {
  locks_->finish(result.info.end_ns.value_or(0));
  return TaskAnalysis::end_recording(result);
}

void LockAnalysis::fold(const RecordingResult& result, const Totals& totals) {
  Recording& now = recording();
  has_switches_ = now.model.switches() != 0;
  report_.recordings.push_back(result.info);
  if (has_switches_) {
    if (report_.totals)
      report_.totals->merge(totals);
    else
      report_.totals = totals;
  }
  report_.partial = report_.partial || result.interrupted;
  counts_.ends_without_begin += locks_->counts().ends_without_begin;
  counts_.waits_without_end += locks_->counts().waits_without_end;
  counts_.releases_without_acquire += locks_->counts().releases_without_acquire;
  counts_.overflows += locks_->counts().overflows;
  fold_rows();
  report_.add_frames(now.symbols.frames_named(), now.symbols.unknown_frames());
  Diagnostics& diagnostics = now.context.diagnostics;
  if (has_chains_ && now.symbols.kernel() == nullptr)
    diagnostics.add_detail(Diag::no_kernel_symbols, now.symbols.kernel_error());
  if (now.symbols.frames_unknown() != 0)
    diagnostics.add(Diag::unknown_frames, now.symbols.frames_unknown());
}

uint32_t LockAnalysis::part_of(uint64_t end_ns) {
  if (options().interval_ns == 0) return 0;
  return static_cast<uint32_t>((end_ns - std::min(end_ns, recording().start_ns)) /
                               options().interval_ns);
}

int32_t LockAnalysis::tid_of(ThreadId id) const {
  if (is_idle_context(id)) return 0;
  return id.valid() ? threads()[id].tid : -1;
}

StringId LockAnalysis::comm_of(ThreadId id) const {
  if (is_idle_context(id)) {
    StringPool& pool = const_cast<LockAnalysis*>(this)->recording().context.pools.strings;
    return pool.intern("swapper/" + std::to_string(id.value - kIdleContexts));
  }
  return id.valid() ? threads()[id].comm : StringPool::kEmpty;
}

std::string LockAnalysis::task_name(ThreadId id) const {
  return std::string(strings().view(comm_of(id)));
}

}  // namespace perf_latency
