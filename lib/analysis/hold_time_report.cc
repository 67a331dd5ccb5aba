// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/hold_time_report.h"

#include <algorithm>

namespace perf_latency {
namespace {

using K = EventKind;

LockOptions with_lock_rows(LockOptions options) {
  if (options.lock_stat) options.by = {LockBy::lock};
  return options;
}

}  // namespace

void HoldTimeReport::HoldStats::merge(const HoldStats& other) {
  hold.merge(other.hold);
  hold_min_ns = std::min(hold_min_ns, other.hold_min_ns);
  contended += other.contended;
  wait_total_ns += other.wait_total_ns;
  wait_min_ns = std::min(wait_min_ns, other.wait_min_ns);
  wait_max_ns = std::max(wait_max_ns, other.wait_max_ns);
  open += other.open;
}

HoldTimeReport::HoldTimeReport(const AnalysisOptions& options, const LockOptions& lock_options,
                               CauseTable& causes, std::string_view name)
    : LockAnalysis(options, with_lock_rows(lock_options), causes, LockBy::lock, false),
      name_(name) {
  interval_rows_ = false;
}

DecodeNeeds HoldTimeReport::needs() const {
  DecodeNeeds needs = LockAnalysis::needs();
  if (lock_options().long_ns) needs.want({K::softirq_raise, K::softirq_entry});
  return needs;
}

void HoldTimeReport::begin_recording(const RecordingContext& context) {
  LockAnalysis::begin_recording(context);
  index_.clear();
  keys_.clear();
  rows_.clear();
  long_holds_.clear();
  softirqs_.clear();
}

HoldTimeReport::HoldStats& HoldTimeReport::row(const RawLockKey& key) {
  const auto [found, is_new] = index_.emplace(key, static_cast<uint32_t>(rows_.size()));
  if (is_new) {
    keys_.push_back(key);
    rows_.emplace_back();
  }
  return rows_[found->second];
}

HoldTimeReport::Part* HoldTimeReport::part(uint64_t time_ns) {
  constexpr size_t kMaxParts = 1 << 20;
  if (options().interval_ns == 0) return nullptr;
  const size_t index = part_of(time_ns);
  if (index >= kMaxParts) return nullptr;
  if (index >= parts_.size()) parts_.resize(index + 1);
  return &parts_[index];
}

void HoldTimeReport::take_event(const Event& event) {
  LockAnalysis::take_event(event);
  if (event.kind == K::softirq_raise || event.kind == K::softirq_entry) on_softirq(event);
}

// A soft interrupt that was raised while a lock was held on its CPU, and ran after the release only.
void HoldTimeReport::on_softirq(const Event& event) {
  if (event.cpu >= (1u << 16)) return;
  if (event.cpu >= softirqs_.size()) softirqs_.resize(event.cpu + 1);
  Softirqs& cpu = softirqs_[event.cpu];
  if (event.irq.number >= cpu.raised.size()) return;
  uint64_t& raised = cpu.raised[event.irq.number];
  if (event.kind == K::softirq_raise) {
    if (raised == 0) raised = event.time_ns;
    return;
  }
  if (raised == 0) return;
  for (const size_t index : cpu.recent_long) {
    LongHold& held = long_holds_[index];
    const uint64_t from = std::max(raised, held.hold.start_ns);
    if (held.hold.end_ns > from)
      held.softirq_delay_ns = std::max(held.softirq_delay_ns, held.hold.end_ns - from);
  }
  raised = 0;
}

void HoldTimeReport::take_wait(const LockWait& wait, const TimeSpan& inside) {
  if (wait.failed || wait.open) return;
  const uint64_t length = inside.length_ns();
  HoldStats& stats = row(raw_key(wait));
  ++stats.contended;
  stats.wait_total_ns += length;
  stats.wait_min_ns = std::min(stats.wait_min_ns, length);
  stats.wait_max_ns = std::max(stats.wait_max_ns, length);
  if (Part* const now = part(wait.end_ns)) {
    ++now->contended;
    now->max_wait_ns = std::max(now->max_wait_ns, length);
  }
}

void HoldTimeReport::take_hold(const LockHold& hold, const TimeSpan& inside) {
  const RawLockKey key = raw_key(hold);
  HoldStats& stats = row(key);
  // By lock_stat's own idea of a hold where lockdep is the source, so that the two agree.
  const bool lockdep = lock_source(hold.type) == LockSource::lockdep;
  const uint64_t length = lockdep ? hold.end_ns - hold.stat_start_ns : inside.length_ns();
  if (hold.open) ++stats.open;
  // lock_stat counts a hold when it is over.
  if (hold.open && lockdep) return;
  stats.hold.add(length, hold.start_ns, tid_of(hold.thread), comm_of(hold.thread),
                 !hold.open && !hold.began_before);
  stats.hold_min_ns = std::min(stats.hold_min_ns, length);
  if (Part* const now = part(hold.end_ns)) {
    ++now->acquisitions;
    now->max_hold_ns = std::max(now->max_hold_ns, length);
  }
  if (hold.type == LockType::rstat)
    if (Part* const then = part(hold.start_ns)) ++(hold.yielded ? then->yields : then->flushes);
  if (!lock_options().long_ns || inside.length_ns() < *lock_options().long_ns) return;
  if (long_holds_.size() >= kMaxLongHolds) {
    ++long_holds_dropped_;
    return;
  }
  LongHold& held = long_holds_.emplace_back();
  held.key = key;
  held.key.stack = hold.stack;
  held.key.address = hold.address;
  held.key.name = hold.name;
  held.hold = hold;
  held.length_ns = inside.length_ns();
  if (hold.cpu >= (1u << 16)) return;
  if (hold.cpu >= softirqs_.size()) softirqs_.resize(hold.cpu + 1);
  std::vector<size_t>& recent = softirqs_[hold.cpu].recent_long;
  constexpr size_t kRecent = 8;
  if (recent.size() >= kRecent) recent.erase(recent.begin());
  recent.push_back(long_holds_.size() - 1);
}

void HoldTimeReport::fold_rows() {
  has_rstat_ = has_rstat_ || has(K::rstat_locked);
  for (size_t i = 0; i < rows_.size(); ++i)
    name_lock(keys_[i], rows_[i].hold.total_ns + rows_[i].wait_total_ns);
  for (size_t i = 0; i < rows_.size(); ++i) {
    NamedKey named = named_key(keys_[i]);
    const auto [found, is_new] =
        folded_index_.emplace(named.text, static_cast<uint32_t>(folded_.size()));
    if (is_new) folded_.emplace_back().keys = std::move(named.cells);
    FoldedRow& into = folded_[found->second];
    into.sums.merge(rows_[i]);
    into.types[std::string(lock_type_name(keys_[i].type))] += rows_[i].hold.total_ns;
    if (rows_[i].hold.count == 0) continue;
    if (lock_source(keys_[i].type) == LockSource::contention)
      into.contended_periods = contended_only_ = true;
    else
      into.exact = true;
  }
  fold_long_holds();
  if (lock_options().lock_stat) fold_lock_stat();
}

void HoldTimeReport::fold_long_holds() {
  const bool has_irqs = has(K::softirq_raise) && has(K::softirq_entry);
  for (const LongHold& held : long_holds_) {
    const ThreadId id = held.hold.thread;
    const bool thread = id.valid() && !is_idle_context(id);
    Row& row = long_rows_.emplace_back();
    row.cells.emplace_back(held.hold.start_ns);
    row.cells.emplace_back(held.length_ns);
    row.cells.emplace_back(uint64_t{held.hold.cpu});
    row.cells.emplace_back(task_name(id));
    const int32_t pid = thread ? threads()[id].pid : 0;
    row.cells.push_back(pid < 0 ? Cell() : Cell(static_cast<uint64_t>(pid)));
    row.cells.emplace_back(static_cast<uint64_t>(std::max(tid_of(id), 0)));
    row.cells.emplace_back(shown_lock_name(held.key));
    row.cells.emplace_back(std::string(lock_type_name(held.hold.type)));
    row.cells.push_back(held.hold.stack.valid() ? Cell(caller_of(held.hold.stack)) : Cell());
    row.cells.push_back(has_irqs ? Cell(held.softirq_delay_ns) : Cell());
    const auto& frames = recording().names.of(held.hold.stack).frames;
    if (!frames.empty()) row.stacks.push_back({1, held.length_ns, held.length_ns, frames});
  }
}

// The class of a lock is its name; what the events of stock kernels cannot tell is named.
void HoldTimeReport::fold_lock_stat() {
  const bool lockdep = has(K::lock_release) || has(K::lock_contended);
  for (size_t i = 0; i < rows_.size(); ++i) {
    const LockSource source = lock_source(keys_[i].type);
    if (lockdep && source != LockSource::lockdep) continue;
    const std::string name = shown_lock_name(keys_[i]);
    HoldStats sums = rows_[i];
    if (source == LockSource::contention) sums.hold = RowStats();
    sides_[{name, lock_is_read(keys_[i].type)}].merge(sums);
    if (!keys_[i].stack.valid() || sums.contended == 0) continue;
    LockPoint& point = points_[name][caller_of(keys_[i].stack)];
    point.count += sums.contended;
    point.symbol = caller_of(keys_[i].stack);
  }
  const auto unknown = [&](const char* column) {
    if (std::find(unknown_columns_.begin(), unknown_columns_.end(), column) ==
        unknown_columns_.end())
      unknown_columns_.emplace_back(column);
  };
  unknown("con-bounces");
  unknown("acq-bounces");
  if (lockdep) return;
  unknown("acquisitions");
  unknown("holdtime");
}

}  // namespace perf_latency
