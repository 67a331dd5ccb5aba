// SPDX-License-Identifier: GPL-2.0-only
// Joins sleeps with user call chains that come later (kernel 6.19, perf_event_attr.defer_callchain).
//
// The sample of a switch-out then holds a cookie in place of user frames, and the frames follow in a
// record when the thread returns to user mode, which is after the sleep has ended. So its interval is
// held back until that record comes. Bounded: a thread's cookie changes with each entry into the
// kernel, which proves that the record of an older one is lost; and at most kMaxHeld intervals of a
// thread wait. What waits in vain is given out without a user chain. Intervals that were held are not
// in order of their end.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/window.h"
#include "model/interval.h"
#include "model/thread_table.h"

namespace perf_latency {

class DeferredStacks {
 public:
  static constexpr size_t kMaxHeld = 64;

  struct Held {
    Interval interval;
    TimeSpan inside;
    TaskKind kind = TaskKind::unknown;
  };

  // Stands in an interval for a chain that has not come yet.
  static constexpr StackId kPlaceholder{Id<StackTag>::kNone - 1};

  // The thread goes to sleep, and the chain of `cookie` is its user chain.
  void expect(int32_t tid, uint32_t cookie);
  // An interval whose user_stack is kPlaceholder.
  void hold(int32_t tid, Held held);
  // The chain has come; none: it is empty.
  void arrive(int32_t tid, uint32_t cookie, StackId chain);
  // No more will come.
  void finish();

  // The intervals that need not wait any longer, with their chain if it came.
  std::vector<Held> take_ready() { return std::exchange(ready_, {}); }

 private:
  struct Waiting {
    uint32_t cookie = 0;
    bool arrived = false;
    StackId chain;
    std::vector<Held> held;
  };

  void release(Waiting& waiting, StackId chain);

  std::unordered_map<int32_t, Waiting> waiting_;
  std::vector<Held> ready_;
};

}  // namespace perf_latency
