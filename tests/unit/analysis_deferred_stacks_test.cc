// SPDX-License-Identifier: GPL-2.0-only
// Sleeps whose user chain comes later: one record for several sleeps, lost records, none at all.
#include <gtest/gtest.h>

#include "analysis/deferred_stacks.h"

namespace perf_latency {
namespace {

constexpr int32_t kTid = 7;

class AnalysisDeferredStacks : public testing::Test {
 protected:
  // A sleep that ended at `end_ns`.
  void hold(uint64_t end_ns, int32_t tid = kTid) {
    DeferredStacks::Held held;
    held.interval.end_ns = end_ns;
    held.interval.user_stack = DeferredStacks::kPlaceholder;
    deferred_.hold(tid, held);
  }
  // Ends and chains of what need not wait any longer.
  std::vector<std::pair<uint64_t, StackId>> ready() {
    std::vector<std::pair<uint64_t, StackId>> all;
    for (const auto& held : deferred_.take_ready())
      all.emplace_back(held.interval.end_ns, held.interval.user_stack);
    return all;
  }
  using Ready = std::vector<std::pair<uint64_t, StackId>>;
  DeferredStacks deferred_;
};

TEST_F(AnalysisDeferredStacks, OneRecordServesAllSleepsOfOneEntry) {
  deferred_.expect(kTid, 1);
  hold(10);
  deferred_.expect(kTid, 1);
  hold(20);
  EXPECT_EQ(ready(), Ready{});
  deferred_.arrive(kTid, 1, StackId{5});
  EXPECT_EQ(ready(), (Ready{{10, StackId{5}}, {20, StackId{5}}}));
}

TEST_F(AnalysisDeferredStacks, ANewCookieProvesThatTheOldRecordIsLost) {
  deferred_.expect(kTid, 1);
  hold(10);
  deferred_.expect(kTid, 2);
  EXPECT_EQ(ready(), (Ready{{10, StackId{}}}));
  hold(20);
  deferred_.arrive(kTid, 1, StackId{5});  // too late
  EXPECT_EQ(ready(), Ready{});
  deferred_.arrive(kTid, 2, StackId{6});
  EXPECT_EQ(ready(), (Ready{{20, StackId{6}}}));
}

TEST_F(AnalysisDeferredStacks, ChainsBelongToTheirThread) {
  deferred_.expect(kTid, 1);
  deferred_.expect(8, 1);
  hold(10);
  hold(11, 8);
  deferred_.arrive(8, 1, StackId{5});
  EXPECT_EQ(ready(), (Ready{{11, StackId{5}}}));
  deferred_.finish();
  EXPECT_EQ(ready(), (Ready{{10, StackId{}}}));
}

TEST_F(AnalysisDeferredStacks, ARecordMayOvertakeTheEndOfItsSleep) {
  deferred_.expect(kTid, 1);
  deferred_.arrive(kTid, 1, StackId{5});
  hold(10);
  EXPECT_EQ(ready(), (Ready{{10, StackId{5}}}));
}

TEST_F(AnalysisDeferredStacks, NoMoreWaitThanFit) {
  deferred_.expect(kTid, 1);
  for (uint64_t i = 0; i <= DeferredStacks::kMaxHeld; ++i) hold(i);
  EXPECT_EQ(ready().size(), DeferredStacks::kMaxHeld + 1);
}

}  // namespace
}  // namespace perf_latency
