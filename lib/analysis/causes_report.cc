// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/causes_report.h"

#include <algorithm>

#include "base/time.h"

namespace perf_latency {
namespace {

using K = EventKind;

struct KeyName {
  ReportKey key;
  std::string_view name;
};
constexpr std::array<KeyName, 10> kKeyNames{{{ReportKey::cause, "cause"},
                                             {ReportKey::stack, "stack"},
                                             {ReportKey::syscall, "syscall"},
                                             {ReportKey::process, "process"},
                                             {ReportKey::thread, "thread"},
                                             {ReportKey::cpu, "cpu"},
                                             {ReportKey::cgroup, "cgroup"},
                                             {ReportKey::waker, "waker"},
                                             {ReportKey::state, "state"},
                                             {ReportKey::class_, "class"}}};

constexpr std::array<uint32_t, 3> kNoSums{UINT32_MAX, UINT32_MAX, UINT32_MAX};

Cell number_or_null(int64_t number) {
  return number < 0 ? Cell() : Cell(static_cast<uint64_t>(number));
}

std::string join(const std::vector<std::string>& frames, std::string_view between) {
  std::string text;
  for (const std::string& frame : frames) {
    if (!text.empty()) text += between;
    text += frame;
  }
  return text;
}

}  // namespace

std::optional<ReportKey> parse_report_key(std::string_view name) {
  for (const KeyName& known : kKeyNames)
    if (known.name == name) return known.key;
  return std::nullopt;
}

std::string report_key_names() {
  std::string names;
  for (const KeyName& known : kKeyNames) names.append(names.empty() ? "" : ", ").append(known.name);
  return names;
}

std::string state_letters(const RowStats& stats) {
  std::string letters;
  const auto append = [&](char letter) {
    if (!letters.empty()) letters += ',';
    letters += letter;
  };
  const auto has = [&](char letter) { return (stats.states >> (letter - '?')) & 1; };
  if (has('S')) append('S');
  if (has('D')) append('D');
  for (char letter = '?'; letter <= '^'; ++letter)
    if (letter != 'S' && letter != 'D' && has(letter)) append(letter);
  for (char letter = 'a'; letter <= 'z'; ++letter)
    if ((stats.small_states >> (letter - 'a')) & 1) append(letter);
  return letters;
}

size_t CausesReport::RawKeyHash::operator()(const RawKey& key) const noexcept {
  uint64_t hash = (uint64_t{key.user_stack.value} << 32) ^ key.stack.value;
  const auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull, hash ^= hash >> 29;
  };
  mix(key.thread.value);
  mix(key.waker.value);
  mix(key.waker_stack.value);
  mix((uint64_t{key.cpu} << 32) | key.part);
  mix(key.cgroup);
  mix((static_cast<uint64_t>(key.owner) << 16) | (uint64_t{key.what} << 8) | key.state);
  return hash;
}

CausesReport::CausesReport(const AnalysisOptions& options, CauseTable& causes)
    : TaskAnalysis(options, causes), states_(options.states) {
  for (const std::string& name : options.by)
    if (const auto key = parse_report_key(name)) by_.push_back(*key);
  if (by_.empty()) by_.push_back(ReportKey::cause);
  for (const ReportKey key : by_) by_mask_ |= 1u << static_cast<unsigned>(key);
  all_states_ = states_ == "all";
  dense_ = options.interval_ns == 0;
  if (options.callchain >= CallchainMode::user) dense_ = false;
  for (const ReportKey key : by_)
    dense_ = dense_ && (key == ReportKey::cause || key == ReportKey::stack ||
                        key == ReportKey::syscall || key == ReportKey::class_);
}

DecodeNeeds CausesReport::needs() const {
  DecodeNeeds needs = TaskAnalysis::needs();
  if (collects_latencytop()) needs.want({K::sched_stat_sleep, K::sched_stat_blocked});
  needs.waker_stacks = needs_key(ReportKey::waker);
  return needs;
}

void CausesReport::begin_recording(const RecordingContext& context) {
  TaskAnalysis::begin_recording(context);
  dense_index_.clear();
  dense_runnable_.fill(kNoSums);
  index_.clear();
  keys_.clear();
  sums_.clear();
  latencytop_.clear();
  cgroup_paths_.clear();
}

bool CausesReport::keeps_state(const Interval& interval) const {
  return all_states_ || states_.find(static_cast<char>(interval.state)) != std::string::npos;
}

RowStats& CausesReport::sums_of(const RawKey& key) {
  const auto [found, is_new] = index_.emplace(key, static_cast<uint32_t>(sums_.size()));
  if (is_new) new_sums(key);
  return sums_[found->second];
}

