// SPDX-License-Identifier: GPL-2.0-only
// The threads of a recording. A reused tid is another thread; a renamed one is the same.
//
// find() gives the thread that has a tid now. Threads are never removed: reports name those that have
// exited. tid 0, the idle tasks, is no thread.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/string_pool.h"

namespace perf_latency {

// What a thread is doing, as far as its own events tell.
enum class TaskPhase : uint8_t {
  unseen,  // known from a table of the recording only; lives since before it
  unborn,  // forked, not yet woken for the first time
  running,
  sleeping,   // includes all states that are not runnable
  woken,      // waiting for a CPU after a wakeup
  preempted,  // waiting for a CPU after it was taken off one
  dead,
};

enum class TaskKind : uint8_t { unknown, user, kernel };

struct Thread {
  int32_t tid = -1;
  int32_t pid = -1;
  int32_t parent_pid = -1;
  StringId comm = StringPool::kEmpty;
  TaskPhase phase = TaskPhase::unseen;
  TaskKind kind = TaskKind::unknown;
  uint8_t state = 'S';        // letter of the last sleep
  bool began_before = false;  // the current interval began before the recording
  bool waking_seen = false;   // sleeping: a waking came (waking_ns), its wakeup not yet
  bool early_waking = false;  // a waking came before the switch-out that it answers
  bool exiting = false;
  bool born_inside = false;  // forked during the recording
  bool left_seen = false;    // it left a CPU, in an event of its own
  bool left_unseen = false;  // it left a CPU without an event, though nothing was lost
  int16_t prio = 0;
  uint32_t cpu = 0;  // running: where; else where it was switched out
  uint64_t life_start_ns = 0;
  uint64_t since_ns = 0;  // start of the current interval
  StackId stack;          // of the current or last sleep
  StackId user_stack;
  uint64_t waking_ns = 0;
  ThreadId waker;
  StackId waker_stack;
  ThreadId preempted_by;
  uint64_t cgroup = 0;

  // Some tasks' own events are kept from perf (seen: those of the init process of a sandbox): others
  // are seen to hand the CPU to them, and that is all there is to know.
  bool hidden() const { return left_unseen && !left_seen; }
};

class ThreadTable {
 public:
  // The thread that has `tid` now; none for tid <= 0 and for tids not seen.
  ThreadId find(int32_t tid) const;
  // The same, and makes one when there is none.
  ThreadId get(int32_t tid);
  // Makes a new thread for `tid`; the one that had it, if any, keeps its id only.
  ThreadId create(int32_t tid);
  // Gives the tid of `thread` up for `tid` (exec by a thread that is not the leader).
  void move(ThreadId thread, int32_t tid);

  // References stay good: threads are never moved.
  Thread& operator[](ThreadId id) { return chunks_[id.value / kChunk][id.value % kChunk]; }
  const Thread& operator[](ThreadId id) const {
    return chunks_[id.value / kChunk][id.value % kChunk];
  }
  uint32_t size() const { return size_; }

  // A process that has user mappings is no kernel thread, whatever its parent is.
  void set_has_user_maps(int32_t pid);
  // What the thread is for as long as it lives; unknown also for a child of a kernel thread that may
  // still exec (a user mode helper), and for one that may turn out to be hidden.
  TaskKind kind(const Thread& thread) const;
  // The same at the end of the recording: what it became.
  TaskKind last_kind(const Thread& thread) const;

 private:
  static constexpr uint32_t kPageBits = 12;
  static constexpr uint32_t kPages =
      1u << 10;  // tids up to PID_MAX_LIMIT (4 Mi), include/linux/threads.h
  using Page = std::unique_ptr<ThreadId[]>;

  ThreadId* slot(int32_t tid);

  static constexpr uint32_t kChunk = 1024;

  std::vector<std::unique_ptr<Thread[]>> chunks_;
  uint32_t size_ = 0;
  std::vector<Page> pages_{kPages};
  std::unordered_map<int32_t, ThreadId> others_;
  std::vector<bool> has_user_maps_;
};

}  // namespace perf_latency
