// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/spin_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/row_order.h"
#include "base/time.h"

namespace perf_latency {
namespace {

double share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

uint64_t off_cpu(const std::array<uint64_t, kHolderStates>& by_state) {
  return by_state[static_cast<size_t>(HolderState::preempted)] +
         by_state[static_cast<size_t>(HolderState::sleeping)];
}

}  // namespace

SpinReport::SpinReport(const AnalysisOptions& options, const LockOptions& lock_options,
                       CauseTable& causes)
    : LockAnalysis(options, lock_options, causes, LockBy::function, true) {
  interval_rows_ = false;
}

DecodeNeeds SpinReport::needs() const {
  DecodeNeeds needs = LockAnalysis::needs();
  needs.want({EventKind::cpu_sample});
  return needs;
}

void SpinReport::begin_recording(const RecordingContext& context) {
  LockAnalysis::begin_recording(context);
  functions_.clear();
  rows_.clear();
  held_.clear();
}

const SpinReport::SpinFunction& SpinReport::spin_function_of(StackId stack) {
  const auto [found, is_new] = functions_.try_emplace(stack);
  if (!is_new) return found->second;
  for (const std::string_view function : functions_of(stack)) {
    const auto what = causes().groups().spin_function(function);
    if (!what) continue;
    found->second = {recording().context.pools.strings.intern(function), *what};
    break;
  }
  return found->second;
}

void SpinReport::take_sample(const Event& event, ThreadId context) {
  const auto& events = recording().context.metadata.events;
  const size_t index = event.sample.event;
  clock_ = clock_ && index < events.size() && events[index].attr.type == kTypeSoftware;
  if (!keeps_cpu(event.cpu) || !keeps_context(context) ||
      !recording().window.contains(event.time_ns))
    return;
  ++samples_;
  if (!event.stack.valid()) return;
  const SpinFunction& spin = spin_function_of(event.stack);
  if (spin.name == StringPool::kEmpty) return;
  ++spinning_;
  const LockModel::OpenWait* const open = locks().add_sample(context, event.time_ns);
  LockWait wait = open != nullptr ? open->wait : LockWait{};
  wait.thread = context;
  wait.cpu = event.cpu;
  wait.stack = event.stack;
  wait.cgroup = event.cgroup;
  RawLockKey key = raw_key(wait);
  key.stack = event.stack;
  key.function = spin.name;
  Sums& sums = rows_[key];
  ++sums.samples;
  sums.burnt_ns += event.sample.period;
}

void SpinReport::take_wait(const LockWait& wait, const TimeSpan&) {
  if (wait.samples.empty()) return;
  HeldKey key;
  key.lock.type = wait.type;
  key.lock.address = wait.address;
  key.lock.name = wait.name;
  key.lock.stack = wait.stack;
  if (wait.has_outer) {
    key.lock.outer = static_cast<uint8_t>(wait.outer.source) + 1;
    key.lock.outer_address = wait.outer.address;
    if (wait.outer.source == LockSource::lockdep) key.lock.name = wait.outer_name;
  }
  for (const uint64_t time_ns : wait.samples) {
    const auto segment = std::find_if(
        wait.holders.begin(), wait.holders.end(),
        [&](const HolderSegment& one) { return one.start_ns <= time_ns && time_ns < one.end_ns; });
    key.holder = segment == wait.holders.end() ? ThreadId{} : segment->owner;
    Held& held = held_[key];
    ++held.samples;
    HolderState state = HolderState::unknown;
    if (key.holder.valid()) {
      timeline().split(threads(), key.holder, segment->start_ns, segment->end_ns,
                       [&](const StatePart& part) {
                         if (part.start_ns > time_ns || time_ns >= part.end_ns) return;
                         state = part.state;
                         if (state != HolderState::preempted) return;
                         held.longest_off_cpu_ns =
                             std::max(held.longest_off_cpu_ns, part.end_ns - part.start_ns);
                         ++held.preempted_by[part.preempted_by];
                       });
    }
    ++held.by_state[static_cast<size_t>(state)];
  }
}

void SpinReport::fold_rows() {
  for (const auto& [key, sums] : rows_) name_lock(key, sums.burnt_ns);
  for (const auto& [key, sums] : rows_) {
    NamedKey named = named_key(key);
    const auto [found, is_new] =
        folded_index_.emplace(named.text, static_cast<uint32_t>(folded_.size()));
    if (is_new) folded_.emplace_back().keys = std::move(named.cells);
    FoldedRow& into = folded_[found->second];
    into.what = spin_function_of(key.stack).what;
    into.sums.merge(sums);
    if (!options().stacks) continue;
    StackShare& stack = into.stacks[recording().names.of(key.stack).frames];
    stack.count += sums.samples;
    stack.total_ns += sums.burnt_ns;
  }
  for (const auto& [key, held] : held_) {
    const std::string lock = shown_lock_name(key.lock);
    const std::string holder = key.holder.valid() ? task_name(key.holder) : "[unknown]";
    NamedHeld& into =
        named_held_[lock + '\x1f' + holder + '\x1f' + std::to_string(tid_of(key.holder))];
    into.lock = lock;
    into.holder = holder;
    if (key.holder.valid()) into.tid = Cell(static_cast<uint64_t>(tid_of(key.holder)));
    into.samples += held.samples;
    for (size_t i = 0; i < kHolderStates; ++i) into.by_state[i] += held.by_state[i];
    into.longest_off_cpu_ns = std::max(into.longest_off_cpu_ns, held.longest_off_cpu_ns);
    for (const auto& [thread, count] : held.preempted_by)
      if (thread.valid()) into.preempted_by[task_name(thread)] += count;
  }
}

std::vector<Column> SpinReport::columns() const {
  std::vector<Column> columns = key_columns();
  columns.push_back({"what", "What", CellKind::text, is_by(LockBy::function)});
  columns.push_back({"samples", "Samples", CellKind::count});
  columns.push_back({"percent", "%", CellKind::percent});
  columns.push_back({"total_ns", "CPU time", CellKind::duration_ns});
  return columns;
}

Result<void> SpinReport::check_columns() const {
  Table table;
  table.columns = columns();
  return check_column_names(table, options());
}

Table SpinReport::make_table() {
  Table table;
  table.columns = columns();
  table.with_stacks = options().stacks;
  for (const FoldedRow& folded : folded_) {
    Row& row = table.rows.emplace_back();
    row.cells = folded.keys;
    row.cells.push_back(is_by(LockBy::function) ? Cell(folded.what) : Cell());
    row.cells.emplace_back(folded.sums.samples);
    row.cells.emplace_back(share(folded.sums.samples, samples_));
    row.cells.push_back(clock_ ? Cell(folded.sums.burnt_ns) : Cell());
    for (const auto& [frames, stack] : folded.stacks) {
      row.stacks.push_back(stack);
      row.stacks.back().frames = frames;
    }
    std::stable_sort(row.stacks.begin(), row.stacks.end(),
                     [](const auto& a, const auto& b) { return a.count > b.count; });
  }
  order_rows(table, options().sort, SortDefault{.column = "samples"});
  limit_rows(table, options().limit);
  show_fields(table, options().fields);
  return table;
}

Table SpinReport::make_lock_table() const {
  Table table;
  table.key = "locks";
  table.title = "By lock and holder";
  table.columns = {{"lock", "Lock", CellKind::text, true, true},
                   {"holder.comm", "Holder", CellKind::text, true, true},
                   {"holder.tid", "Tid", CellKind::number, true, true},
                   {"samples", "Samples", CellKind::count},
                   {"percent", "%", CellKind::percent},
                   {"holder_running", "Running", CellKind::count},
                   {"holder_preempted", "Preempted", CellKind::count},
                   {"holder_sleeping", "Asleep", CellKind::count},
                   {"holder_unknown", "Unknown", CellKind::count},
                   {"longest_preempted_ns", "Longest preempted", CellKind::duration_ns}};
  for (const auto& [id, held] : named_held_) {
    Row& row = table.rows.emplace_back();
    row.cells = {held.lock, held.holder, held.tid, held.samples, share(held.samples, samples_)};
    for (const uint64_t count : held.by_state) row.cells.emplace_back(count);
    row.cells.push_back(held.longest_off_cpu_ns == 0 ? Cell() : Cell(held.longest_off_cpu_ns));
  }
  order_rows(table, {}, SortDefault{.column = "samples"});
  limit_rows(table, options().limit);
  return table;
}

// What somebody who runs an over-committed guest can act on.
void SpinReport::add_advice() {
  report_.footer_notes.push_back(
      fmt::format("{} of {} CPU samples ({:.2f} %) were spinning for a lock", spinning_, samples_,
                  share(spinning_, samples_)));
  const NamedHeld* worst = nullptr;
  uint64_t known = 0;
  uint64_t off = 0;
  uint64_t all = 0;
  for (const auto& [id, held] : named_held_) {
    all += held.samples;
    known += held.samples - held.by_state[static_cast<size_t>(HolderState::unknown)];
    off += off_cpu(held.by_state);
    if (worst == nullptr || off_cpu(held.by_state) > off_cpu(worst->by_state)) worst = &held;
  }
  if (all == 0) return;
  report_.footer_notes.push_back(
      fmt::format("in {} of them the lock is known from lock events, in {} of these what its "
                  "holder did: it was "
                  "not running in {}",
                  all, known, off));
  if (worst == nullptr || off_cpu(worst->by_state) == 0) return;
  std::string by;
  uint64_t most = 0;
  for (const auto& [name, count] : worst->preempted_by)
    if (count > most) most = count, by = " by " + name;
  report_.footer_notes.push_back(
      fmt::format("worst: {} of the samples wait for {} while {} has it and is off the CPU{}, for "
                  "up to {} at a "
                  "time: give that task more CPU time, or its lock fewer waiters",
                  off_cpu(worst->by_state), worst->lock, worst->holder, by,
                  format_duration(worst->longest_off_cpu_ns)));
}

Report SpinReport::make_report() {
  report_.schema = "perf-latency.spin.v1";
  report_.title = "CPU time burnt in lock slow paths";
  report_.facts.push_back({"cpu_samples", "", CellKind::count, Cell(samples_)});
  report_.facts.push_back({"spinning_samples", "", CellKind::count, Cell(spinning_)});
  report_.facts.push_back({"steal_ns", "", CellKind::duration_ns, Cell()});
  report_.tables.push_back(make_table());
  if (!named_held_.empty()) report_.tables.push_back(make_lock_table());
  add_advice();
  return std::move(report_);
}

}  // namespace perf_latency
