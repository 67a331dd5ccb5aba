// SPDX-License-Identifier: GPL-2.0-only
#include "tracepoint/decode_plan.h"

#include <algorithm>
#include <bit>

namespace perf_latency {
namespace {

struct FieldName {
  const char* name = nullptr;
  bool required = false;
};

// A row for each tracepoint: where it is, what it becomes, which fields its decoder takes. The decoder
// (decoder.cc) finds the fields in this order.
struct TracepointRow {
  const char* system;
  const char* name;
  EventKind kind;
  std::array<FieldName, EventPlan::kMaxFields> fields;
};

constexpr FieldName must(const char* name) { return {name, true}; }
constexpr FieldName may(const char* name) { return {name, false}; }

using K = EventKind;
constexpr TracepointRow kTracepoints[] = {
    {"sched",
     "sched_switch",
     K::sched_switch,
     {must("prev_pid"), must("next_pid"), must("prev_state"), may("prev_comm"), may("next_comm"),
      may("prev_prio"), may("next_prio")}},
    {"sched",
     "sched_waking",
     K::sched_waking,
     {must("pid"), may("comm"), may("target_cpu"), may("prio"), may("success")}},
    {"sched",
     "sched_wakeup",
     K::sched_wakeup,
     {must("pid"), may("comm"), may("target_cpu"), may("prio"), may("success")}},
    {"sched",
     "sched_wakeup_new",
     K::sched_wakeup_new,
     {must("pid"), may("comm"), may("target_cpu"), may("prio"), may("success")}},
    {"sched",
     "sched_migrate_task",
     K::sched_migrate_task,
     {must("pid"), may("comm"), may("dest_cpu"), may("prio")}},
    {"sched",
     "sched_process_fork",
     K::sched_process_fork,
     {must("parent_pid"), must("child_pid"), may("child_comm")}},
    {"sched", "sched_process_exec", K::sched_process_exec, {must("pid"), may("old_pid")}},
    {"sched", "sched_process_exit", K::sched_process_exit, {must("pid"), may("comm")}},
    {"sched", "sched_stat_sleep", K::sched_stat_sleep, {must("pid"), must("delay"), may("comm")}},
    {"sched",
     "sched_stat_blocked",
     K::sched_stat_blocked,
     {must("pid"), must("delay"), may("comm")}},
    {"task", "task_rename", K::task_rename, {must("pid"), must("newcomm")}},
    {"lock", "contention_begin", K::contention_begin, {must("lock_addr"), must("flags")}},
    {"lock", "contention_end", K::contention_end, {must("lock_addr"), may("ret")}},
    {"lock", "lock_acquire", K::lock_acquire, {must("lockdep_addr"), may("flags"), may("name")}},
    {"lock", "lock_contended", K::lock_contended, {must("lockdep_addr"), may("name")}},
    {"lock", "lock_acquired", K::lock_acquired, {must("lockdep_addr"), may("name")}},
    {"lock", "lock_release", K::lock_release, {must("lockdep_addr"), may("name")}},
    {"mmap_lock",
     "mmap_lock_start_locking",
     K::mmap_lock_start_locking,
     {must("mm"), must("write")}},
    {"mmap_lock",
     "mmap_lock_acquire_returned",
     K::mmap_lock_acquire_returned,
     {must("mm"), must("write"), must("success")}},
    {"mmap_lock", "mmap_lock_released", K::mmap_lock_released, {must("mm"), must("write")}},
    {"cgroup",
     "cgroup_rstat_lock_contended",
     K::rstat_lock_contended,
     {must("id"), must("cpu"), must("contended"), may("root"), may("level")}},
    {"cgroup",
     "cgroup_rstat_locked",
     K::rstat_locked,
     {must("id"), must("cpu"), must("contended"), may("root"), may("level")}},
    {"cgroup",
     "cgroup_rstat_unlock",
     K::rstat_unlock,
     {must("id"), must("cpu"), must("contended"), may("root"), may("level")}},
    {"cgroup",
     "cgroup_rstat_cpu_lock_contended",
     K::rstat_cpu_lock_contended,
     {must("id"), must("cpu"), must("contended"), may("root"), may("level")}},
    {"cgroup",
     "cgroup_rstat_cpu_locked",
     K::rstat_cpu_locked,
     {must("id"), must("cpu"), must("contended"), may("root"), may("level")}},
    {"cgroup",
     "cgroup_rstat_cpu_unlock",
     K::rstat_cpu_unlock,
     {must("id"), must("cpu"), must("contended"), may("root"), may("level")}},
    {"cgroup",
     "cgroup_rstat_cpu_lock_contended_fastpath",
     K::rstat_cpu_lock_contended_fastpath,
     {must("id"), must("cpu"), must("contended"), may("root"), may("level")}},
    {"cgroup",
     "cgroup_rstat_cpu_locked_fastpath",
     K::rstat_cpu_locked_fastpath,
     {must("id"), must("cpu"), must("contended"), may("root"), may("level")}},
    {"cgroup",
     "cgroup_rstat_cpu_unlock_fastpath",
     K::rstat_cpu_unlock_fastpath,
     {must("id"), must("cpu"), must("contended"), may("root"), may("level")}},
    {"workqueue",
     "workqueue_queue_work",
     K::workqueue_queue_work,
     {must("work"), must("function"), may("cpu"), may("workqueue")}},
    {"workqueue",
     "workqueue_activate_work",
     K::workqueue_activate_work,
     {must("work"), may("function")}},
    {"workqueue",
     "workqueue_execute_start",
     K::workqueue_execute_start,
     {must("work"), must("function")}},
    {"workqueue",
     "workqueue_execute_end",
     K::workqueue_execute_end,
     {must("work"), may("function")}},
    {"timer", "timer_start", K::timer_start, {must("timer"), must("function"), must("expires")}},
    {"timer", "timer_cancel", K::timer_cancel, {must("timer")}},
    {"timer", "timer_expire_entry", K::timer_expire_entry, {must("timer"), may("function")}},
    {"timer", "tick_stop", K::tick_stop, {must("success"), may("dependency")}},
    {"irq", "irq_handler_entry", K::irq_handler_entry, {must("irq"), may("name")}},
    {"irq", "irq_handler_exit", K::irq_handler_exit, {must("irq")}},
    {"irq", "softirq_raise", K::softirq_raise, {must("vec")}},
    {"irq", "softirq_entry", K::softirq_entry, {must("vec")}},
    {"irq", "softirq_exit", K::softirq_exit, {must("vec")}},
};

const TracepointRow* find_row(std::string_view system, std::string_view name) {
  for (const TracepointRow& row : kTracepoints)
    if (name == row.name && system == row.system) return &row;
  return nullptr;
}

void plan_tracepoint(const TracepointRow& row, const EventFormat& format, EventPlan& plan,
                     Diagnostics& diagnostics) {
  const FieldRef common_pid = format.find("common_pid");
  size_t end = common_pid.present() ? common_pid.end() : 0;
  std::array<FieldRef, EventPlan::kMaxFields> fields;
  for (size_t i = 0; i < row.fields.size() && row.fields[i].name != nullptr; ++i) {
    fields[i] = format.find(row.fields[i].name);
    if (fields[i].present()) end = std::max(end, fields[i].end());
    if (fields[i].present() || !row.fields[i].required) continue;
    diagnostics.add_detail(Diag::missing_field, format.system + ":" + format.name + " has no '" +
                                                    row.fields[i].name + "'");
    return;
  }
  plan.kind = row.kind;
  plan.common_pid = common_pid;
  plan.fields = fields;
  plan.min_raw_bytes = static_cast<uint16_t>(end);
}

// Any sample of a running clock that is no tracepoint and no software event without a meaning here.
bool is_cpu_sample(const EventAttr& attr) {
  constexpr uint64_t kSoftwareCpuClock = 0;
  constexpr uint64_t kSoftwareTaskClock = 1;
  if (attr.type == kTypeTracepoint) return false;
  if (attr.type == kTypeSoftware)
    return attr.config == kSoftwareCpuClock || attr.config == kSoftwareTaskClock;
  return attr.sample_period != 0;
}

// False when the format lacks what the decoder needs: the samples are not used then.
bool plan_switch(const EventFormat& format, TaskStateTable& states, Diagnostics& diagnostics) {
  auto parsed = TaskStateTable::parse(format.print_format);
  if (parsed)
    states = *parsed;
  else
    diagnostics.add_detail(Diag::missing_field, parsed.error().what);
  return parsed.has_value();
}

}  // namespace

std::shared_ptr<const DecodePlan> DecodePlan::make(const Metadata& metadata, FormatCache* formats,
                                                   const DecodeNeeds& needs,
                                                   Diagnostics& diagnostics) {
  auto plan = std::make_shared<DecodePlan>();
  plan->swapped = metadata.swapped;
  const bool host_is_big = std::endian::native == std::endian::big;
  plan->raw_swapped = formats != nullptr ? formats->big_endian() != host_is_big : metadata.swapped;
  plan->needs = needs;
  plan->index = EventIndex(metadata);
  plan->guest_ids = metadata.guest_ids;
  for (const EventDescription& event : metadata.events) {
    EventPlan one;
    one.layout = SampleLayout(event.attr);
    std::string name = event.name;
    if (event.attr.type == kTypeTracepoint) {
      const EventFormat* format = formats != nullptr ? formats->find(event.attr.config) : nullptr;
      one.lacks_format = format == nullptr;
      if (format != nullptr) {
        if (name.empty()) name = format->system + ":" + format->name;
        if (const auto* row = find_row(format->system, format->name))
          plan_tracepoint(*row, *format, one, diagnostics);
        if (one.kind == EventKind::sched_switch && !plan_switch(*format, plan->states, diagnostics))
          one.kind = EventKind::none;
      }
    } else if (is_cpu_sample(event.attr)) {
      one.kind = EventKind::cpu_sample;
    }
    if (event.attr.has(AttrFlag::context_switch))
      plan->present.set(static_cast<size_t>(EventKind::record_switch));
    if ((event.attr.sample_type & ~kSampleKnownMask) != 0)
      diagnostics.add(Diag::unknown_sample_bits);
    plan->present.set(static_cast<size_t>(one.kind));
    plan->events.push_back(std::move(one));
    plan->names.push_back(std::move(name));
  }
  return plan;
}

}  // namespace perf_latency
