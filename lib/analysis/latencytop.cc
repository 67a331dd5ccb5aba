// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/latencytop.h"

#include <algorithm>
#include <map>

namespace perf_latency {
namespace {

// Scheduler and lock text, in the recording's addresses.
class SchedulerText {
 public:
  SchedulerText(StackNames& names) : names_(names) {
    const KernelSymbols* symbols = names.symbols().kernel();
    if (symbols == nullptr) return;
    sched_ = range(*symbols, "__sched_text_start", "__sched_text_end");
    lock_ = range(*symbols, "__lock_text_start", "__lock_text_end");
  }

  // in_sched_functions(), kernel/sched/core.c. By name where the kernel has no such symbols.
  bool holds(uint64_t address, bool is_return_address) const {
    if (sched_.second != 0) return in(sched_, address) || in(lock_, address);
    return names_.causes().groups().is_plumbing(
        names_.symbols().kernel_function(address, is_return_address));
  }

 private:
  using Range = std::pair<uint64_t, uint64_t>;
  static bool in(const Range& range, uint64_t address) {
    return address >= range.first && address < range.second;
  }
  static Range range(const KernelSymbols& symbols, std::string_view from, std::string_view to) {
    const auto start = symbols.address_of(from);
    const auto end = symbols.address_of(to);
    return start && end ? Range{*start, *end} : Range{0, 0};
  }

  StackNames& names_;
  Range sched_{0, 0};
  Range lock_{0, 0};
};

// The return addresses that the kernel's own stack trace of a sleeping task has (kernel/stacktrace.c,
// stack_trace_consume_entry_nosched). A probe of another tracer puts frames above __schedule, which
// that trace lacks: everything before the first frame in scheduler text goes.
std::vector<uint64_t> kernel_trace(std::span<const uint64_t> chain, const SchedulerText& text) {
  size_t first = 0;
  while (first < chain.size() && !text.holds(chain[first], first != 0)) ++first;
  if (first == chain.size()) first = 0;
  std::vector<uint64_t> trace;
  for (size_t i = first; i < chain.size() && trace.size() < LatencytopTables::kDepth; ++i)
    if (!text.holds(chain[i], i != 0)) trace.push_back(chain[i]);
  return trace;
}

}  // namespace

// The global table leaves out tasks without an mm: kernel threads, and tasks that have given it up in
// do_exit (kernel/exit.c). A chain tells: it comes from user mode and has no do_exit.
bool LatencytopTables::had_mm(StackId stack, StackNames& names) {
  if (!names.of(stack).user_entry) return false;
  const auto chain = names.stacks().view(stack);
  for (size_t i = 0; i < chain.size(); ++i)
    if (names.symbols().kernel_function(chain[i], i != 0) == "do_exit") return false;
  return true;
}

bool LatencytopTables::add(ThreadId thread, StackId stack, bool interruptible, uint64_t ns) {
  // The kernel passes the units as an int: what does not fit arrives cut or negative.
  const auto units = static_cast<int32_t>(static_cast<uint32_t>(ns >> 10));
  if (units <= 0) {
    ++hidden_.too_short;
    hidden_.too_short_ns += ns;
    return false;
  }
  if (interruptible && static_cast<uint64_t>(units) > kMaxInterruptibleUnits) {
    ++hidden_.over_5ms;
    hidden_.over_5ms_ns += ns;
    return false;
  }
  if (!stack.valid()) {
    ++hidden_.no_chain;
    hidden_.no_chain_ns += ns;
    return false;
  }
  ++sleeps_;
  const auto add_to = [&](Sum& sum) {
    if (sum.count++ == 0) sum.first = sleeps_;
    sum.units += static_cast<uint64_t>(units);
    sum.max_units = std::max(sum.max_units, static_cast<uint64_t>(units));
    sum.ns += ns;
  };
  add_to(global_[stack]);
  add_to(tasks_[thread][stack]);
  return true;
}

std::vector<LatencytopTables::Record> LatencytopTables::fill(const Sums& sums, StackNames& names,
                                                             size_t limit, bool needs_mm,
                                                             uint64_t& dropped,
                                                             uint64_t& dropped_ns) {
  const SchedulerText text(names);
  std::vector<std::pair<StackId, Sum>> in_order(sums.begin(), sums.end());
  std::sort(in_order.begin(), in_order.end(),
            [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
  std::vector<Record> records;
  std::map<std::vector<uint64_t>, size_t> known;
  for (const auto& [stack, sum] : in_order) {
    if (needs_mm && !had_mm(stack, names)) continue;
    std::vector<uint64_t> trace = kernel_trace(names.stacks().view(stack), text);
    const auto [found, is_new] = known.emplace(trace, records.size());
    if (is_new && records.size() == limit) {
      known.erase(found);
      dropped += sum.count;
      dropped_ns += sum.ns;
      continue;
    }
    if (is_new) {
      records.push_back({std::move(trace), sum});
      continue;
    }
    Sum& all = records[found->second].sum;
    all.count += sum.count;
    all.units += sum.units;
    all.max_units = std::max(all.max_units, sum.max_units);
    all.ns += sum.ns;
  }
  return records;
}

LatencyStats LatencytopTables::make(StackNames& names, const ThreadTable& threads,
                                    const StringPool& strings, bool per_task,
                                    Diagnostics& diagnostics) const {
  // The files print names with the kernel's %ps, which looks return addresses up as they are.
  const auto print = [&](const std::vector<Record>& records) {
    std::vector<LatencyRecord> printed;
    for (const Record& record : records) {
      LatencyRecord line{record.sum.count, record.sum.units, record.sum.max_units, {}};
      for (const uint64_t address : record.addresses)
        line.frames.push_back(names.symbols().kernel_frame(address, false));
      printed.push_back(std::move(line));
    }
    return printed;
  };
  LatencyStats stats;
  stats.per_task = per_task;
  uint64_t dropped = 0;
  uint64_t dropped_ns = 0;
  stats.global = print(fill(global_, names, kGlobalRecords, true, dropped, dropped_ns));
  if (dropped != 0) diagnostics.add(Diag::latency_table_full, dropped);
  if (hidden_.no_chain != 0) diagnostics.add(Diag::no_callchains, hidden_.no_chain);
  if (!per_task) return stats;
  dropped = 0;
  for (const auto& [id, sums] : tasks_) {
    const Thread& thread = threads[id];
    stats.tasks.push_back({thread.pid, thread.tid, std::string(strings.view(thread.comm)),
                           print(fill(sums, names, kTaskRecords, false, dropped, dropped_ns))});
  }
  if (dropped != 0) diagnostics.add(Diag::task_table_full, dropped);
  std::sort(stats.tasks.begin(), stats.tasks.end(), [](const auto& a, const auto& b) {
    return std::pair(a.pid, a.tid) < std::pair(b.pid, b.tid);
  });
  return stats;
}

LatencytopTables::Hidden LatencytopTables::hidden(StackNames& names) const {
  Hidden hidden = hidden_;
  for (const auto& [stack, sum] : global_) {
    if (had_mm(stack, names)) continue;
    hidden.no_mm += sum.count;
    hidden.no_mm_ns += sum.ns;
  }
  for (const Record& record :
       fill(global_, names, kGlobalRecords, true, hidden.table_full, hidden.table_full_ns)) {
    hidden.kept += record.sum.count;
    hidden.kept_ns += record.sum.ns;
    hidden.kept_units += record.sum.units;
  }
  return hidden;
}

}  // namespace perf_latency
