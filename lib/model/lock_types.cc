// SPDX-License-Identifier: GPL-2.0-only
#include "model/lock_types.h"

#include <array>

namespace perf_latency {
namespace {

struct TypeRow {
  LockType type;
  std::string_view name;
  std::string_view other_name;
  LockSource source;
  bool spins;
  bool read;
};

using T = LockType;
using S = LockSource;
constexpr std::array<TypeRow, kLockTypes> kTypes{{
    {T::semaphore, "semaphore", "", S::contention, false, false},
    {T::mutex, "mutex", "", S::contention, false, false},
    {T::spinlock, "spinlock", "", S::contention, true, false},
    {T::rwlock_read, "rwlock:R", "", S::contention, true, true},
    {T::rwlock_write, "rwlock:W", "", S::contention, true, false},
    {T::rwsem_read, "rwsem:R", "rw-sem:R", S::contention, false, true},
    {T::rwsem_write, "rwsem:W", "rw-sem:W", S::contention, false, false},
    {T::rtmutex, "rtmutex", "rt-mutex", S::contention, false, false},
    {T::rwlock_rt_read, "rwlock-rt:R", "", S::contention, false, true},
    {T::rwlock_rt_write, "rwlock-rt:W", "", S::contention, false, false},
    {T::pcpu_sem_read, "pcpu-sem:R", "percpu-rwsem:R", S::contention, false, true},
    {T::pcpu_sem_write, "pcpu-sem:W", "percpu-rwsem:W", S::contention, false, false},
    {T::lockdep, "lockdep", "", S::lockdep, false, false},
    {T::lockdep_read, "lockdep:R", "", S::lockdep, false, true},
    {T::mmap_lock_read, "mmap_lock:R", "", S::mmap_lock, false, true},
    {T::mmap_lock_write, "mmap_lock:W", "", S::mmap_lock, false, false},
    {T::rstat, "rstat", "", S::rstat, true, false},
    {T::rstat_cpu, "rstat-cpu", "", S::rstat, true, false},
}};

const TypeRow& row(LockType type) { return kTypes[static_cast<size_t>(type)]; }

}  // namespace

LockType lock_type_of_flags(uint32_t flags) {
  const bool read = (flags & kLockRead) != 0;
  const bool write = (flags & kLockWrite) != 0;
  if ((flags & kLockMutex) != 0) return T::mutex;
  if ((flags & kLockPercpu) != 0) return read ? T::pcpu_sem_read : T::pcpu_sem_write;
  if ((flags & kLockRt) != 0)
    return read ? T::rwlock_rt_read : write ? T::rwlock_rt_write : T::rtmutex;
  if ((flags & kLockSpin) != 0)
    return read ? T::rwlock_read : write ? T::rwlock_write : T::spinlock;
  return read ? T::rwsem_read : write ? T::rwsem_write : T::semaphore;
}

LockSource lock_source(LockType type) { return row(type).source; }
std::string_view lock_type_name(LockType type) { return row(type).name; }
bool lock_spins(LockType type) { return row(type).spins; }
bool lock_is_read(LockType type) { return row(type).read; }

std::optional<LockType> parse_lock_type(std::string_view name) {
  for (const TypeRow& known : kTypes)
    if (name == known.name || (!known.other_name.empty() && name == known.other_name))
      return known.type;
  return std::nullopt;
}

bool releases(std::string_view release_kind, LockType type) {
  const std::string_view kind = release_kind.substr(0, release_kind.find(':'));
  const std::string_view name = lock_type_name(type);
  const std::string_view base = name.substr(0, name.find(':'));
  if (kind == base) return true;
  switch (type) {
    case T::semaphore:  // flags 0: a mutex of the first kernels
      return kind == "mutex";
    case T::rwlock_rt_read:
    case T::rwlock_rt_write:
      return kind == "rwlock" || kind == "rtmutex";
    case T::lockdep:
    case T::lockdep_read:
      return true;
    case T::mmap_lock_read:
    case T::mmap_lock_write:
      return kind == "rwsem";
    default:
      return false;
  }
}

}  // namespace perf_latency
