// SPDX-License-Identifier: GPL-2.0-only
// The kinds of kernel locks, by perf lock's names, and what they are to the lock model.
//
// Flags of lock:contention_begin: include/trace/events/lock.h (6.12), LCB_F_*. MUTEX came after the
// first kernels with the event (5.19): there a mutex has flags 0, as a semaphore has.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace perf_latency {

enum class LockType : uint8_t {
  semaphore,
  mutex,
  spinlock,
  rwlock_read,
  rwlock_write,
  rwsem_read,
  rwsem_write,
  rtmutex,
  rwlock_rt_read,
  rwlock_rt_write,
  pcpu_sem_read,
  pcpu_sem_write,
  lockdep,  // whatever has a lock class: the events do not tell
  lockdep_read,
  mmap_lock_read,
  mmap_lock_write,
  rstat,
  rstat_cpu,
  count_
};
inline constexpr size_t kLockTypes = static_cast<size_t>(LockType::count_);

// Which events a wait or a hold is known from.
enum class LockSource : uint8_t { contention, lockdep, mmap_lock, rstat };
inline constexpr size_t kLockSources = 4;

inline constexpr uint32_t kLockSpin = 1;
inline constexpr uint32_t kLockRead = 2;
inline constexpr uint32_t kLockWrite = 4;
inline constexpr uint32_t kLockRt = 8;
inline constexpr uint32_t kLockPercpu = 16;
inline constexpr uint32_t kLockMutex = 32;

LockType lock_type_of_flags(uint32_t flags);
LockSource lock_source(LockType type);
std::string_view lock_type_name(LockType type);
// Also perf's older spellings ("rt-mutex", "rw-sem:R").
std::optional<LockType> parse_lock_type(std::string_view name);

bool lock_spins(LockType type);    // never sleeps
bool lock_is_read(LockType type);  // others may hold it at the same time

// Whether a function whose label is `release_kind` (causes/function_groups.h) gives up a lock of this
// type: the words before the colon are equal, and a side that is named is the right one for nobody's
// harm: a reader's release ends a writer's wait.
bool releases(std::string_view release_kind, LockType type);

}  // namespace perf_latency
