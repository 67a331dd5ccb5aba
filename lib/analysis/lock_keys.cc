// SPDX-License-Identifier: GPL-2.0-only
// The part of LockAnalysis that turns ids into the named cells of rows.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/lock_analysis.h"

namespace perf_latency {
namespace {

// How far inside a variable a lock may lie to be named after it: "init_mm+0x70" says something, an
// address behind the last symbol of a section does not.
constexpr uint64_t kMaxOffset = 64 * 1024;

Cell number_or_null(int64_t number) {
  return number < 0 ? Cell() : Cell(static_cast<uint64_t>(number));
}

Cell percentile(const RowStats& stats, double percent) {
  return stats.histogram.count() == 0 ? Cell() : Cell(stats.histogram.percentile(percent));
}

}  // namespace

bool LockAnalysis::is_by(LockBy by) const {
  return std::find(by_.begin(), by_.end(), by) != by_.end();
}

RawLockKey LockAnalysis::raw_key(const LockWait& wait, ThreadId holder) const {
  RawLockKey key;
  key.type = wait.type;
  const bool lock = is_by(LockBy::lock);
  if (lock || is_by(LockBy::caller) || is_by(LockBy::stack) || options().stacks)
    key.stack = wait.stack;
  if (is_by(LockBy::thread) || is_by(LockBy::process)) key.thread = wait.thread;
  if (is_by(LockBy::holder)) key.holder = holder;
  if (is_by(LockBy::cpu)) key.cpu = wait.cpu;
  if (is_by(LockBy::cgroup)) key.cgroup = wait.cgroup;
  if (!lock) return key;
  key.address = wait.address;
  key.name = wait.name;
  if (wait.has_outer) {
    key.outer = static_cast<uint8_t>(wait.outer.source) + 1;
    key.outer_address = wait.outer.address;
    if (wait.outer.source == LockSource::lockdep) key.name = wait.outer_name;
  }
  return key;
}

RawLockKey LockAnalysis::raw_key(const LockHold& hold) const {
  RawLockKey key;
  key.type = hold.type;
  const bool lock = is_by(LockBy::lock);
  if (lock || is_by(LockBy::caller) || is_by(LockBy::stack) || options().stacks)
    key.stack = hold.stack;
  if (is_by(LockBy::thread) || is_by(LockBy::process)) key.thread = hold.thread;
  if (is_by(LockBy::cpu)) key.cpu = hold.cpu;
  if (is_by(LockBy::cgroup)) key.cgroup = hold.cgroup;
  if (lock) {
    key.address = hold.address;
    key.name = hold.name;
  }
  return key;
}

const std::string& LockAnalysis::caller_of(StackId stack) {
  const auto [found, is_new] = callers_.try_emplace(stack);
  if (!is_new) return found->second;
  const auto functions = functions_of(stack);
  if (functions.empty()) return found->second = "[no call chain]";
  size_t at = causes().groups().caller_index(functions);
  if (at >= functions.size()) at = functions.size() - 1;
  found->second = functions[at].empty() ? "[unknown]" : std::string(functions[at]);
  return found->second;
}

// What a lock is called where its address alone does not tell.
std::string LockAnalysis::lock_name(const RawLockKey& key) {
  const auto mmap_lock = [&](uint64_t mm) {
    const auto user = mm_users_.find(mm);
    const std::string task = user == mm_users_.end() ? std::string() : task_name(user->second);
    return task.empty() ? std::string("mmap_lock") : "mmap_lock of " + task;
  };
  const auto rstat = [](uint64_t address) {
    return address == 0 ? std::string("cgroup rstat lock")
                        : fmt::format("cgroup rstat lock of CPU {}", address - 1);
  };
  switch (lock_source(key.type)) {
    case LockSource::lockdep:
      return std::string(strings().view(key.name));
    case LockSource::mmap_lock:
      return mmap_lock(key.address);
    case LockSource::rstat:
      return rstat(key.address);
    case LockSource::contention:
      break;
  }
  if (key.outer == 1 + static_cast<uint8_t>(LockSource::mmap_lock))
    return mmap_lock(key.outer_address);
  if (key.outer == 1 + static_cast<uint8_t>(LockSource::rstat)) return rstat(key.outer_address);
  if (key.outer != 0) return std::string(strings().view(key.name));
  if (const KernelSymbols* symbols = recording().symbols.kernel()) {
    const auto symbol = symbols->lookup_data(key.address);
    if (symbol && symbol->offset < kMaxOffset)
      return symbol->offset == 0 ? std::string(symbol->name)
                                 : fmt::format("{}+0x{:x}", symbol->name, symbol->offset);
  }
  if (const auto name = causes().groups().lock_name(caller_of(key.stack), lock_spins(key.type)))
    return std::string(*name);
  return {};
}

// One lock has one name: of those that its callers suggest the one with the longest waits.
void LockAnalysis::name_lock(const RawLockKey& key, uint64_t total_ns) {
  if (!is_by(LockBy::lock) || lock_source(key.type) != LockSource::contention) return;
  const std::string name = lock_name(key);
  if (!name.empty()) lock_names_[key.address][name] += total_ns + 1;
}

std::string LockAnalysis::shown_lock_name(const RawLockKey& key) {
  std::string name;
  if (lock_source(key.type) != LockSource::contention) {
    name = lock_name(key);
  } else if (const auto names = lock_names_.find(key.address); names != lock_names_.end()) {
    uint64_t best = 0;
    for (const auto& [candidate, weight] : names->second)
      if (weight > best) best = weight, name = candidate;
  } else {
    name = lock_name(key);
  }
  if (name.empty() && key.address == 0) return "[unknown]";
  return name.empty() ? fmt::format("0x{:x}", key.address) : name;
}

void LockAnalysis::add_cells(LockBy by, const RawLockKey& key, NamedKey& named) {
  const auto add = [&](Cell cell) {
    if (const auto* number = std::get_if<uint64_t>(&cell)) named.text += std::to_string(*number);
    if (const auto* string = std::get_if<std::string>(&cell)) named.text += *string;
    named.text += '\x1f';
    named.cells.push_back(std::move(cell));
  };
  const auto add_task = [&](ThreadId id, bool with_tid) {
    const bool thread = id.valid() && !is_idle_context(id);
    add(!id.valid() ? std::string("[unknown]") : task_name(id));
    add(!id.valid() ? Cell() : number_or_null(thread ? threads()[id].pid : 0));
    if (with_tid) add(!id.valid() ? Cell() : number_or_null(tid_of(id)));
  };
  switch (by) {
    case LockBy::caller:
      add(caller_of(key.stack));
      break;
    case LockBy::lock:
      add(shown_lock_name(key));
      break;
    case LockBy::type:
      add(std::string(lock_type_name(key.type)));
      break;
    case LockBy::process:
      add_task(key.thread, false);
      break;
    case LockBy::thread:
      add_task(key.thread, true);
      break;
    case LockBy::cpu:
      add(uint64_t{key.cpu});
      break;
    case LockBy::cgroup: {
      const auto path = cgroup_paths_.find(key.cgroup);
      if (path != cgroup_paths_.end())
        add(std::string(strings().view(path->second)));
      else
        add(key.cgroup == 0 ? std::string("[unknown]") : fmt::format("[cgroup {}]", key.cgroup));
      break;
    }
    case LockBy::holder:
      add_task(key.holder, true);
      break;
    case LockBy::stack: {
      std::string text;
      for (const std::string& frame : recording().names.of(key.stack).frames)
        text.append(text.empty() ? "" : " <- ").append(frame);
      add(text.empty() ? std::string("[no call chain]") : text);
      break;
    }
    case LockBy::function:
      add(std::string(strings().view(key.function)));
      break;
  }
}

LockAnalysis::NamedKey LockAnalysis::named_key(const RawLockKey& key) {
  NamedKey named;
  if (interval_rows_ && options().interval_ns != 0) {
    const uint64_t start = report_.recordings[0].start_ns.value_or(0);
    named.cells.emplace_back(start + key.part * options().interval_ns);
    named.text = std::to_string(key.part) + '\x1f';
  }
  for (const LockBy by : by_) add_cells(by, key, named);
  return named;
}

std::vector<Column> LockAnalysis::key_columns() const {
  std::vector<Column> columns;
  const auto add = [&](const char* name, const char* title, CellKind kind = CellKind::text) {
    columns.push_back({name, title, kind, true, true});
  };
  const auto add_task = [&](const std::string& name, const char* title, bool with_tid) {
    columns.push_back({name + ".comm", title, CellKind::text, true, true});
    columns.push_back({name + ".pid", "Pid", CellKind::number, !with_tid, true});
    if (with_tid) columns.push_back({name + ".tid", "Tid", CellKind::number, true, true});
  };
  if (interval_rows_ && options().interval_ns != 0)
    add("interval_start_ns", "From", CellKind::time_ns);
  for (const LockBy by : by_) {
    switch (by) {
      case LockBy::caller:
        add("caller", "Caller");
        break;
      case LockBy::lock:
        add("lock", "Lock");
        break;
      case LockBy::type:
        add("type", "Type");
        break;
      case LockBy::process:
        add_task("process", "Command", false);
        break;
      case LockBy::thread:
        add_task("thread", "Command", true);
        break;
      case LockBy::cpu:
        add("cpu", "CPU", CellKind::number);
        break;
      case LockBy::cgroup:
        add("cgroup", "Cgroup");
        break;
      case LockBy::holder:
        add_task("holder", "Holder", true);
        break;
      case LockBy::stack:
        add("stack", "Stack");
        break;
      case LockBy::function:
        add("function", "Function");
        break;
    }
  }
  return columns;
}

void add_stats_columns(std::vector<Column>& columns) {
  columns.push_back({"count", "Count", CellKind::count});
  columns.push_back({"total_ns", "Total", CellKind::duration_ns});
  columns.push_back({"percent", "%", CellKind::percent});
  columns.push_back({"mean_ns", "Mean", CellKind::duration_ns});
  columns.push_back({"max_ns", "Max", CellKind::duration_ns});
  columns.push_back({"p50_ns", "p50", CellKind::duration_ns, false});
  columns.push_back({"p95_ns", "p95", CellKind::duration_ns, false});
  columns.push_back({"p99_ns", "p99", CellKind::duration_ns, false});
  columns.push_back({"max_start_ns", "Max at", CellKind::time_ns, false});
  columns.push_back({"max_tid", "Max tid", CellKind::number, false});
  columns.push_back({"open", "Open", CellKind::count, false});
}

void add_stats_cells(const RowStats& stats, uint64_t all_ns, std::vector<Cell>& cells) {
  const uint64_t known = stats.histogram.count();
  cells.emplace_back(stats.count);
  cells.emplace_back(stats.total_ns);
  cells.emplace_back(all_ns == 0 ? 0.0
                                 : 100.0 * static_cast<double>(stats.total_ns) /
                                       static_cast<double>(all_ns));
  cells.push_back(known == 0 ? Cell() : Cell(stats.known_total_ns / known));
  cells.emplace_back(stats.max_ns);
  cells.push_back(percentile(stats, 50));
  cells.push_back(percentile(stats, 95));
  cells.push_back(percentile(stats, 99));
  cells.emplace_back(stats.max_start_ns);
  cells.push_back(stats.max_tid < 0 ? Cell() : Cell(static_cast<uint64_t>(stats.max_tid)));
  cells.emplace_back(stats.open);
}

}  // namespace perf_latency
