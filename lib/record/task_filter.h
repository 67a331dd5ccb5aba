// SPDX-License-Identifier: GPL-2.0-only
// Keeps the samples that concern chosen tasks (-p, -t, -G, --only-command) and drops the rest.
//
// The events are recorded on all CPUs, because a sleeper is woken elsewhere; which of them concern a
// chosen task is told by the pids in the tracepoint's own fields (prev and next of a switch, the woken
// of a wakeup, parent and child of a fork), for other events by the current task. Children of chosen
// tasks are chosen. Records that are no samples (maps, names, forks, losses) are all kept.
//
// Order of input: a child's first events may lie in another ring than the fork that made it a chosen
// task. So learn() must see every ring up to a point in time before keep() sees any up to an earlier one.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "record/event_sets.h"
#include "record/tracefs.h"

namespace perf_latency {

class TaskFilter {
 public:
  // `formats` gives the format text of an event.
  TaskFilter(const std::vector<uint32_t>& tids, std::unordered_set<uint64_t> cgroups,
             std::string cgroup_path);

  // Tells which event the samples with `ids` belong to. `period` and `dwarf` describe their layout.
  void add_event(const std::string& name, std::string_view format, const std::vector<uint64_t>& ids,
                 bool has_period);

  // Takes forks and new cgroups into account.
  void learn(std::span<const std::byte> record);
  bool keep(std::span<const std::byte> record);

  void add_task(uint32_t tid);
  bool has_task(uint32_t tid) const;
  // All that were ever chosen, sorted. May be called while another thread filters.
  std::vector<uint32_t> tasks_so_far() const;

 private:
  struct Rule {
    std::vector<uint32_t> pid_offsets;     // in the raw data; empty: the current task decides
    std::optional<uint32_t> child_offset;  // sched_process_fork
    uint32_t parent_offset = 0;
    bool has_period = false;
    bool has_raw = true;
  };

  const Rule* rule_of(std::span<const std::byte> sample) const;
  std::span<const std::byte> raw_of(std::span<const std::byte> sample, const Rule& rule) const;
  void learn_cgroup_of_current(std::span<const std::byte> sample);
  void set(uint32_t tid, bool chosen);

  std::vector<uint64_t> chosen_;  // one bit per tid
  mutable std::mutex so_far_mutex_;
  std::set<uint32_t> so_far_;
  std::unordered_set<uint64_t> cgroups_;
  std::string cgroup_path_;  // relative to the hierarchy's root; empty without -G
  std::unordered_map<uint64_t, uint32_t> rule_of_id_;
  std::vector<Rule> rules_;
};

}  // namespace perf_latency