uint32_t CausesReport::new_sums(const RawKey& key) {
  keys_.push_back(key);
  sums_.emplace_back();
  return static_cast<uint32_t>(sums_.size() - 1);
}

RowStats& CausesReport::sums_of(const Interval& interval, TaskKind kind) {
  const bool sleep = interval.kind != IntervalKind::runnable;
  RawKey key;
  key.owner = kind;
  if (dense_ && kind != TaskKind::unknown && !(sleep && interval.began_before)) {
    OwnerIndex* slots = nullptr;
    if (!sleep) {
      key.what = interval.preempted ? kPreempted : kWoken;
      slots = &dense_runnable_[interval.preempted ? 1 : 0];
    } else if (interval.stack.valid()) {
      key.stack = interval.stack;
      const size_t index = interval.stack.value;
      if (index >= dense_index_.size()) dense_index_.resize(index + index / 2 + 64, kNoSums);
      slots = &dense_index_[index];
    }
    if (slots != nullptr) {
      uint32_t& slot = (*slots)[static_cast<size_t>(kind)];
      if (slot == UINT32_MAX) slot = new_sums(key);
      return sums_[slot];
    }
  }
  if (sleep) {
    key.what = interval.began_before ? kAsleepBefore : kSleep;
    key.stack = interval.stack;
    if (wants_user_chains()) key.user_stack = interval.user_stack;
  } else {
    key.what = interval.preempted ? kPreempted : kWoken;
  }
  if (needs_key(ReportKey::thread) || needs_key(ReportKey::process) || kind == TaskKind::unknown)
    key.thread = interval.thread;
  if (needs_key(ReportKey::cpu)) key.cpu = interval.cpu;
  if (needs_key(ReportKey::cgroup)) key.cgroup = interval.cgroup;
  if (needs_key(ReportKey::state)) key.state = interval.state;
  if (needs_key(ReportKey::waker) && sleep) {
    key.waker = interval.waker;
    key.waker_stack = interval.waker_stack;
    key.open = interval.open;
  }
  if (options().interval_ns != 0)
    key.part =
        static_cast<uint32_t>((interval.end_ns - recording().start_ns) / options().interval_ns);
  return sums_of(key);
}

// latencytop counts a sleep in the window in which its wakeup falls, in full.
void CausesReport::on_interval(const Interval& interval) {
  const bool exact = recording().present[static_cast<size_t>(K::sched_stat_sleep)] ||
                     recording().present[static_cast<size_t>(K::sched_stat_blocked)];
  if (collects_latencytop() && !exact && interval.kind == IntervalKind::sleeping && !interval.open)
    take_for_latencytop(interval);
  TaskAnalysis::on_interval(interval);
}

void CausesReport::on_delay(const SleepDelay& delay) {
  if (!collects_latencytop()) return;
  Interval interval;
  interval.kind = IntervalKind::sleeping;
  interval.state = delay.interruptible ? 'S' : 'D';
  interval.thread = delay.thread;
  interval.stack = delay.stack;
  interval.start_ns = delay.time_ns - std::min(delay.time_ns, delay.delay_ns);
  interval.end_ns = delay.time_ns;
  take_for_latencytop(interval);
}

void CausesReport::take_for_latencytop(const Interval& interval) {
  const Thread& thread = threads()[interval.thread];
  const bool uninterruptible = interval.state == 'D' || interval.state == 'I';
  if (!uninterruptible && interval.state != 'S') return;
  if (!recording().window.contains(interval.end_ns) || !keeps_thread(thread)) return;
  const uint64_t length_ns = interval.length_ns();
  const bool kept = latencytop_.add(interval.thread, interval.stack, !uninterruptible, length_ns);
  if (!kept || !options().latencytop) return;
  RowStats& sums = sums_of(interval, threads().kind(thread));
  sums.add_state(interval.state);
  sums.add(length_ns, interval.start_ns, thread.tid, thread.comm, true);
}

void CausesReport::take(const Interval& interval, const TimeSpan& inside, TaskKind kind) {
  if (options().latencytop) return;  // take_for_latencytop() has made the rows
  if (interval.kind == IntervalKind::running || interval.kind == IntervalKind::unknown) return;
  const bool sleep = interval.kind != IntervalKind::runnable;
  if (sleep && !keeps_state(interval)) return;
  if (interval.length_ns() < options().min_latency_ns) return;
  RowStats& sums = sums_of(interval, kind);
  if (interval.kind == IntervalKind::hidden) {
    sums.hidden_ns += inside.length_ns();
    return;
  }
  const Thread& thread = threads()[interval.thread];
  sums.add_state(interval.state);
  if (interval.open) ++sums.open;
  if (interval.uncertain) sums.uncertain_ns += inside.length_ns();
  sums.add(inside.length_ns(), interval.start_ns, thread.tid, thread.comm,
           !interval.open && !interval.began_before);
}

