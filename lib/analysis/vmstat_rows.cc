// SPDX-License-Identifier: GPL-2.0-only
// The part of VmstatReport that names functions and folds the sums of a recording into rows.
#include <algorithm>
#include <charconv>

#include "analysis/vmstat_report.h"
#include "base/range_list.h"
#include "base/time.h"
#include "symbolize/names.h"

namespace perf_latency {
namespace {

using K = EventKind;

// linux/sched/prio.h: deadline tasks have -1, real-time ones 99 less their priority, others 120 + nice.
constexpr int16_t kMaxRtPrio = 100;
constexpr int16_t kDefaultPrio = 120;

std::string padded(uint64_t number) {
  std::string text = std::to_string(number);
  return std::string(20 - text.size(), '0') + text;
}

}  // namespace

std::string vmstat_policy(int16_t prio) {
  if (prio < 0) return "SCHED_DEADLINE";
  return prio < kMaxRtPrio ? "SCHED_FIFO/RR" : "SCHED_OTHER";
}

std::string vmstat_priority(int16_t prio) {
  if (prio < 0) return "";
  if (prio < kMaxRtPrio) return std::to_string(kMaxRtPrio - 1 - prio);
  return "nice " + std::to_string(prio - kDefaultPrio);
}

std::string VmstatReport::function_name(uint64_t address) {
  const auto known = names_.find(address);
  if (known != names_.end()) return known->second;
  std::string name(strip_compiler_suffixes(recording().symbols.kernel_function(address, false)));
  if (name.empty()) {
    char text[24] = "0x";
    name.assign(text, std::to_chars(text + 2, text + sizeof text, address, 16).ptr);
  }
  return names_.emplace(address, std::move(name)).first->second;
}

WorkSource VmstatReport::source_of(const QueueKey& key) {
  const auto chain = recording().context.pools.stacks.view(key.stack);
  std::vector<std::string_view> functions;
  for (size_t i = 0; i < chain.size(); ++i)
    functions.push_back(recording().symbols.kernel_function(chain[i], i != 0));
  const WorkSource source = work_source_of(functions);
  // Without a chain, what the queueing worker was executing tells as much as can be told.
  if (source == WorkSource::unknown && key.by_function != 0 &&
      vmstat_work_of(function_name(key.by_function)) == VmstatWork::shepherd)
    return WorkSource::shepherd;
  return source;
}

VmstatReport::Who VmstatReport::who(ThreadId id, int16_t prio) const {
  if (!id.valid()) return {};
  const Thread& thread = threads()[id];
  return {std::string(strings().view(thread.comm)), thread.pid, thread.tid, prio};
}

void VmstatReport::read_machine(const RecordingResult& result) {
  const Metadata& metadata = recording().context.metadata;
  const auto mask = [&](const char* key, std::set<uint32_t>& cpus) {
    const std::string* text = metadata.machine_fact(key);
    if (text == nullptr) return false;
    // nohz_full is "(null)" where no CPU is.
    if (const auto list = parse_range_list(*text)) cpus.insert(list->begin(), list->end());
    return true;
  };
  nohz_full_known_ = mask("nohz_full", nohz_full_) || nohz_full_known_;
  if (vmstat_.isolated) {
    isolated_.insert(vmstat_.isolated->begin(), vmstat_.isolated->end());
    isolated_known_ = true;
  } else {
    isolated_known_ = mask("isolated", isolated_) || isolated_known_;
  }
  skips_isolated_ = shepherd_skips_isolated(result.info.os_release);
  has_ticks_ = result.present[static_cast<size_t>(K::tick_stop)];
  has_timers_ = result.present[static_cast<size_t>(K::timer_start)] &&
                result.present[static_cast<size_t>(K::timer_expire_entry)];
}

bool VmstatReport::is_isolated(uint32_t cpu) const {
  if (isolated_.contains(cpu)) return true;
  return !vmstat_.isolated && nohz_full_.contains(cpu);
}

// A recording of ours shows only vmstat functions of CPUs that are not isolated.
bool VmstatReport::shows_all(uint32_t cpu) {
  for (auto it = functions_on_.lower_bound({cpu, 0}); it != functions_on_.end() && it->first == cpu;
       ++it)
    if (vmstat_work_of(function_name(it->second)) == VmstatWork::none) return true;
  return false;
}

// Functions other than vmstat's are listed where they disturb: on isolated CPUs. Where none is known,
// everywhere.
bool VmstatReport::keeps_work(uint32_t cpu, const std::string& function) const {
  if (vmstat_work_of(function) != VmstatWork::none) return true;
  const bool none_known = isolated_.empty() && nohz_full_.empty();
  return none_known || is_isolated(cpu);
}

VmstatReport::Folded& VmstatReport::row(uint32_t part, uint32_t cpu, const std::string& function,
                                        const Who& task) {
  std::vector<std::string> key{padded(part)};
  if (has(VmstatKey::cpu)) key.push_back(padded(cpu));
  if (has(VmstatKey::task)) {
    key.push_back(task.comm);
    key.push_back(std::to_string(task.pid) + '/' + std::to_string(task.tid) + '/' +
                  std::to_string(task.prio));
  }
  if (has(VmstatKey::work) || has(VmstatKey::task)) key.push_back(function);
  const auto [found, is_new] = rows_.emplace(std::move(key), Folded());
  Folded& row = found->second;
  if (is_new) {
    row.part = part;
    if (has(VmstatKey::cpu) && cpu != kNoCpu) row.cpu = cpu;
    row.task = task;
    row.work = function;
  }
  if (cpu != kNoCpu) row.cpus.insert(cpu);
  return row;
}

std::string VmstatReport::described_delay(const std::string& function, const Worst& worst,
                                          bool pending) {
  std::string text = function + " queued at " + format_timestamp(worst.at_ns) +
                     (pending ? " has waited " : " waited ") + format_duration(worst.ns);
  if (!worst.behind.thread.valid() || worst.ns == 0) return text;
  const Who behind = who(worst.behind.thread, worst.behind.prio);
  const uint64_t percent =
      worst.behind.ns >= worst.ns
          ? 100
          : static_cast<uint64_t>(100.0 * static_cast<double>(worst.behind.ns) /
                                  static_cast<double>(worst.ns));
  return text + " behind " + behind.comm + "/" + std::to_string(behind.tid) + " (" +
         vmstat_policy(behind.prio) + " " + vmstat_priority(behind.prio) +
         (worst.behind.old_prio ? " when it got the CPU" : "") + "), which ran " +
         std::to_string(percent) + " % of it";
}

// A row for each CPU, whether anything happened there or not: a quiet CPU is an answer.
void VmstatReport::fold_cpus(uint32_t cpus) {
  if (has(VmstatKey::task) || has(VmstatKey::work) || options().interval_ns != 0) return;
  constexpr uint32_t kMaxRows = 1u << 14;
  std::set<uint32_t> numbers(isolated_.begin(), isolated_.end());
  numbers.insert(nohz_full_.begin(), nohz_full_.end());
  for (uint32_t cpu = 0; cpu < std::min(cpus, kMaxRows); ++cpu) numbers.insert(cpu);
  for (uint32_t cpu = 0; cpu < seen_cpus_.size(); ++cpu)
    if (seen_cpus_[cpu]) numbers.insert(cpu);
  for (const uint32_t cpu : numbers)
    if (keeps_cpu(cpu)) row(kNoPart, cpu, "", {});
}

void VmstatReport::fold_works() {
  for (const auto& [where, sums] : works_) {
    const auto& [part, cpu, address] = where;
    const std::string& name = function_name(address);
    const VmstatWork kind = vmstat_work_of(name);
    const bool by_work = has(VmstatKey::work);
    if (has(VmstatKey::task) || (by_work && !keeps_work(cpu, name))) continue;
    if (!by_work && cpu == kNoCpu) continue;
    const bool pending_is_known = kind != VmstatWork::none || (cpu != kNoCpu && shows_all(cpu));
    if (by_work && sums.runs.count == 0 && sums.timers_pending == 0 &&
        (sums.never_executed == 0 || !pending_is_known))
      continue;
    Folded& into = row(part, cpu, by_work ? name : "", {});
    if (by_work || kind == VmstatWork::sync) {
      into.runs.merge(sums.runs);
      into.delays.merge(sums.delays);
      if (sums.worst_delay.ns > into.worst_delay_ns) {
        into.worst_delay_ns = sums.worst_delay.ns;
        into.worst_delay = described_delay(name, sums.worst_delay, false);
      }
    } else if (kind == VmstatWork::shepherd) {
      into.shepherd_runs += sums.runs.count;
    } else {
      into.other_runs.merge(sums.runs);
      if (sums.runs.count != 0) into.other_functions[name] += sums.runs.count;
    }
    if (by_work ? pending_is_known : kind != VmstatWork::none) {
      into.never_executed += sums.never_executed;
      if (sums.never_executed != 0 && sums.oldest.ns >= into.oldest_ns) {
        into.oldest_ns = sums.oldest.ns;
        into.worst_pending = described_delay(name, sums.oldest, true);
      }
    }
    if (by_work || kind == VmstatWork::sync) {
      if (sums.timers_pending != 0)
        into.timer_pending_ns = std::max(into.timer_pending_ns.value_or(0), sums.timer_pending_ns);
      if (has_timers_ && sums.stops_settled != 0 && name == "vmstat_update")
        into.unsynced_known = true;
    }
  }
}

void VmstatReport::fold_queueings() {
  if (has(VmstatKey::task)) return;
  for (const auto& [key, sums] : queued_) {
    const auto& [part, cpu, address] = key.where;
    const std::string& name = function_name(address);
    const bool by_work = has(VmstatKey::work);
    if (by_work ? !keeps_work(cpu, name)
                : vmstat_work_of(name) != VmstatWork::sync || cpu == kNoCpu)
      continue;
    const WorkSource source = source_of(key);
    Folded& into = row(part, cpu, by_work ? name : "", {});
    into.queued[static_cast<size_t>(source)] += sums.count;
    if (name != "vmstat_update" || source != WorkSource::shepherd) continue;
    into.unsynced_known = true;
    into.stopped_unsynced += sums.after_idle_stop;
  }
}

void VmstatReport::fold_pushes() {
  const bool by_task = has(VmstatKey::task);
  for (const auto& [key, stats] : pushes_) {
    std::vector<std::string> names;
    bool is_vmstat = false;
    for (const uint64_t function : key.functions) {
      names.push_back(function_name(function));
      is_vmstat = is_vmstat || vmstat_work_of(names.back()) != VmstatWork::none;
    }
    std::sort(names.begin(), names.end());
    const Who task = who(key.thread, key.prio);
    const auto add_to = [&](Folded& into) {
      const uint64_t old_max = into.pushes.max_ns;
      into.pushes.merge(stats);
      into.pushed_tids.insert(task.tid);
      if (stats.max_ns > old_max || into.worst_push.empty())
        into.worst_push = task.comm + "/" + std::to_string(task.tid) + " (" +
                          vmstat_policy(task.prio) + " " + vmstat_priority(task.prio) + ")";
    };
    if (by_task) {
      std::string list;
      for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
      if (is_vmstat || keeps_work(key.cpu, names.front()))
        add_to(row(key.part, key.cpu, list, task));
    } else if (has(VmstatKey::work)) {
      for (const std::string& name : names)
        if (keeps_work(key.cpu, name)) add_to(row(key.part, key.cpu, name, {}));
    } else if (is_vmstat) {
      add_to(row(key.part, key.cpu, "", {}));
    }
  }
  if (!by_task) return;
  for (const auto& [key, ns] : held_) {
    const auto& [part, cpu, address] = key.where;
    const std::string& name = function_name(address);
    if (!keeps_work(cpu, name)) continue;
    row(part, cpu, name, who(key.thread, key.prio)).held_ns += ns;
  }
}

void VmstatReport::fold_ticks() {
  if (has(VmstatKey::task) || has(VmstatKey::work)) return;
  for (const auto& [where, sums] : ticks_)
    row(where.first, where.second, "", {}).ticks_stopped += sums.stopped;
  for (auto& [key, row] : rows_) {
    row.ticks_known = has_ticks_;
    if (!has_ticks_) row.unsynced_known = false;
    if (has_timers_ && !row.timer_pending_ns) row.timer_pending_ns = 0;
    if (has_ticks_ && row.ticks_stopped == 0) row.unsynced_known = true;
    if (row.cpu && skips_isolated_ && is_isolated(*row.cpu)) row.unsynced_known = false;
  }
}

void VmstatReport::note_missing() {
  const auto note = [&](const std::string& text) {
    if (std::find(report_.header_notes.begin(), report_.header_notes.end(), text) ==
        report_.header_notes.end())
      report_.header_notes.push_back(text);
  };
  if (!has_ticks_)
    note(
        "not in the recording: timer:tick_stop, so ticks stopped and counters left unsynced are "
        "not known");
  if (!has_timers_)
    note(
        "not in the recording: timer:timer_start and timer:timer_expire_entry, so work that waits "
        "in "
        "a timer is not known");
  if (!isolated_known_ && !nohz_full_known_)
    note("not in the recording: which CPUs are isolated; --isolated LIST tells");
}

void VmstatReport::fold(const RecordingResult& result, const Totals& totals) {
  Recording& now = recording();
  model_->finish(result.info.end_ns.value_or(0));
  read_machine(result);
  fold_cpus(static_cast<uint32_t>(std::min<uint64_t>(result.info.cpus, 1u << 16)));
  fold_works();
  fold_queueings();
  fold_pushes();
  fold_ticks();
  note_missing();
  if (result.info.start_ns && result.info.end_ns)
    observed_ns_ += *result.info.end_ns - *result.info.start_ns;
  report_.recordings.push_back(result.info);
  if (report_.totals)
    report_.totals->merge(totals);
  else
    report_.totals = totals;
  report_.partial = report_.partial || result.interrupted;
  if (now.symbols.kernel() == nullptr)
    now.context.diagnostics.add_detail(Diag::no_kernel_symbols, now.symbols.kernel_error());
}

}  // namespace perf_latency
