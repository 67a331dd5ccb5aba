// SPDX-License-Identifier: GPL-2.0-only
// The account: where the threads' time went. Its parts add up to the threads' lives, to the ns.
//
// Kernel threads are told from others by the recorded tables. A thread of which they tell nothing is
// decided at the end, by what its sleeps were (a chain that enters from user mode, or not).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>

#include "model/interval.h"
#include "model/thread_table.h"
#include "report/report.h"

namespace perf_latency {

struct AccountSums {
  uint64_t lives_ns = 0;
  uint64_t running_ns = 0;
  uint64_t sleeping_ns = 0;
  uint64_t runnable_ns = 0;
  uint64_t hidden_ns = 0;
  uint64_t unknown_ns = 0;
  uint64_t threads = 0;

  void add(IntervalKind kind, uint64_t length_ns);
  void merge(const AccountSums& other);
};

class Account {
 public:
  // `length_ns` is what of the interval lies in the window.
  void add(TaskKind kind, ThreadId thread, IntervalKind interval, uint64_t length_ns);
  void add_life(TaskKind kind, ThreadId thread, uint64_t length_ns, uint64_t threads);

  // Decides about the threads of unknown kind; one that stays unknown is left out of the account.
  // Returns how many are.
  uint64_t settle(const std::function<TaskKind(ThreadId)>& kind_of);

  // After settle(). `runnable_known` false: waiting for a CPU is inside sleeping.
  Totals totals(bool with_kernel_threads, bool runnable_known) const;

 private:
  AccountSums user_;
  AccountSums kernel_;
  std::unordered_map<ThreadId, AccountSums> undecided_;
};

}  // namespace perf_latency
