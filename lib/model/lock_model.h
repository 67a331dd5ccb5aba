// SPDX-License-Identifier: GPL-2.0-only
// Follows waits for and holds of kernel locks, and emits each when it is over.
//
// Input: lock and wakeup events in order of time, each with the context that it happened in: the
// running thread, or the idle task of a CPU. Rules: Documentation/semantics.md, "Lock waits"; events:
// include/trace/events/{lock,mmap_lock,cgroup}.h (6.12). Locks are told apart by source and address.
//
//   a context's waits (a small stack; interrupts and spinlocks nest inside)
//   event                      no wait for that lock          a wait for that lock is open
//   -------------------------  -----------------------------  ------------------------------------
//   contention_begin           opens one, on top              mutex: its next phase (spin, sleep);
//                                                             else its end was lost: a new one
//   contention_end, acquired   an odd end: began before the   closes it; what was opened later in
//                              recording, or was lost         this context lost its end
//   lock_contended (lockdep,   opens one                      as above
//   rstat), start_locking
//   sched_waking of the thread -                              a sleeping lock: its owner releases
//                                                             it, if the waker's chain says so
//
//   a context's holds (lockdep, mmap_lock, rstat; need not nest, last in first out by lock)
//   acquire / acquired         opens one; lockdep: at lock_acquire, moved to lock_acquired if there
//                              was a wait (kernel/locking/lockdep.c, lock_acquired(), 6.12)
//   release / unlock           closes the last one; without one: held since before the recording
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/string_pool.h"
#include "model/lock_owners.h"
#include "model/lock_types.h"
#include "tracepoint/event.h"

namespace perf_latency {

// The idle task of a CPU takes locks too. Its context is no thread of the thread table.
inline constexpr uint32_t kIdleContexts = 0xff000000u;
constexpr ThreadId idle_context(uint32_t cpu) { return ThreadId{kIdleContexts + (cpu & 0xffffu)}; }
constexpr bool is_idle_context(ThreadId id) { return id.valid() && id.value >= kIdleContexts; }

struct LockKey {
  LockSource source = LockSource::contention;
  uint64_t address = 0;
  friend bool operator==(const LockKey&, const LockKey&) = default;
};
struct LockKeyHash {
  size_t operator()(const LockKey& key) const noexcept {
    return (key.address ^ static_cast<uint64_t>(key.source)) * 0x9e3779b97f4a7c15ull >> 7;
  }
};

struct LockWait {
  LockType type = LockType::spinlock;
  bool failed = false;        // gave up (contention_end with an error, mmap trylock)
  bool open = false;          // still waiting when the recording ended
  bool began_before = false;  // was waiting when the recording began
  uint32_t cpu = 0;           // where it began
  uint64_t address = 0;
  StringId name = StringPool::kEmpty;  // lockdep
  LockKey outer;  // the named lock that this wait is a part of (mmap_lock, rstat, lockdep)
  StringId outer_name = StringPool::kEmpty;
  bool has_outer = false;
  ThreadId thread;
  StackId stack;
  uint64_t cgroup = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t spin_ns = 0;  // contention source: they add up to the wait
  uint64_t sleep_ns = 0;
  std::span<const HolderSegment> holders;  // fill the wait; empty without holder analysis
  std::span<const uint64_t> samples;       // times of CPU samples taken while it went on

  uint64_t length_ns() const { return end_ns - start_ns; }
};

struct LockHold {
  LockType type = LockType::lockdep;
  bool open = false;
  bool began_before = false;
  bool contended = false;
  bool yielded = false;  // rstat: taken again in the middle of a flush
  uint32_t cpu = 0;
  uint64_t address = 0;
  StringId name = StringPool::kEmpty;
  ThreadId thread;
  StackId stack;  // of the acquisition
  uint64_t cgroup = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  // Where lockdep's own statistics let the hold begin: releasing an outer lock first makes the kernel
  // take up the inner ones again (reacquire_held_locks(), kernel/locking/lockdep.c, 6.12).
  uint64_t stat_start_ns = 0;

  uint64_t length_ns() const { return end_ns - start_ns; }
};

class LockSink {
 public:
  virtual ~LockSink() = default;
  virtual void on_lock_wait(const LockWait& wait) = 0;
  virtual void on_lock_hold(const LockHold& hold) = 0;
  // What a waker's call chain releases, in perf lock's words; "" when it is no release.
  virtual std::string_view release_kind(StackId waker_stack) = 0;
};

struct LockCounts {
  uint64_t ends_without_begin = 0;
  uint64_t waits_without_end = 0;
  uint64_t releases_without_acquire = 0;
  uint64_t overflows = 0;
};

class LockModel {
 public:
  struct OpenWait {
    LockWait wait;
    uint64_t phase_start_ns = 0;
    bool phase_spins = false;
    std::vector<uint64_t> samples;
  };

  LockModel(LockSink& sink, bool with_holders) : sink_(sink), with_holders_(with_holders) {}

  void set_start(uint64_t start_ns) { start_ns_ = start_ns; }
  // `woken` is the thread that a sched_waking is about.
  void handle(const Event& event, ThreadId context, ThreadId woken = {});
  // Closes what is still going on.
  void finish(uint64_t end_ns);

  // The innermost wait that a context spins in now, for CPU samples; null when there is none.
  const OpenWait* add_sample(ThreadId context, uint64_t time_ns);
  const LockCounts& counts() const { return counts_; }

 private:
  static constexpr size_t kMaxOpen = 64;   // waits of one context
  static constexpr size_t kMaxHeld = 256;  // holds of one context (MAX_LOCK_DEPTH is 48)
  static constexpr size_t kMaxSamples = 4096;

  struct Held {
    LockHold hold;
    bool waiting = false;  // lockdep: lock_contended came, lock_acquired not yet
    bool counted = false;  // its owner stands in the lock's LockOwners
  };
  struct Context {
    std::vector<OpenWait> waits;
    std::vector<Held> held;
    bool seen = false;
  };

  Context& context_of(ThreadId id);
  LockWait describe(const Event& event, ThreadId context, LockType type, uint64_t address) const;
  void begin_wait(Context& context, LockWait wait, bool spins);
  void drop_above(Context& context, size_t at);
  bool end_wait(Context& context, const Event& event, LockKey key, bool failed);
  OpenWait* find_wait(Context& context, LockKey key);
  void emit(OpenWait& open, uint64_t end_ns);

  void on_contention_begin(const Event& event, Context& context, ThreadId id);
  void on_lockdep(const Event& event, Context& context, ThreadId id);
  void on_mmap_lock(const Event& event, Context& context, ThreadId id);
  void on_rstat(const Event& event, Context& context, ThreadId id);
  void on_waking(const Event& event, ThreadId waker, ThreadId woken);

  Held* find_held(Context& context, LockKey key);
  Held& start_hold(Context& context, const Event& event, ThreadId id, LockType type,
                   uint64_t address);
  void own(Held& held, uint64_t time_ns);
  void stop_hold(Context& context, const Event& event, ThreadId id, LockType type,
                 uint64_t address);
  void disown(const Held& held, uint64_t time_ns, StackId stack);
  LockOwners& owners(const LockKey& key) { return owners_[key]; }
  void forget_if_unused(const LockKey& key);

  LockSink& sink_;
  bool with_holders_;
  uint64_t start_ns_ = 0;
  std::vector<Context> threads_;
  std::vector<Context> idle_;
  std::unordered_map<LockKey, LockOwners, LockKeyHash> owners_;
  std::vector<HolderSegment> segments_;
  LockCounts counts_;
};

}  // namespace perf_latency
