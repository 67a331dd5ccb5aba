// SPDX-License-Identifier: GPL-2.0-only
// The part of ScriptAnalysis that turns lines of ids into rows with names, each name made once.
#include <fmt/format.h>

#include "analysis/script.h"
#include "analysis/vmstat_report.h"

namespace perf_latency {
namespace {

bool is_of_task(RowKind kind) { return kind == RowKind::sleep || kind == RowKind::runnable; }

}  // namespace

PlaceText& ScriptAnalysis::new_place() {
  PlaceText& place = places_.emplace_back();
  place.id = static_cast<uint32_t>(places_.size() - 1);
  return place;
}

std::span<const std::string> ScriptAnalysis::cut(const std::vector<std::string>& frames) const {
  return std::span(frames).first(std::min<size_t>(frames.size(), options().max_stack));
}

const PlaceText& ScriptAnalysis::cause_place(CauseId cause) {
  const PlaceText*& known = place_of_cause_[cause];
  if (known != nullptr) return *known;
  PlaceText& place = new_place();
  const Cause& of = causes().cause(cause);
  place.cause = of.sentence;
  place.cause_id = of.id;
  place.cause_class = of.cause_class;
  known = &place;
  return place;
}

const PlaceText& ScriptAnalysis::sleep_place(const Line& line) {
  if (line.began_before) return cause_place(CauseTable::kAsleepBefore);
  const PlaceText** known = nullptr;
  if (line.user_stack.valid()) {
    known = &place_of_user_[(uint64_t{line.stack.value} << 32) | line.user_stack.value];
  } else if (line.stack.valid()) {
    const size_t index = line.stack.value;
    if (index >= place_of_sleep_.size()) place_of_sleep_.resize(index + index / 2 + 64);
    known = &place_of_sleep_[index];
  } else {
    return cause_place(CauseTable::kUnattributed);
  }
  if (*known != nullptr) return **known;
  PlaceText& place = new_place();
  const StackNames::Named& named = recording().names.of(line.stack);
  const Cause& cause = causes().cause(named.cause);
  place.cause = cause.sentence;
  place.cause_id = cause.id;
  place.cause_class = cause.cause_class;
  place.frames = cut(named.frames);
  if (line.user_stack.valid())
    place.user_frames = cut(recording().user_stacks.frames(line.user_stack));
  *known = &place;
  return place;
}

const PlaceText& ScriptAnalysis::lock_place(StackId stack) {
  const size_t index = stack.valid() ? stack.value + size_t{1} : 0;
  if (index >= place_of_lock_.size()) place_of_lock_.resize(index + index / 2 + 64);
  const PlaceText*& known = place_of_lock_[index];
  if (known != nullptr) return *known;
  PlaceText& place = new_place();
  place.caller = caller_of(stack);
  place.frames = cut(recording().names.of(stack).frames);
  known = &place;
  return place;
}

const LockText& ScriptAnalysis::lock_text(const Line& line) {
  RawLockKey key;
  key.type = line.lock_type;
  key.address = line.lock_address;
  key.name = line.lock_name;
  key.outer = line.outer;
  key.outer_address = line.outer_address;
  if (lock_source(key.type) == LockSource::contention) key.stack = line.stack;
  const auto [found, is_new] = locks_text_.try_emplace(key);
  LockText& text = found->second;
  if (!is_new) return text;
  text.id = static_cast<uint32_t>(locks_text_.size() - 1);
  text.name = lock_name(key);
  // An rstat lock is told apart by its CPU, not by an address.
  if (key.address != 0 && lock_source(key.type) != LockSource::rstat)
    text.address = fmt::format("0x{:x}", key.address);
  text.type = lock_type_name(key.type);
  return text;
}

TaskText ScriptAnalysis::task_text(ThreadId thread) const {
  TaskText text;
  if (!thread.valid()) return text;
  text.known = true;
  text.tid = tid_of(thread);
  text.comm = strings().view(comm_of(thread));
  text.pid = is_idle_context(thread) ? 0 : threads()[thread].pid;
  if (!is_idle_context(thread)) text.thread = thread.value;
  return text;
}

// A task that an interrupt hit did not wake anybody: the interrupt did.
TaskText ScriptAnalysis::waker_text(const Line& line) {
  if (line.waker_stack.valid()) {
    const auto [found, is_new] = interrupts_.try_emplace(line.waker_stack);
    if (is_new)
      if (const auto source = causes().groups().interrupt_source(functions_of(line.waker_stack)))
        found->second = "[" + std::string(*source) + "]";
    if (!found->second.empty()) {
      TaskText text;
      text.known = true;
      text.comm = found->second;
      return text;
    }
  }
  return task_text(line.other);
}

std::string_view ScriptAnalysis::vmstat_function(uint64_t address) {
  const auto [found, is_new] = vmstat_functions_.try_emplace(address);
  if (is_new) {
    const std::string_view name = recording().symbols.kernel_function(address, false);
    if (vmstat_work_of(name) == VmstatWork::sync) found->second = name;
  }
  return found->second;
}

// Kernel threads and threads hidden from perf are left out, as in `report`.
bool ScriptAnalysis::is_shown(const Line& line, IntervalRow& row) {
  if (line.kind == RowKind::vmstat_sync) {
    row.is_kernel_thread = true;
    row.function = vmstat_function(line.sleep_ns);
    return !row.function.empty();
  }
  row.is_kernel_thread = line.owner == TaskKind::kernel;
  if (!is_of_task(line.kind)) {
    row.is_kernel_thread = is_idle_context(line.thread) || is_kernel_thread(line.thread);
    return true;
  }
  if (line.owner != TaskKind::unknown) return true;
  if (threads()[line.thread].hidden()) return false;
  row.is_kernel_thread = is_kernel_thread(line.thread);
  return options().kernel_threads || !row.is_kernel_thread;
}

void ScriptAnalysis::fill_task_row(const Line& line, IntervalRow& row) {
  row.state = line.state;
  row.preempted = line.preempted;
  row.uncertain = line.uncertain;
  row.includes_waiting = line.includes_waiting;
  if (line.kind == RowKind::sleep) {
    row.place = &sleep_place(line);
    row.other = waker_text(line);
  } else {
    row.place = &cause_place(CauseTable::kCpuWait);
    row.other = task_text(line.other);
  }
  if (line.cgroup == 0) return;
  const auto path = cgroups_.find(line.cgroup);
  if (path != cgroups_.end()) row.cgroup = path->second;
}

void ScriptAnalysis::fill_lock_row(const Line& line, IntervalRow& row) {
  row.place = &lock_place(line.stack);
  row.lock = &lock_text(line);
  row.contended = line.contended;
  row.failed = line.failed;
  if (line.kind == RowKind::hold) return;
  if (lock_source(line.lock_type) == LockSource::contention) {
    row.spin_ns = line.spin_ns;
    row.sleep_ns = line.sleep_ns;
  }
  row.other = task_text(line.other);
  if (row.other.known) row.other_ns = line.other_ns;
}

void ScriptAnalysis::fill_work_row(const Line& line, IntervalRow& row) {
  if (line.spin_ns != 0) row.queued_ns = line.spin_ns;
  row.other = task_text(line.other);
  if (row.other.known) row.other_ns = line.other_ns;
}

void ScriptAnalysis::give(const Line& line) {
  IntervalRow row;
  if (!is_shown(line, row)) return;
  if (script_.limit != 0 && rows_ >= script_.limit) {
    ++left_out_;
    return;
  }
  ++rows_;
  row.kind = line.kind;
  row.start_ns = line.start_ns;
  row.end_ns = line.end_ns;
  row.full_ns = line.full_ns;
  row.cpu = line.cpu;
  row.open = line.open;
  row.began_before = line.began_before;
  row.task.known = true;
  row.task.tid = line.tid;
  row.task.pid = line.pid;
  row.task.comm = strings().view(line.comm);
  if (line.thread.valid() && !is_idle_context(line.thread)) row.task.thread = line.thread.value;
  if (is_of_task(line.kind))
    fill_task_row(line, row);
  else if (line.kind == RowKind::vmstat_sync)
    fill_work_row(line, row);
  else
    fill_lock_row(line, row);
  taker_.take(row);
}

}  // namespace perf_latency
