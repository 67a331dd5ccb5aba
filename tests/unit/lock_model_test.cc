// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/lock_model.h"
#include "model/state_timeline.h"

namespace perf_latency {
namespace {

using K = EventKind;

constexpr uint64_t kLock = 0xffff888000001000;
constexpr uint64_t kOther = 0xffff888000002000;
constexpr ThreadId kA{1};
constexpr ThreadId kB{2};
constexpr ThreadId kC{3};
constexpr StackId kUnlock{7};  // a waker's chain out of mutex_unlock
constexpr StackId kTimer{8};   // a waker's chain that releases nothing

struct Wait {
  LockWait wait;
  std::vector<HolderSegment> holders;
};

struct Sink : LockSink {
  void on_lock_wait(const LockWait& wait) override {
    waits.push_back({wait, {wait.holders.begin(), wait.holders.end()}});
  }
  void on_lock_hold(const LockHold& hold) override { holds.push_back(hold); }
  std::string_view release_kind(StackId stack) override {
    return stack == kUnlock ? release : std::string_view();
  }
  std::string_view release = "mutex";
  std::vector<Wait> waits;
  std::vector<LockHold> holds;
};

class LockModelTest : public testing::Test {
 protected:
  Event at(K kind, uint64_t time_ns, uint64_t address = kLock) {
    Event event;
    event.kind = kind;
    event.time_ns = time_ns;
    event.lock = {address, 0, 0, StringPool::kEmpty};
    return event;
  }
  void begin(ThreadId who, uint64_t time_ns, uint32_t flags, uint64_t address = kLock) {
    Event event = at(K::contention_begin, time_ns, address);
    event.lock.flags = flags;
    model.handle(event, who);
  }
  void end(ThreadId who, uint64_t time_ns, int32_t ret = 0, uint64_t address = kLock) {
    Event event = at(K::contention_end, time_ns, address);
    event.lock.ret = ret;
    model.handle(event, who);
  }
  void wake(ThreadId waker, ThreadId woken, uint64_t time_ns, StackId stack = kUnlock) {
    Event event;
    event.kind = K::sched_waking;
    event.time_ns = time_ns;
    event.stack = stack;
    model.handle(event, waker, woken);
  }
  void expect(const HolderSegment& part, ThreadId owner, uint64_t start, uint64_t end,
              HolderHow how) {
    EXPECT_EQ(part.owner, owner);
    EXPECT_EQ(part.start_ns, start);
    EXPECT_EQ(part.end_ns, end);
    EXPECT_EQ(part.how, how);
  }

