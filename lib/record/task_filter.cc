// SPDX-License-Identifier: GPL-2.0-only
#include "record/task_filter.h"

#include "base/byte_cursor.h"
#include "perfdata/abi.h"

namespace perf_latency {

namespace {

// include/linux/threads.h: PID_MAX_LIMIT on 64-bit.
constexpr uint32_t kMaxTid = 1u << 22;

// Sample layout of our attrs: header, identifier, ip, pid/tid, time, cpu, [period], callchain, raw, …,
// cgroup as the last word.
constexpr size_t kIdOffset = 8;
constexpr size_t kTidOffset = 28;
constexpr size_t kAfterCpu = 48;

struct PidFields {
  std::string_view event;
  std::string_view fields[2];
};
constexpr PidFields kPidFields[] = {
    {"sched:sched_switch", {"prev_pid", "next_pid"}},
    {"sched:sched_process_fork", {"parent_pid", "child_pid"}},
};

bool is(std::span<const std::byte> record, RecordType type) {
  return load_unchecked<uint32_t>(record.data()) == static_cast<uint32_t>(type);
}

}  // namespace

TaskFilter::TaskFilter(const std::vector<uint32_t>& tids, std::unordered_set<uint64_t> cgroups,
                       std::string cgroup_path)
    : chosen_(kMaxTid / 64), cgroups_(std::move(cgroups)), cgroup_path_(std::move(cgroup_path)) {
  for (const uint32_t tid : tids) add_task(tid);
}

void TaskFilter::set(uint32_t tid, bool chosen) {
  if (tid == 0 || tid >= kMaxTid) return;
  const uint64_t bit = uint64_t{1} << (tid % 64);
  if (!chosen) {
    chosen_[tid / 64] &= ~bit;
    return;
  }
  chosen_[tid / 64] |= bit;
  const std::lock_guard lock(so_far_mutex_);
  so_far_.insert(tid);
}

std::vector<uint32_t> TaskFilter::tasks_so_far() const {
  const std::lock_guard lock(so_far_mutex_);
  return {so_far_.begin(), so_far_.end()};
}

void TaskFilter::add_task(uint32_t tid) { set(tid, true); }

bool TaskFilter::has_task(uint32_t tid) const {
  return tid < kMaxTid && (chosen_[tid / 64] >> (tid % 64) & 1) != 0;
}

void TaskFilter::add_event(const std::string& name, std::string_view format,
                           const std::vector<uint64_t>& ids, bool has_period) {
  Rule rule;
  rule.has_period = has_period;
  rule.has_raw = !format.empty();
  std::vector<std::string_view> fields;
  for (const PidFields& row : kPidFields)
    if (row.event == name) fields.assign(std::begin(row.fields), std::end(row.fields));
  // Wakeups, migrations, exits, renames, sched_stat_*: the task that it is about.
  if (fields.empty() && (name.starts_with("sched:") || name.starts_with("task:"))) fields = {"pid"};
  for (const std::string_view field : fields)
    if (const auto where = format_field(format, field); where && where->size_bytes == 4)
      rule.pid_offsets.push_back(where->offset);
  if (name == "sched:sched_process_fork" && rule.pid_offsets.size() == 2) {
    rule.parent_offset = rule.pid_offsets[0];
    rule.child_offset = rule.pid_offsets[1];
  }
  for (const uint64_t id : ids) rule_of_id_[id] = static_cast<uint32_t>(rules_.size());
  rules_.push_back(std::move(rule));
}

const TaskFilter::Rule* TaskFilter::rule_of(std::span<const std::byte> sample) const {
  if (sample.size() < kAfterCpu) return nullptr;
  const auto found = rule_of_id_.find(load_unchecked<uint64_t>(sample.data() + kIdOffset));
  return found == rule_of_id_.end() ? nullptr : &rules_[found->second];
}

std::span<const std::byte> TaskFilter::raw_of(std::span<const std::byte> sample,
                                              const Rule& rule) const {
  if (!rule.has_raw) return {};
  ByteCursor cursor(sample.subspan(kAfterCpu));
  if (rule.has_period) cursor.skip(8);
  const uint64_t frames = cursor.u64();
  if (frames > cursor.left() / 8) return {};
  cursor.skip(frames * 8);
  return cursor.bytes(cursor.u32());
}

// A task that entered the cgroup otherwise than by fork is learned at its next sample.
void TaskFilter::learn_cgroup_of_current(std::span<const std::byte> sample) {
  const uint64_t cgroup = load_unchecked<uint64_t>(sample.data() + sample.size() - 8);
  set(load_unchecked<uint32_t>(sample.data() + kTidOffset), cgroups_.contains(cgroup));
}

void TaskFilter::learn(std::span<const std::byte> record) {
  if (is(record, RecordType::cgroup) && !cgroup_path_.empty()) {
    ByteCursor cursor(record.subspan(kRecordHeaderBytes));
    const uint64_t id = cursor.u64();
    const std::string_view path = cursor.text(cursor.left());
    if (cgroup_path_ == "/" || path == cgroup_path_ || path.starts_with(cgroup_path_ + "/"))
      cgroups_.insert(id);
    return;
  }
  if (!is(record, RecordType::sample)) return;
  const Rule* rule = rule_of(record);
  if (rule == nullptr) return;
  if (!cgroup_path_.empty()) learn_cgroup_of_current(record);
  if (!rule->child_offset) return;
  const std::span<const std::byte> raw = raw_of(record, *rule);
  if (raw.size() < *rule->child_offset + 4u || raw.size() < rule->parent_offset + 4u) return;
  if (has_task(load_unchecked<uint32_t>(raw.data() + rule->parent_offset)))
    add_task(load_unchecked<uint32_t>(raw.data() + *rule->child_offset));
}

bool TaskFilter::keep(std::span<const std::byte> record) {
  if (!is(record, RecordType::sample)) return true;
  const Rule* rule = rule_of(record);
  if (rule == nullptr) return true;
  if (rule->pid_offsets.empty())
    return has_task(load_unchecked<uint32_t>(record.data() + kTidOffset));
  const std::span<const std::byte> raw = raw_of(record, *rule);
  bool chosen = false;
  for (const uint32_t offset : rule->pid_offsets)
    if (raw.size() >= offset + 4u)
      chosen |= has_task(load_unchecked<uint32_t>(raw.data() + offset));
  // A tid that a task outside gets anew is no longer chosen.
  if (rule->child_offset && raw.size() >= *rule->child_offset + 4u &&
      raw.size() >= rule->parent_offset + 4u &&
      !has_task(load_unchecked<uint32_t>(raw.data() + rule->parent_offset)))
    set(load_unchecked<uint32_t>(raw.data() + *rule->child_offset), false);
  return chosen;
}

}  // namespace perf_latency
