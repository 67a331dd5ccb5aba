// SPDX-License-Identifier: GPL-2.0-only
// The shipped table: what it gives well-known chains, and that it is in order.
#include "causes/shipped_table.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "causes/cause_table.h"
#include "causes/kernel_functions.h"

namespace perf_latency {
namespace {

CauseTable shipped() {
  auto table = CauseTable::load(shipped_cause_table());
  EXPECT_TRUE(table) << table.error().what;
  return std::move(*table);
}

std::vector<std::string_view> frames_of(std::string_view chain) {
  std::vector<std::string_view> frames;
  while (!chain.empty()) {
    const size_t end = std::min(chain.find(';'), chain.size());
    frames.push_back(chain.substr(0, end));
    chain.remove_prefix(std::min(end + 1, chain.size()));
  }
  return frames;
}

// The class of a cause that a chain with this innermost function must have.
std::string class_of(CauseTable& table, std::string_view chain) {
  return table.cause(table.classify(frames_of(chain))).cause_class;
}

TEST(CausesShipped, WellKnownChainsGetTheirCause) {
  CauseTable table = shipped();
  std::ifstream file(PL_SOURCE_DIR "/tests/unit/causes_stacks.txt");
  ASSERT_TRUE(file);
  std::set<std::string> causes;
  size_t chains = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string id;
    std::string kernel;
    std::string chain;
    ASSERT_TRUE(words >> id >> kernel >> chain) << line;
    EXPECT_EQ(table.cause(table.classify(frames_of(chain))).id, id) << kernel << ' ' << chain;
    causes.insert(id);
    ++chains;
  }
  EXPECT_GE(chains, 340u);
  EXPECT_GE(causes.size(), 130u);
  EXPECT_EQ(table.size(), table.table_size()) << "a chain got a fallback cause";
}

TEST(CausesShipped, HasEnoughPatternsAndNoDoubleOnes) {
  const auto file = parse_cause_file(shipped_cause_table());
  ASSERT_TRUE(file) << file.error().what;
  std::map<std::string, std::string> owner;
  for (const CauseSection& cause : file->causes) {
    EXPECT_FALSE(cause.patterns.empty()) << cause.id;
    for (const RankedPattern& ranked : cause.patterns) {
      const auto [at, added] = owner.emplace(ranked.pattern.text(), cause.id);
      EXPECT_TRUE(added) << ranked.pattern.text() << " in " << cause.id << " and " << at->second;
    }
  }
  EXPECT_GE(owner.size(), 2000u);
}

TEST(CausesShipped, IdsAndSentencesAreUnique) {
  const CauseTable table = shipped();
  std::set<std::string> ids;
  std::set<std::string> sentences;
  for (uint32_t i = 0; i < table.table_size(); ++i) {
    const Cause& cause = table.cause(CauseId{i});
    EXPECT_TRUE(ids.insert(cause.id).second) << cause.id;
    EXPECT_TRUE(sentences.insert(cause.sentence).second) << cause.sentence;
    EXPECT_LE(cause.sentence.size(), 90u) << cause.sentence;
    EXPECT_FALSE(cause.sentence.ends_with('.')) << cause.sentence;
  }
  EXPECT_GE(ids.size(), 200u);
}

TEST(CausesShipped, EveryClassIsUsed) {
  const CauseTable table = shipped();
  std::set<std::string_view> used;
  for (uint32_t i = 0; i < table.table_size(); ++i)
    used.insert(table.cause(CauseId{i}).cause_class);
  for (const std::string_view name : kCauseClasses) EXPECT_TRUE(used.contains(name)) << name;
}

TEST(CausesShipped, IdleIsWaitingForWorkOrByOwnWish) {
  CauseTable table = shipped();
  EXPECT_EQ(class_of(table, "schedule;do_sys_poll;__x64_sys_poll"), "idle");
  EXPECT_EQ(class_of(table, "schedule;do_select;core_sys_select"), "idle");
  EXPECT_EQ(class_of(table, "schedule;do_epoll_wait;__x64_sys_epoll_wait"), "idle");
  EXPECT_EQ(class_of(table, "schedule;inet_csk_accept;inet_accept"), "idle");
  EXPECT_EQ(class_of(table, "schedule;do_nanosleep;hrtimer_nanosleep"), "idle");
  EXPECT_EQ(class_of(table, "schedule;do_wait;kernel_wait4"), "idle");
  EXPECT_EQ(class_of(table, "schedule;worker_thread;kthread;ret_from_fork"), "idle");
  EXPECT_EQ(class_of(table, "schedule;kswapd;kthread;ret_from_fork"), "idle");
  EXPECT_EQ(class_of(table, "schedule;futex_do_wait;__futex_wait;futex_wait"), "lock");
  EXPECT_EQ(class_of(table, "schedule;pipe_read;vfs_read"), "ipc");
  EXPECT_EQ(class_of(table, "schedule;some_work_fn;process_one_work;worker_thread"), "other");
}

TEST(CausesShipped, LockCodeAloneStillHasACause) {
  CauseTable table = shipped();
  const auto id = [&table](std::string_view chain) {
    return table.cause(table.classify(frames_of(chain))).id;
  };
  EXPECT_EQ(id("schedule;__mutex_lock.constprop.0;foo;__x64_sys_ioctl"), "kernel-mutex");
  EXPECT_EQ(id("schedule;rwsem_down_write_slowpath;down_write;foo"), "kernel-rwsem");
  EXPECT_EQ(id("schedule;schedule_timeout;___down_common;__down;down;foo"), "kernel-semaphore");
  EXPECT_EQ(id("schedule;percpu_rwsem_wait;__percpu_down_read;foo"), "kernel-percpu-rwsem");
  EXPECT_EQ(id("rt_mutex_schedule;rt_mutex_slowlock.constprop.0;rt_mutex_lock;foo"),
            "kernel-rtmutex");
  EXPECT_EQ(id("schedule;io_schedule;foo"), "disk-io");
}

TEST(CausesShipped, EveryScheduleFunctionIsPlumbing) {
  const CauseTable table = shipped();
  for (const std::string_view name :
       {"__schedule", "schedule", "schedule_timeout", "io_schedule", "wait_for_completion",
        "schedule_hrtimeout_range_clock", "wait_woken", "bit_wait_io", "mutex_lock",
        "__mutex_lock.constprop.0", "rwsem_down_read_slowpath", "down_write", "_raw_spin_lock",
        "native_queued_spin_lock_slowpath", "__traceiter_contention_begin", "osq_lock"})
    EXPECT_TRUE(table.groups().is_plumbing(name)) << name;
  for (const std::string_view name :
       {"pipe_read", "do_exit", "vfs_read", "raw_spin_rq_lock_nested"})
    EXPECT_FALSE(table.groups().is_plumbing(name)) << name;
}

}  // namespace
}  // namespace perf_latency
