// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/account.h"

namespace perf_latency {

void AccountSums::add(IntervalKind kind, uint64_t length_ns) {
  switch (kind) {
    case IntervalKind::running:
      running_ns += length_ns;
      break;
    case IntervalKind::sleeping:
      sleeping_ns += length_ns;
      break;
    case IntervalKind::runnable:
      runnable_ns += length_ns;
      break;
    case IntervalKind::hidden:
      hidden_ns += length_ns;
      break;
    case IntervalKind::unknown:
      unknown_ns += length_ns;
      break;
  }
}

void AccountSums::merge(const AccountSums& other) {
  lives_ns += other.lives_ns;
  running_ns += other.running_ns;
  sleeping_ns += other.sleeping_ns;
  runnable_ns += other.runnable_ns;
  hidden_ns += other.hidden_ns;
  unknown_ns += other.unknown_ns;
  threads += other.threads;
}

void Account::add(TaskKind kind, ThreadId thread, IntervalKind interval, uint64_t length_ns) {
  AccountSums& sums = kind == TaskKind::user     ? user_
                      : kind == TaskKind::kernel ? kernel_
                                                 : undecided_[thread];
  sums.add(interval, length_ns);
}

// A thread counts once: where its life is closed.
void Account::add_life(TaskKind kind, ThreadId thread, uint64_t length_ns, uint64_t threads) {
  AccountSums& sums = kind == TaskKind::user     ? user_
                      : kind == TaskKind::kernel ? kernel_
                                                 : undecided_[thread];
  sums.lives_ns += length_ns;
  sums.threads += threads;
}

uint64_t Account::settle(const std::function<TaskKind(ThreadId)>& kind_of) {
  uint64_t left_out = 0;
  for (const auto& [thread, sums] : undecided_) {
    const TaskKind kind = kind_of(thread);
    if (kind == TaskKind::unknown)
      ++left_out;
    else
      (kind == TaskKind::kernel ? kernel_ : user_).merge(sums);
  }
  undecided_.clear();
  return left_out;
}

Totals Account::totals(bool with_kernel_threads, bool runnable_known) const {
  AccountSums sums = user_;
  Totals totals;
  if (with_kernel_threads)
    sums.merge(kernel_);
  else
    totals.excluded_kernel_threads_ns = kernel_.sleeping_ns + kernel_.runnable_ns;
  totals.threads = sums.threads;
  totals.thread_time_ns = sums.lives_ns;
  totals.running_ns = sums.running_ns;
  totals.sleeping_ns = sums.sleeping_ns;
  if (runnable_known)
    totals.runnable_ns = sums.runnable_ns;
  else
    totals.sleeping_ns += sums.runnable_ns;
  totals.hidden_ns = sums.hidden_ns;
  totals.unknown_ns = sums.unknown_ns;
  return totals;
}

}  // namespace perf_latency