std::vector<std::string> CausesReport::waker_cells(const RawKey& key) {
  const StackPool& stacks = recording().context.pools.stacks;
  const auto chain = stacks.view(key.waker_stack);
  std::vector<std::string_view> functions;
  for (size_t i = 0; i < chain.size(); ++i)
    functions.push_back(recording().symbols.kernel_function(chain[i], i != 0));
  if (const auto source = causes().groups().interrupt_source(functions))
    return {"[" + std::string(*source) + "]"};
  if (!key.waker.valid()) return {key.open ? "[not woken yet]" : "[unknown]"};
  const Thread& thread = threads()[key.waker];
  return {std::string(strings().view(thread.comm)), std::to_string(thread.pid),
          std::to_string(thread.tid)};
}

void CausesReport::take_record(const Event& event) {
  if (event.kind == K::record_cgroup) cgroup_paths_[event.cgroup_path.id] = event.cgroup_path.path;
}

std::string CausesReport::cgroup_path(uint64_t cgroup) const {
  const auto path = cgroup_paths_.find(cgroup);
  if (path != cgroup_paths_.end()) return std::string(strings().view(path->second));
  return cgroup == 0 ? "[unknown]" : "[cgroup " + std::to_string(cgroup) + "]";
}

// The row's key cells in the order of columns(), and a text that is equal for equal rows.
void CausesReport::fold_key_cells(const RawKey& key, CauseId cause_id,
                                  const StackNames::Named& named, FoldedRow& row,
                                  std::string& text) {
  const Cause& cause = causes().cause(cause_id);
  const auto add = [&](Cell cell) {
    if (const auto* number = std::get_if<uint64_t>(&cell)) text += std::to_string(*number);
    if (const auto* string = std::get_if<std::string>(&cell)) text += *string;
    text += '\x1f';
    row.keys.push_back(std::move(cell));
  };
  for (const ReportKey by : by_) {
    switch (by) {
      case ReportKey::cause:
        add(cause.sentence);
        add(cause.id);
        add(cause.cause_class);
        break;
      case ReportKey::stack:
        add(row.runnable ? cause.sentence : join(named.frames, " <- "));
        break;
      case ReportKey::syscall:
        add(row.runnable            ? Cell(cause.sentence)
            : named.syscall.empty() ? Cell("[no system call]")
                                    : Cell(std::string(named.syscall)));
        break;
      case ReportKey::process: {
        const Thread& thread = threads()[key.thread];
        add(std::string(strings().view(thread.comm)));
        add(number_or_null(thread.pid));
        break;
      }
      case ReportKey::thread: {
        const Thread& thread = threads()[key.thread];
        add(std::string(strings().view(thread.comm)));
        add(number_or_null(thread.pid));
        add(number_or_null(thread.tid));
        break;
      }
      case ReportKey::cpu:
        add(uint64_t{key.cpu});
        break;
      case ReportKey::cgroup:
        add(cgroup_path(key.cgroup));
        break;
      case ReportKey::waker: {
        const auto cells =
            row.runnable ? std::vector<std::string>{cause.sentence} : waker_cells(key);
        add(cells[0]);
        add(cells.size() > 1 ? Cell(std::stoull(cells[1])) : Cell());
        add(cells.size() > 2 ? Cell(std::stoull(cells[2])) : Cell());
        break;
      }
      case ReportKey::state:
        add(std::string(1, static_cast<char>(key.state)));
        break;
      case ReportKey::class_:
        add(cause.cause_class);
        break;
    }
  }
}

// Kernel frames, then the user frames that called them.
std::vector<std::string> CausesReport::chain_of(const RawKey& key, const StackNames::Named& named) {
  std::vector<std::string> frames;
  if (options().callchain != CallchainMode::user) frames = named.frames;
  if (!key.user_stack.valid()) return frames;
  const std::vector<std::string>& user = recording().user_stacks.frames(key.user_stack);
  frames.insert(frames.end(), user.begin(), user.end());
  return frames;
}