  Sink sink;
  LockModel model{sink, true};
};

// A:  begin(spin) ---- begin(sleep) ------ begin(spin) -- end
//     100              130                 200            210
TEST_F(LockModelTest, MutexPhasesAreOneWait) {
  begin(kA, 100, kLockMutex | kLockSpin);
  begin(kA, 130, kLockMutex);
  begin(kA, 200, kLockMutex | kLockSpin);
  end(kA, 210);
  ASSERT_EQ(sink.waits.size(), 1u);
  EXPECT_EQ(sink.waits[0].wait.type, LockType::mutex);
  EXPECT_EQ(sink.waits[0].wait.length_ns(), 110u);
  EXPECT_EQ(sink.waits[0].wait.spin_ns, 40u);
  EXPECT_EQ(sink.waits[0].wait.sleep_ns, 70u);
}

// A spinlock inside an rwsem's wait, and an interrupt's inside that one.
TEST_F(LockModelTest, WaitsNest) {
  begin(kA, 100, kLockWrite, kLock);
  begin(kA, 110, kLockSpin, kOther);
  begin(kA, 112, kLockSpin, kOther + 8);
  end(kA, 113, 0, kOther + 8);
  end(kA, 120, 0, kOther);
  end(kA, 150, 0, kLock);
  ASSERT_EQ(sink.waits.size(), 3u);
  EXPECT_EQ(sink.waits[0].wait.length_ns(), 1u);
  EXPECT_EQ(sink.waits[1].wait.length_ns(), 10u);
  EXPECT_EQ(sink.waits[2].wait.length_ns(), 50u);
  EXPECT_EQ(sink.waits[2].wait.type, LockType::rwsem_write);
  EXPECT_EQ(model.counts().waits_without_end, 0u);
}

TEST_F(LockModelTest, IdleTasksAreToldApartByCpu) {
  begin(idle_context(0), 100, kLockSpin);
  begin(idle_context(1), 105, kLockSpin);
  end(idle_context(0), 120);
  end(idle_context(1), 130);
  ASSERT_EQ(sink.waits.size(), 2u);
  EXPECT_EQ(sink.waits[0].wait.length_ns(), 20u);
  EXPECT_EQ(sink.waits[1].wait.length_ns(), 25u);
}

TEST_F(LockModelTest, OddEnds) {
  end(kA, 90);                // began before the recording
  begin(kA, 100, kLockSpin);  // its end is lost
  begin(kA, 200, kLockSpin);
  end(kA, 210);
  begin(kB, 300, kLockWrite);  // given up
  end(kB, 320, -4);
  begin(kC, 400, kLockRead);  // still waiting
  model.finish(450);
  ASSERT_EQ(sink.waits.size(), 3u);
  EXPECT_EQ(sink.waits[0].wait.length_ns(), 10u);
  EXPECT_TRUE(sink.waits[1].wait.failed);
  EXPECT_TRUE(sink.waits[2].wait.open);
  EXPECT_EQ(sink.waits[2].wait.length_ns(), 50u);
  EXPECT_EQ(model.counts().ends_without_begin, 1u);
  EXPECT_EQ(model.counts().waits_without_end, 1u);
}

// C has the lock unseen and releases it to A at 150; A has it from 160, and releases it to B at 190.
//
//   A  begin 100 ........ woken by C 150 .. end 160 ---- has it ---- 190
//   B      begin 110 ................................................ woken by A 190 . end 200
TEST_F(LockModelTest, WaitIsCutAtEachChangeOfOwner) {
  begin(kA, 100, kLockMutex);
  begin(kB, 110, kLockMutex);
  wake(kC, kA, 150);
  end(kA, 160);
  wake(kA, kB, 190);
  end(kB, 200);
  ASSERT_EQ(sink.waits.size(), 2u);
  const auto& a = sink.waits[0].holders;
  ASSERT_EQ(a.size(), 2u);
  expect(a[0], kC, 100, 150, HolderHow::wakeup);
  expect(a[1], ThreadId{}, 150, 160, HolderHow::unknown);
  EXPECT_TRUE(a[1].released);
  const auto& b = sink.waits[1].holders;
  ASSERT_EQ(b.size(), 4u);
  expect(b[0], kC, 110, 150, HolderHow::wakeup);
  expect(b[1], ThreadId{}, 150, 160, HolderHow::unknown);
  expect(b[2], kA, 160, 190, HolderHow::wakeup);
  expect(b[3], ThreadId{}, 190, 200, HolderHow::unknown);
  // What is seen of A's hold is a contended period.
  ASSERT_EQ(sink.holds.size(), 1u);
  EXPECT_EQ(sink.holds[0].thread, kA);
  EXPECT_EQ(sink.holds[0].start_ns, 160u);
  EXPECT_EQ(sink.holds[0].length_ns(), 30u);
}

TEST_F(LockModelTest, OtherWakingsReleaseNothing) {
  begin(kA, 100, kLockMutex);
  wake(kC, kA, 120, kTimer);
  sink.release = "rwsem:W";
  wake(kC, kA, 130);
  end(kA, 140);
  ASSERT_EQ(sink.waits.size(), 1u);
  ASSERT_EQ(sink.waits[0].holders.size(), 1u);
  expect(sink.waits[0].holders[0], ThreadId{}, 100, 140, HolderHow::unknown);
}

// A spinning lock's owner is known from its own contention_end inside the wait only.
TEST_F(LockModelTest, SpinningWaitKnowsOnlyWhoGotItMeanwhile) {
  begin(kA, 100, kLockSpin);
  begin(kB, 110, kLockSpin);
  end(kA, 130);
  end(kB, 150);
  ASSERT_EQ(sink.waits.size(), 2u);
  const auto& b = sink.waits[1].holders;
  ASSERT_EQ(b.size(), 2u);
  expect(b[0], ThreadId{}, 110, 130, HolderHow::unknown);
  expect(b[1], kA, 130, 150, HolderHow::handover);
}

// Releases need not nest, and equal locks come off last in first out.
TEST_F(LockModelTest, LockdepHolds) {
  model.handle(at(K::lock_acquire, 100, kLock), kA);
  model.handle(at(K::lock_acquired, 101, kLock), kA);
  model.handle(at(K::lock_acquire, 110, kOther), kA);
  model.handle(at(K::lock_acquired, 111, kOther), kA);
  model.handle(at(K::lock_acquire, 105, kLock), kB);
  model.handle(at(K::lock_contended, 106, kLock), kB);
  model.handle(at(K::lock_release, 120, kLock), kA);
  model.handle(at(K::lock_acquired, 125, kLock), kB);
  model.handle(at(K::lock_release, 130, kOther), kA);
  model.handle(at(K::lock_release, 145, kLock), kB);
  model.handle(at(K::lock_release, 150, kLock), kC);
  ASSERT_EQ(sink.waits.size(), 1u);
  EXPECT_EQ(sink.waits[0].wait.length_ns(), 19u);
  ASSERT_EQ(sink.waits[0].holders.size(), 2u);
  expect(sink.waits[0].holders[0], kA, 106, 120, HolderHow::exact);
  expect(sink.waits[0].holders[1], ThreadId{}, 120, 125, HolderHow::unknown);
  ASSERT_EQ(sink.holds.size(), 4u);
  EXPECT_EQ(sink.holds[0].length_ns(), 20u);  // A's, from its acquire
  EXPECT_EQ(sink.holds[1].length_ns(), 20u);  // A's other lock
  EXPECT_EQ(sink.holds[2].length_ns(), 20u);  // B's, from lock_acquired: it had waited
  EXPECT_TRUE(sink.holds[2].contended);
  EXPECT_TRUE(sink.holds[3].began_before);
  EXPECT_EQ(model.counts().releases_without_acquire, 1u);
}

TEST_F(LockModelTest, MmapLockDowngradeIsTwoHolds) {
  Event start = at(K::mmap_lock_start_locking, 100);
  start.flags = kEventWrite;
  model.handle(start, kA);
  Event got = at(K::mmap_lock_acquire_returned, 110);
  got.flags = kEventWrite;
  model.handle(got, kA);
  model.handle(at(K::mmap_lock_acquire_returned, 130), kA);
  model.handle(at(K::mmap_lock_released, 160), kA);
  ASSERT_EQ(sink.waits.size(), 1u);
  EXPECT_EQ(sink.waits[0].wait.length_ns(), 10u);
  ASSERT_EQ(sink.holds.size(), 2u);
  EXPECT_EQ(sink.holds[0].type, LockType::mmap_lock_write);
  EXPECT_EQ(sink.holds[0].length_ns(), 20u);
  EXPECT_EQ(sink.holds[1].type, LockType::mmap_lock_read);
  EXPECT_EQ(sink.holds[1].length_ns(), 30u);
}

TEST_F(LockModelTest, RstatFlushesAndYields) {
  const auto rstat = [&](K kind, uint64_t time_ns, int32_t cpu) {
    Event event;
    event.kind = kind;
    event.time_ns = time_ns;
    event.rstat = {1, 0, 0, cpu};
    model.handle(event, kA);
  };
  rstat(K::rstat_locked, 100, -1);
  rstat(K::rstat_unlock, 120, 0);
  rstat(K::rstat_lock_contended, 125, 0);
  rstat(K::rstat_locked, 130, 0);
  rstat(K::rstat_unlock, 170, -1);
  ASSERT_EQ(sink.waits.size(), 1u);
  EXPECT_EQ(sink.waits[0].wait.length_ns(), 5u);
  ASSERT_EQ(sink.holds.size(), 2u);
  EXPECT_FALSE(sink.holds[0].yielded);
  EXPECT_EQ(sink.holds[0].length_ns(), 20u);
  EXPECT_TRUE(sink.holds[1].yielded);
  EXPECT_EQ(sink.holds[1].length_ns(), 40u);
}

TEST(LockTypes, FlagsAsPerfNamesThem) {
  EXPECT_EQ(lock_type_name(lock_type_of_flags(0)), "semaphore");
  EXPECT_EQ(lock_type_name(lock_type_of_flags(1)), "spinlock");
  EXPECT_EQ(lock_type_name(lock_type_of_flags(1 | 2)), "rwlock:R");
  EXPECT_EQ(lock_type_name(lock_type_of_flags(1 | 4)), "rwlock:W");
  EXPECT_EQ(lock_type_name(lock_type_of_flags(2)), "rwsem:R");
  EXPECT_EQ(lock_type_name(lock_type_of_flags(4)), "rwsem:W");
  EXPECT_EQ(lock_type_name(lock_type_of_flags(8)), "rtmutex");
  EXPECT_EQ(lock_type_name(lock_type_of_flags(16 | 2)), "pcpu-sem:R");
  EXPECT_EQ(lock_type_name(lock_type_of_flags(16 | 4)), "pcpu-sem:W");
  EXPECT_EQ(lock_type_name(lock_type_of_flags(32 | 1)), "mutex");
  EXPECT_TRUE(releases("rwsem", LockType::rwsem_read));
  EXPECT_TRUE(releases("rwsem:R", LockType::rwsem_write));
  EXPECT_FALSE(releases("mutex", LockType::rwsem_write));
  EXPECT_TRUE(releases("mutex", LockType::semaphore));
}

// The timeline: ran 100-150, asleep 150-180, now waiting for a CPU since 180.
TEST(LockTimeline, PartsFillTheSpan) {
  ThreadTable threads;
  const ThreadId id = threads.get(5);
  StateTimeline timeline;
  Interval interval;
  interval.thread = id;
  interval.kind = IntervalKind::running;
  interval.start_ns = 100;
  interval.end_ns = 150;
  timeline.add(interval);
  interval.kind = IntervalKind::sleeping;
  interval.stack = StackId{4};
  interval.start_ns = 150;
  interval.end_ns = 180;
  timeline.add(interval);
  threads[id].phase = TaskPhase::preempted;
  threads[id].preempted_by = ThreadId{9};
  threads[id].since_ns = 180;
  std::vector<StatePart> parts;
  timeline.split(threads, id, 90, 200, [&](const StatePart& part) { parts.push_back(part); });
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(parts[0].state, HolderState::unknown);
  EXPECT_EQ(parts[0].end_ns, 100u);
  EXPECT_EQ(parts[1].state, HolderState::running);
  EXPECT_EQ(parts[2].state, HolderState::sleeping);
  EXPECT_EQ(parts[2].stack, StackId{4});
  EXPECT_EQ(parts[3].state, HolderState::preempted);
  EXPECT_EQ(parts[3].preempted_by, ThreadId{9});
  EXPECT_EQ(parts[3].end_ns, 200u);
}

}  // namespace
}  // namespace perf_latency
