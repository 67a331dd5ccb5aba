// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/contention_report.h"

#include <algorithm>

namespace perf_latency {
namespace {

std::string_view how_name(HolderHow how) {
  switch (how) {
    case HolderHow::exact:
      return "exact";
    case HolderHow::wakeup:
      return "wakeup";
    case HolderHow::handover:
      return "handover";
    case HolderHow::unknown:
      break;
  }
  return "unknown";
}

}  // namespace

void HolderSums::add(const StatePart& part) {
  const uint64_t length = part.end_ns - part.start_ns;
  ns[static_cast<size_t>(part.state)] += length;
  if (part.state == HolderState::sleeping) sleeping_in[part.stack] += length;
  if (part.state == HolderState::preempted) preempted_by[part.preempted_by] += length;
}

size_t ContentionReport::HolderKeyHash::operator()(const HolderKey& key) const noexcept {
  uint64_t hash = (uint64_t{key.row} << 32) | key.owner.value;
  hash *= 0x9e3779b97f4a7c15ull;
  hash ^= (uint64_t{key.release_stack.value} << 3) | (static_cast<uint64_t>(key.how) << 1) |
          uint64_t{key.one_of_several};
  hash *= 0xff51afd7ed558ccdull;
  return hash ^ (hash >> 31);
}

void ContentionReport::WaitStats::merge(const WaitStats& other) {
  stats.merge(other.stats);
  spin_ns += other.spin_ns;
  sleep_ns += other.sleep_ns;
  phases_known = phases_known && other.phases_known;
  failed += other.failed;
  failed_ns += other.failed_ns;
  for (size_t i = 0; i < kHolderStates; ++i) holder.ns[i] += other.holder.ns[i];
}

ContentionReport::ContentionReport(const AnalysisOptions& options, const LockOptions& lock_options,
                                   CauseTable& causes)
    : LockAnalysis(options, lock_options, causes, LockBy::caller,
                   lock_options.holder || std::find(lock_options.by.begin(), lock_options.by.end(),
                                                    LockBy::holder) != lock_options.by.end()) {}

void ContentionReport::begin_recording(const RecordingContext& context) {
  LockAnalysis::begin_recording(context);
  index_.clear();
  keys_.clear();
  rows_.clear();
  holders_.clear();
}

uint32_t ContentionReport::row_of(const RawLockKey& key) {
  const auto [found, is_new] = index_.emplace(key, static_cast<uint32_t>(rows_.size()));
  if (is_new) {
    keys_.push_back(key);
    rows_.emplace_back();
  }
  return found->second;
}

void ContentionReport::add_wait(WaitStats& row, const LockWait& wait, const TimeSpan& inside,
                                uint64_t length_ns) {
  if (wait.failed) {
    ++row.failed;
    row.failed_ns += length_ns;
    return;
  }
  if (wait.open) ++row.stats.open;
  row.stats.add(length_ns, wait.start_ns, tid_of(wait.thread), comm_of(wait.thread), !wait.open);
  if (lock_source(wait.type) != LockSource::contention) {
    row.phases_known = false;
    return;
  }
  // A clipped wait keeps the proportion of its phases; the parts add up to what is counted.
  const uint64_t whole = wait.length_ns();
  uint64_t spin = wait.spin_ns;
  if (whole != 0 && inside.length_ns() != whole)
    spin = static_cast<uint64_t>(static_cast<unsigned __int128>(spin) * length_ns / whole);
  spin = std::min(spin, length_ns);
  row.spin_ns += spin;
  row.sleep_ns += length_ns - spin;
}

// Parts of the wait outside the window are left out, as the wait itself is.
void ContentionReport::add_holders(uint32_t row, const LockWait& wait, const TimeSpan& inside) {
  for (const HolderSegment& segment : wait.holders) {
    const uint64_t start = std::max(segment.start_ns, inside.start_ns);
    const uint64_t end = std::min(segment.end_ns, inside.end_ns);
    if (end <= start) continue;
    how_ns_[static_cast<size_t>(segment.how)] += end - start;
    if (segment.released) released_ns_ += end - start;
    HolderRow& holder =
        holders_[{row, segment.owner, segment.how, segment.one_of_several, segment.release_stack}];
    ++holder.waits;
    holder.total_ns += end - start;
    if (!segment.owner.valid()) {
      const StatePart unknown{HolderState::unknown, start, end, {}, {}};
      holder.sums.add(unknown);
      rows_[row].holder.add(unknown);
      continue;
    }
    timeline().split(threads(), segment.owner, start, end, [&](const StatePart& part) {
      holder.sums.add(part);
      rows_[row].holder.add(part);
    });
  }
}

void ContentionReport::take_wait(const LockWait& wait, const TimeSpan& inside) {
  if (!is_by(LockBy::holder)) {
    RawLockKey key = raw_key(wait);
    key.part = part_of(wait.end_ns);
    const uint32_t row = row_of(key);
    add_wait(rows_[row], wait, inside, inside.length_ns());
    if (!wait.failed) add_holders(row, wait, inside);
    return;
  }
  // By holder: a wait counts once with each of its holders, with the time that each had the lock.
  std::map<ThreadId, std::vector<HolderSegment>> by_owner;
  for (const HolderSegment& segment : wait.holders) by_owner[segment.owner].push_back(segment);
  for (const auto& [owner, segments] : by_owner) {
    RawLockKey key = raw_key(wait, owner);
    key.part = part_of(wait.end_ns);
    const uint32_t row = row_of(key);
    LockWait part = wait;
    part.holders = segments;
    uint64_t length = 0;
    for (const HolderSegment& segment : segments)
      length += std::min(segment.end_ns, inside.end_ns) -
                std::min(std::min(segment.end_ns, inside.end_ns),
                         std::max(segment.start_ns, inside.start_ns));
    add_wait(rows_[row], part, inside, length);
    rows_[row].phases_known = false;
    if (!wait.failed) add_holders(row, part, inside);
  }
}

std::string ContentionReport::cause_of(StackId stack) {
  const CauseId cause = recording().names.of(stack).cause;
  return causes().cause(cause).sentence;
}

void ContentionReport::fold_holder(const HolderKey& key, const HolderRow& row) {
  FoldedRow& into = folded_[folded_of_[key.row]];
  std::string comm = key.owner.valid() ? task_name(key.owner) : std::string("[unknown]");
  std::string how(how_name(key.how));
  if (key.one_of_several) how += ", one of several";
  const std::string id = comm + '\x1f' + std::to_string(tid_of(key.owner)) + '\x1f' + how;
  NamedHolder& holder = into.holders[id];
  holder.comm = std::move(comm);
  holder.how = std::move(how);
  if (key.owner.valid() && !is_idle_context(key.owner)) {
    const Thread& thread = threads()[key.owner];
    holder.pid = thread.pid < 0 ? Cell() : Cell(static_cast<uint64_t>(thread.pid));
    holder.tid = Cell(static_cast<uint64_t>(thread.tid));
  }
  holder.waits += row.waits;
  holder.total_ns += row.total_ns;
  for (size_t i = 0; i < kHolderStates; ++i) holder.ns[i] += row.sums.ns[i];
  for (const auto& [stack, ns] : row.sums.sleeping_in) holder.causes[cause_of(stack)] += ns;
  for (const auto& [thread, ns] : row.sums.preempted_by)
    holder.preempted_by[thread.valid() ? task_name(thread) : "after its wakeup"] += ns;
  const auto& frames = recording().names.of(key.release_stack).frames;
  if (frames.empty()) return;
  StackShare& share = holder.stacks[frames];
  share.count += row.waits;
  share.total_ns += row.total_ns;
}

void ContentionReport::fold_rows() {
  for (size_t i = 0; i < rows_.size(); ++i) name_lock(keys_[i], rows_[i].stats.total_ns);
  folded_of_.clear();
  for (size_t i = 0; i < rows_.size(); ++i) {
    NamedKey named = named_key(keys_[i]);
    const auto [found, is_new] =
        folded_index_.emplace(named.text, static_cast<uint32_t>(folded_.size()));
    if (is_new) folded_.emplace_back().keys = std::move(named.cells);
    FoldedRow& into = folded_[found->second];
    folded_of_.push_back(found->second);
    into.sums.merge(rows_[i]);
    into.types[std::string(lock_type_name(keys_[i].type))] += rows_[i].stats.total_ns;
    if (keys_[i].address != 0) ++into.addresses[keys_[i].address];
    const auto& frames = recording().names.of(keys_[i].stack).frames;
    if (!options().stacks || frames.empty()) continue;
    StackShare& share = into.stacks[frames];
    share.count += rows_[i].stats.count;
    share.total_ns += rows_[i].stats.total_ns;
    share.max_ns = std::max(share.max_ns, rows_[i].stats.max_ns);
  }
  for (const auto& [key, row] : holders_) fold_holder(key, row);
  size_t sources = 0;
  sources += has(EventKind::contention_begin);
  sources += has(EventKind::lock_contended);
  sources += has(EventKind::mmap_lock_start_locking);
  sources += has(EventKind::rstat_locked);
  sources_overlap_ = sources_overlap_ || sources > 1;
}

}  // namespace perf_latency