void CausesReport::fold_sums(const RawKey& key, const RowStats& stats) {
  if (key.owner == TaskKind::unknown && threads()[key.thread].hidden()) return;
  const bool kernel =
      key.owner == TaskKind::unknown ? is_kernel_thread(key.thread) : key.owner == TaskKind::kernel;
  if (kernel && !options().kernel_threads) return;
  if (options().latencytop && !LatencytopTables::had_mm(key.stack, recording().names)) return;
  static const StackNames::Named kNoNames{};
  FoldedRow row;
  row.runnable = key.what == kWoken || key.what == kPreempted;
  const StackNames::Named& named =
      row.runnable || key.what == kAsleepBefore ? kNoNames : recording().names.of(key.stack);
  const CauseId cause = row.runnable                ? CauseTable::kCpuWait
                        : key.what == kAsleepBefore ? CauseTable::kAsleepBefore
                                                    : named.cause;
  row.part = key.part;
  row.cause_class = causes().cause(cause).cause_class;
  row.idle = causes().is_idle(cause);
  std::string text(1, row.runnable ? 'R' : row.idle ? 'I' : 'S');
  text += std::to_string(key.part) + '\x1f';
  fold_key_cells(key, cause, named, row, text);
  const auto [found, is_new] = folded_index_.emplace(text, static_cast<uint32_t>(folded_.size()));
  if (is_new) folded_.push_back(std::move(row));
  FoldedRow& into = folded_[found->second];
  const int32_t old_tid = into.stats.max_tid;
  const uint64_t old_max = into.stats.max_ns;
  into.stats.merge(stats);
  if (into.stats.max_tid != old_tid || into.stats.max_ns != old_max)
    into.max_comm = strings().view(into.stats.max_comm);
  if (key.what == kWoken) {
    into.after_wakeup_ns += stats.total_ns;
    into.after_wakeup += stats.count;
  } else if (key.what == kPreempted) {
    into.preempted_ns += stats.total_ns;
    into.preempted += stats.count;
  }
  if (!options().stacks) return;
  std::vector<std::string> frames = chain_of(key, named);
  if (frames.empty()) return;
  StackShare& share = into.stacks[std::move(frames)];
  share.count += stats.count;
  share.total_ns += stats.total_ns;
  share.max_ns = std::max(share.max_ns, stats.max_ns);
}

Result<void> CausesReport::end_recording(const RecordingResult& result) {
  if (needs_key(ReportKey::cgroup)) {
    const auto& events = recording().context.metadata.events;
    if (std::none_of(events.begin(), events.end(), [](const EventDescription& event) {
          return (event.attr.sample_type & kSampleCgroup) != 0;
        }))
      return make_error("--by cgroup: the recording has no cgroups ('perf latency record' has)");
  }
  return TaskAnalysis::end_recording(result);
}

void CausesReport::fold(const RecordingResult& result, const Totals& totals) {
  for (size_t i = 0; i < sums_.size(); ++i) fold_sums(keys_[i], sums_[i]);
  Recording& now = recording();
  report_.recordings.push_back(result.info);
  if (report_.totals)
    report_.totals->merge(totals);
  else
    report_.totals = totals;
  report_.partial = report_.partial || result.interrupted;
  report_.add_frames(now.symbols.frames_named(), now.symbols.unknown_frames());
  report_.add_frames(now.user_stacks.frames_named(), now.user_stacks.unknown_frames());
  Diagnostics& diagnostics = now.context.diagnostics;
  if (now.symbols.kernel() == nullptr)
    diagnostics.add_detail(Diag::no_kernel_symbols, now.symbols.kernel_error());
  if (now.symbols.frames_unknown() != 0)
    diagnostics.add(Diag::unknown_frames, now.symbols.frames_unknown());
  if (options().latency_stats)
    report_.latency_stats = latencytop_.make(now.names, threads(), now.context.pools.strings,
                                             options().per_task, diagnostics);
  if (options().vs_latencytop) add_vs_latencytop(latencytop_.hidden(now.names));
}

void CausesReport::add_vs_latencytop(const LatencytopTables::Hidden& hidden) {
  const auto line = [&](const char* what, uint64_t count, uint64_t ns) {
    report_.footer_notes.push_back("  " + format_duration(ns) + " in " + std::to_string(count) +
                                   " sleeps: " + what);
  };
  report_.footer_notes.push_back("latencytop would have shown " + format_duration(hidden.kept_ns) +
                                 " in " + std::to_string(hidden.kept) + " sleeps, as " +
                                 std::to_string(hidden.kept_units) +
                                 " units of 1024 ns; its rules hide");
  line("interruptible and longer than 5.12 ms", hidden.over_5ms, hidden.over_5ms_ns);
  line("of kernel threads and of tasks that exit", hidden.no_mm, hidden.no_mm_ns);
  line("of causes behind the 128th", hidden.table_full, hidden.table_full_ns);
  line("shorter than 1.024 us", hidden.too_short, hidden.too_short_ns);
}

}  // namespace perf_latency
