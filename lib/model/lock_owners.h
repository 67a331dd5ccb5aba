// SPDX-License-Identifier: GPL-2.0-only
// Who owned one lock while somebody waited for it.
//
// Two kinds of knowledge. Exact: lockdep, mmap_lock and rstat events tell each acquisition and release.
// Stock kernels: only those who had waited tell that they got the lock (contention_end with 0), and a
// release shows as the waking of a waiter out of a release function. From these:
//
//   current owner   acquired by Y                  released by W == current   released by W != current
//   -------------   ----------------------------   ------------------------   ------------------------
//   none            Y from here                    -                          W from the last change
//                                                                             (or from before) to here
//   X               X up to here ("handover"),     X up to here ("wakeup"),   a reader: from X's start,
//                   Y from here; both readers:     none from here             one of several; else what
//                   X becomes one of several                                  X had is unknown; none
//
// Nothing is remembered while nobody waits: then releases are not seen. Times come in order. Rules:
// Documentation/semantics.md, "Lock waits"; kernel/locking/{mutex,rwsem}.c (6.12): an unlock wakes the
// first waiter, who may find the lock taken by another and sleeps again.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"

namespace perf_latency {

// From where it is known who owned the lock.
enum class HolderHow : uint8_t { unknown, exact, wakeup, handover };

// A part of a wait. owner none: nobody known.
struct HolderSegment {
  ThreadId owner;
  HolderHow how = HolderHow::unknown;
  bool one_of_several = false;
  bool released = false;  // unknown, because the lock had been released to the waiter already
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  StackId release_stack;  // of the owner's release, where it is known
};

// A hold whose both ends are known on a stock kernel: contended at both.
struct ContendedHold {
  uint64_t start_ns = 0;
  StackId stack;  // of the wait that the owner got the lock by
};

class LockOwners {
 public:
  static constexpr size_t kMaxSpans = 16384;

  void begin_wait() { ++waits_; }
  void end_wait();
  bool unused() const { return waits_ == 0 && holds_.empty(); }

  // Stock kernels.
  void acquired(ThreadId thread, uint64_t time_ns, bool read, StackId stack);
  std::optional<ContendedHold> released(ThreadId thread, uint64_t time_ns, bool read,
                                        StackId stack);

  // Exact knowledge. stop_hold takes the last hold of the thread.
  void start_hold(ThreadId thread, uint64_t time_ns, bool read);
  void stop_hold(ThreadId thread, uint64_t time_ns, StackId stack);

  // The parts of a wait [start, end], in order and without gaps. `spinning`: an owner is known only
  // from an acquisition inside the wait. `ended` false: the wait still goes on, or was given up.
  void segments(ThreadId waiter, uint64_t start_ns, uint64_t end_ns, bool read, bool spinning,
                bool ended, std::vector<HolderSegment>& out) const;

 private:
  struct Hold {
    ThreadId thread;
    uint64_t start_ns = 0;
    bool read = false;
    StackId stack;
  };

  void keep(const HolderSegment& span);

  std::vector<HolderSegment> spans_;  // in order of end
  std::vector<Hold> holds_;           // exact, going on
  std::vector<Hold> readers_;         // stock, beside the current owner
  ThreadId current_;
  StackId current_stack_;
  uint64_t since_ns_ = 0;
  uint64_t last_change_ns_ = 0;
  bool current_reads_ = false;
  uint32_t waits_ = 0;
};

}  // namespace perf_latency
