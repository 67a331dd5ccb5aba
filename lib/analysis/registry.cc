// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/registry.h"

#include <algorithm>

namespace perf_latency {
namespace {

using K = EventKind;

const std::vector<ReportEntry>& entries() {
  static const std::vector<ReportEntry> kEntries{
      {"report", "why tasks slept", {{K::sched_switch}, {K::record_switch}}, "sched"},
      {"contention",
       "which kernel locks were waited for",
       {{K::contention_begin, K::contention_end},
        {K::lock_contended, K::lock_acquired},
        {K::mmap_lock_start_locking, K::mmap_lock_acquire_returned},
        {K::rstat_lock_contended, K::rstat_locked}},
       "sched,lock"},
      {"hold-time",
       "how long locks were held",
       {{K::contention_begin, K::contention_end, K::sched_waking},
        {K::lock_acquire, K::lock_release},
        {K::mmap_lock_acquire_returned, K::mmap_lock_released},
        {K::rstat_locked, K::rstat_unlock}},
       "sched,lock"},
      {"spin", "CPU time burnt in lock slow paths", {{K::cpu_sample}}, "sched,lock,spin"},
      {"vmstat-sync",
       "which CPUs were disturbed by vmstat work",
       {{K::workqueue_queue_work, K::workqueue_execute_start, K::workqueue_execute_end}},
       "vmstat"},
  };
  return kEntries;
}

}  // namespace

std::span<const ReportEntry> report_registry() { return entries(); }

bool can_answer(const ReportEntry& entry, const EventKinds& present) {
  return std::any_of(entry.event_sets.begin(), entry.event_sets.end(), [&](const auto& set) {
    return std::all_of(set.begin(), set.end(),
                       [&](EventKind kind) { return present[static_cast<size_t>(kind)]; });
  });
}

}  // namespace perf_latency
