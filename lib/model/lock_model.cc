// SPDX-License-Identifier: GPL-2.0-only
#include "model/lock_model.h"

#include <algorithm>

namespace perf_latency {
namespace {

using K = EventKind;

constexpr uint32_t kLockdepTry = 1;  // lock:lock_acquire, include/trace/events/lock.h
constexpr uint32_t kLockdepRead = 2;

LockKey key_of_wait(const LockWait& wait) { return {lock_source(wait.type), wait.address}; }
LockKey key_of_hold(const LockHold& hold) { return {lock_source(hold.type), hold.address}; }

// Which waits seen by contention_begin are part of a wait that names its lock.
bool belongs_to(LockType inner, LockType outer) {
  switch (lock_source(outer)) {
    case LockSource::mmap_lock:
      return inner == LockType::rwsem_read || inner == LockType::rwsem_write;
    case LockSource::rstat:
      return inner == LockType::spinlock;
    case LockSource::lockdep:
      return true;
    case LockSource::contention:
      return false;
  }
  return false;
}

// The side of an rwsem that a release function gives up decides about the hold's type.
LockType type_of_release(std::string_view kind, LockType waited_for) {
  if (kind == "rwsem:R") return LockType::rwsem_read;
  if (kind == "rwsem:W") return LockType::rwsem_write;
  if (kind == "pcpu-sem:R") return LockType::pcpu_sem_read;
  if (kind == "pcpu-sem:W") return LockType::pcpu_sem_write;
  return waited_for;
}

}  // namespace

LockModel::Context& LockModel::context_of(ThreadId id) {
  const bool idle = is_idle_context(id);
  std::vector<Context>& contexts = idle ? idle_ : threads_;
  const size_t index = idle ? id.value - kIdleContexts : id.value;
  if (index >= contexts.size()) contexts.resize(index + 1);
  return contexts[index];
}

void LockModel::handle(const Event& event, ThreadId context_id, ThreadId woken) {
  if (event.kind == K::sched_waking) {
    if (woken.valid()) on_waking(event, context_id, woken);
    return;
  }
  if (event.kind < K::contention_begin || event.kind > K::rstat_cpu_unlock_fastpath ||
      !context_id.valid())
    return;
  Context& context = context_of(context_id);
  switch (event.kind) {
    case K::contention_begin:
      on_contention_begin(event, context, context_id);
      break;
    case K::contention_end:
      if (!end_wait(context, event, {LockSource::contention, event.lock.address},
                    event.lock.ret != 0))
        ++counts_.ends_without_begin;
      break;
    case K::lock_acquire:
    case K::lock_contended:
    case K::lock_acquired:
    case K::lock_release:
      on_lockdep(event, context, context_id);
      break;
    case K::mmap_lock_start_locking:
    case K::mmap_lock_acquire_returned:
    case K::mmap_lock_released:
      on_mmap_lock(event, context, context_id);
      break;
    default:
      on_rstat(event, context, context_id);
      break;
  }
  context.seen = true;
}

LockWait LockModel::describe(const Event& event, ThreadId context, LockType type,
                             uint64_t address) const {
  LockWait wait;
  wait.type = type;
  wait.cpu = event.cpu;
  wait.address = address;
  wait.thread = context;
  wait.stack = event.stack;
  wait.cgroup = event.cgroup;
  wait.start_ns = event.time_ns;
  return wait;
}

LockModel::OpenWait* LockModel::find_wait(Context& context, LockKey key) {
  for (size_t i = context.waits.size(); i-- != 0;)
    if (key_of_wait(context.waits[i].wait) == key) return &context.waits[i];
  return nullptr;
}

// What lies above a wait that goes on lost its end.
void LockModel::drop_above(Context& context, size_t at) {
  while (context.waits.size() > at) {
    const LockKey key = key_of_wait(context.waits.back().wait);
    context.waits.pop_back();
    owners(key).end_wait();
    forget_if_unused(key);
    ++counts_.waits_without_end;
  }
}

void LockModel::begin_wait(Context& context, LockWait wait, bool spins) {
  const LockKey key = key_of_wait(wait);
  if (OpenWait* const old = find_wait(context, key))
    drop_above(context, static_cast<size_t>(old - context.waits.data()));
  // A task cannot sleep for two locks: the earlier wait's end was lost.
  if (key.source == LockSource::contention && !lock_spins(wait.type)) {
    for (size_t i = 0; i < context.waits.size(); ++i) {
      const LockType type = context.waits[i].wait.type;
      if (lock_source(type) != LockSource::contention || lock_spins(type)) continue;
      drop_above(context, i);
      break;
    }
  }
  if (context.waits.size() >= kMaxOpen) {
    ++counts_.overflows;
    return;
  }
  if (!context.waits.empty() && belongs_to(wait.type, context.waits.back().wait.type) &&
      key.source == LockSource::contention) {
    const LockWait& outer = context.waits.back().wait;
    wait.has_outer = true;
    wait.outer = key_of_wait(outer);
    wait.outer_name = outer.name;
  }
  owners(key).begin_wait();
  OpenWait open;
  open.wait = wait;
  open.phase_start_ns = wait.start_ns;
  open.phase_spins = spins;
  context.waits.push_back(std::move(open));
}

void LockModel::on_contention_begin(const Event& event, Context& context, ThreadId id) {
  const LockType type = lock_type_of_flags(event.lock.flags);
  const bool spins = (event.lock.flags & kLockSpin) != 0;
  const LockKey key{LockSource::contention, event.lock.address};
  OpenWait* const open = find_wait(context, key);
  if (open == nullptr || type != LockType::mutex || open->wait.type != LockType::mutex) {
    begin_wait(context, describe(event, id, type, event.lock.address), spins);
    return;
  }
  const auto at = static_cast<size_t>(open - context.waits.data());
  drop_above(context, at + 1);
  OpenWait& now = context.waits[at];
  (now.phase_spins ? now.wait.spin_ns : now.wait.sleep_ns) += event.time_ns - now.phase_start_ns;
  now.phase_start_ns = event.time_ns;
  now.phase_spins = spins;
}

bool LockModel::end_wait(Context& context, const Event& event, LockKey key, bool failed) {
  OpenWait* const found = find_wait(context, key);
  if (found == nullptr) return false;
  const auto at = static_cast<size_t>(found - context.waits.data());
  drop_above(context, at + 1);
  OpenWait open = std::move(context.waits.back());
  context.waits.pop_back();
  open.wait.failed = failed;
  LockOwners& lock = owners(key);
  if (!failed && key.source == LockSource::contention)
    lock.acquired(open.wait.thread, event.time_ns, lock_is_read(open.wait.type), open.wait.stack);
  emit(open, event.time_ns);
  lock.end_wait();
  forget_if_unused(key);
  return true;
}

void LockModel::emit(OpenWait& open, uint64_t end_ns) {
  LockWait& wait = open.wait;
  wait.end_ns = std::max(end_ns, wait.start_ns);
  (open.phase_spins ? wait.spin_ns : wait.sleep_ns) +=
      wait.end_ns - std::min(open.phase_start_ns, wait.end_ns);
  wait.samples = open.samples;
  segments_.clear();
  if (with_holders_) {
    const LockKey exact = wait.has_outer ? wait.outer : key_of_wait(wait);
    const bool spinning = lock_spins(wait.type) && exact.source == LockSource::contention;
    owners(exact).segments(wait.thread, wait.start_ns, wait.end_ns, lock_is_read(wait.type),
                           spinning, !wait.failed && !wait.open, segments_);
  }
  wait.holders = segments_;
  sink_.on_lock_wait(wait);
}

void LockModel::on_waking(const Event& event, ThreadId waker, ThreadId woken) {
  if (!waker.valid() || is_idle_context(waker) || woken.value >= threads_.size()) return;
  Context& context = threads_[woken.value];
  for (size_t i = context.waits.size(); i-- != 0;) {
    const LockWait& wait = context.waits[i].wait;
    if (lock_spins(wait.type)) continue;
    const LockKey key = key_of_wait(wait);
    if (key.source != LockSource::contention) return;
    const std::string_view kind = sink_.release_kind(event.stack);
    if (kind.empty() || !releases(kind, wait.type)) return;
    const auto hold = owners(key).released(waker, event.time_ns, kind.ends_with(":R"), event.stack);
    if (!hold) return;
    LockHold whole;
    whole.type = type_of_release(kind, wait.type);
    whole.contended = true;
    whole.cpu = event.cpu;
    whole.address = wait.address;
    whole.thread = waker;
    whole.stack = hold->stack;
    whole.cgroup = event.cgroup;
    whole.start_ns = whole.stat_start_ns = hold->start_ns;
    whole.end_ns = event.time_ns;
    sink_.on_lock_hold(whole);
    return;
  }
}

const LockModel::OpenWait* LockModel::add_sample(ThreadId context_id, uint64_t time_ns) {
  if (!context_id.valid()) return nullptr;
  Context& context = context_of(context_id);
  if (context.waits.empty()) return nullptr;
  OpenWait& open = context.waits.back();
  if (open.samples.size() < kMaxSamples) open.samples.push_back(time_ns);
  return &open;
}

LockModel::Held* LockModel::find_held(Context& context, LockKey key) {
  for (size_t i = context.held.size(); i-- != 0;)
    if (key_of_hold(context.held[i].hold) == key) return &context.held[i];
  return nullptr;
}

LockModel::Held& LockModel::start_hold(Context& context, const Event& event, ThreadId id,
                                       LockType type, uint64_t address) {
  if (context.held.size() >= kMaxHeld) {
    ++counts_.overflows;
    disown(context.held.front(), event.time_ns, {});
    context.held.erase(context.held.begin());
  }
  Held& held = context.held.emplace_back();
  held.hold.type = type;
  held.hold.cpu = event.cpu;
  held.hold.address = address;
  held.hold.thread = id;
  held.hold.stack = event.stack;
  held.hold.cgroup = event.cgroup;
  held.hold.start_ns = held.hold.stat_start_ns = event.time_ns;
  return held;
}

void LockModel::own(Held& held, uint64_t time_ns) {
  if (held.counted || !with_holders_) return;
  held.counted = true;
  owners(key_of_hold(held.hold))
      .start_hold(held.hold.thread, time_ns, lock_is_read(held.hold.type));
}

void LockModel::disown(const Held& held, uint64_t time_ns, StackId stack) {
  if (!held.counted) return;
  const LockKey key = key_of_hold(held.hold);
  owners(key).stop_hold(held.hold.thread, time_ns, stack);
  forget_if_unused(key);
}

void LockModel::stop_hold(Context& context, const Event& event, ThreadId id, LockType type,
                          uint64_t address) {
  const LockKey key{lock_source(type), address};
  Held* const found = find_held(context, key);
  if (found == nullptr) {
    ++counts_.releases_without_acquire;
    // mmap_lock may be given up by another task than the one that took it; lockdep's never is.
    if (key.source != LockSource::lockdep && context.seen) return;
    LockHold hold;
    hold.type = type;
    hold.began_before = true;
    hold.cpu = event.cpu;
    hold.address = address;
    if (key.source == LockSource::lockdep) hold.name = event.lock.name;
    hold.thread = id;
    hold.start_ns = hold.stat_start_ns = std::min(start_ns_, event.time_ns);
    hold.end_ns = event.time_ns;
    sink_.on_lock_hold(hold);
    return;
  }
  const Held held = *found;
  if (key.source == LockSource::lockdep)
    for (Held* later = found + 1; later != context.held.data() + context.held.size(); ++later)
      later->hold.stat_start_ns = event.time_ns;
  context.held.erase(context.held.begin() + (found - context.held.data()));
  disown(held, event.time_ns, event.stack);
  LockHold hold = held.hold;
  hold.end_ns = std::max(event.time_ns, hold.start_ns);
  sink_.on_lock_hold(hold);
}

void LockModel::on_lockdep(const Event& event, Context& context, ThreadId id) {
  const uint64_t address = event.lock.address;
  const LockKey key{LockSource::lockdep, address};
  if (event.kind == K::lock_acquire) {
    const bool read = (event.lock.flags & kLockdepRead) != 0;
    Held& held =
        start_hold(context, event, id, read ? LockType::lockdep_read : LockType::lockdep, address);
    held.hold.name = event.lock.name;
    if ((event.lock.flags & kLockdepTry) != 0) own(held, event.time_ns);
    return;
  }
  Held* held = find_held(context, key);
  if (event.kind == K::lock_contended) {
    const bool read = held != nullptr && lock_is_read(held->hold.type);
    LockWait wait = describe(event, id, read ? LockType::lockdep_read : LockType::lockdep, address);
    wait.name = event.lock.name;
    begin_wait(context, wait, false);
    if (held != nullptr) held->waiting = held->hold.contended = true;
  } else if (event.kind == K::lock_acquired) {
    const bool waited = end_wait(context, event, key, false);
    if (held == nullptr) {
      held = &start_hold(context, event, id, LockType::lockdep, address);
      held->hold.name = event.lock.name;
    }
    if (waited) held->hold.start_ns = held->hold.stat_start_ns = event.time_ns;
    held->waiting = false;
    own(*held, event.time_ns);
  } else {
    if (held != nullptr && held->waiting) end_wait(context, event, key, true);
    stop_hold(context, event, id, LockType::lockdep, address);
  }
}

void LockModel::on_mmap_lock(const Event& event, Context& context, ThreadId id) {
  const bool write = (event.flags & kEventWrite) != 0;
  const LockType type = write ? LockType::mmap_lock_write : LockType::mmap_lock_read;
  const uint64_t address = event.lock.address;
  const LockKey key{LockSource::mmap_lock, address};
  if (event.kind == K::mmap_lock_start_locking) {
    begin_wait(context, describe(event, id, type, address), false);
  } else if (event.kind == K::mmap_lock_released) {
    stop_hold(context, event, id, type, address);
  } else {
    const bool failed = (event.flags & kEventFailed) != 0;
    const bool waited = end_wait(context, event, key, failed);
    if (failed) return;
    // mmap_write_downgrade() reports an acquisition for reading without a start.
    Held* const held = find_held(context, key);
    if (!waited && !write && held != nullptr && held->hold.type == LockType::mmap_lock_write)
      stop_hold(context, event, id, LockType::mmap_lock_write, address);
    own(start_hold(context, event, id, type, address), event.time_ns);
  }
}

// kernel/cgroup/rstat.c (6.12): __cgroup_rstat_lock() for the global lock, where `cpu` is -1 at the
// first lock of a flush; _cgroup_rstat_cpu_lock() for the per-CPU ones.
void LockModel::on_rstat(const Event& event, Context& context, ThreadId id) {
  const bool global = event.kind <= K::rstat_unlock;
  const LockType type = global ? LockType::rstat : LockType::rstat_cpu;
  const uint64_t address = global ? 0 : static_cast<uint64_t>(uint32_t(event.rstat.cpu)) + 1;
  const LockKey key{LockSource::rstat, address};
  switch (event.kind) {
    case K::rstat_lock_contended:
    case K::rstat_cpu_lock_contended:
    case K::rstat_cpu_lock_contended_fastpath:
      begin_wait(context, describe(event, id, type, address), true);
      break;
    case K::rstat_locked:
    case K::rstat_cpu_locked:
    case K::rstat_cpu_locked_fastpath: {
      end_wait(context, event, key, false);
      Held& held = start_hold(context, event, id, type, address);
      held.hold.contended = (event.flags & kEventWrite) != 0;
      held.hold.yielded = global && event.rstat.cpu >= 0;
      own(held, event.time_ns);
      break;
    }
    default:
      stop_hold(context, event, id, type, address);
      break;
  }
}

void LockModel::forget_if_unused(const LockKey& key) {
  const auto found = owners_.find(key);
  if (found != owners_.end() && found->second.unused()) owners_.erase(found);
}

void LockModel::finish(uint64_t end_ns) {
  for (std::vector<Context>* contexts : {&threads_, &idle_}) {
    for (Context& context : *contexts) {
      for (OpenWait& open : context.waits) {
        open.wait.open = true;
        emit(open, end_ns);
      }
      for (Held& held : context.held) {
        held.hold.open = true;
        held.hold.end_ns = std::max(end_ns, held.hold.start_ns);
        sink_.on_lock_hold(held.hold);
      }
      context.waits.clear();
      context.held.clear();
    }
  }
  owners_.clear();
}

}  // namespace perf_latency
