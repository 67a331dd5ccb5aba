// SPDX-License-Identifier: GPL-2.0-only
// The task model, a test for each row of the table in model/task_model.h. Timelines are drawn with one
// column for 10 ns: R runs, s sleeps, w waits for a CPU, ? is unknown, # hidden; | marks an event.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "model/task_model.h"

namespace perf_latency {
namespace {

constexpr int32_t kTask = 7;
constexpr int32_t kOther = 8;
constexpr uint64_t kEnd = 100;

class ModelTask : public testing::Test, public IntervalSink {
 protected:
  ModelTask() { begin({.wakings = true, .wakeups = true, .new_wakeups = true}); }

  void begin(const TaskEvents& events) {
    model_.set_events(events);
    model_.set_start(0);
  }

  void on_interval(const Interval& interval) override { intervals_.push_back(interval); }
  void on_life(ThreadId thread, uint64_t start_ns, uint64_t end_ns) override {
    lives_.push_back({thread, start_ns, end_ns});
  }

  // `prev` leaves CPU `cpu` in `state` and `next` gets it.
  void switches(uint64_t time, int32_t prev, char state, int32_t next, uint32_t cpu = 0,
                uint32_t stack = Id<StackTag>::kNone) {
    Event event;
    event.kind = EventKind::sched_switch;
    event.time_ns = time;
    event.cpu = cpu;
    event.state = static_cast<uint8_t>(state);
    event.tid = prev;
    event.stack = StackId{stack};
    event.sched_switch = {prev, next, StringPool::kEmpty, StringPool::kEmpty, 120, 120, 0};
    model_.handle(event);
  }
  void wakes(uint64_t time, EventKind kind, int32_t tid, int32_t by = kOther) {
    Event event;
    event.kind = kind;
    event.time_ns = time;
    event.tid = by;
    event.wakeup = {tid, StringPool::kEmpty, 0, 120, 0};
    model_.handle(event);
  }
  void waking(uint64_t time, int32_t tid) { wakes(time, EventKind::sched_waking, tid); }
  void wakeup(uint64_t time, int32_t tid) { wakes(time, EventKind::sched_wakeup, tid); }
  void forks(uint64_t time, int32_t parent, int32_t child) {
    Event event;
    event.kind = EventKind::sched_process_fork;
    event.time_ns = time;
    event.fork = {parent, child, StringPool::kEmpty, -1, -1};
    model_.handle(event);
  }
  void execs(uint64_t time, int32_t tid, int32_t old_tid) {
    Event event;
    event.kind = EventKind::sched_process_exec;
    event.time_ns = time;
    event.task = {tid, -1, StringPool::kEmpty, old_tid};
    model_.handle(event);
  }
  void switch_record(uint64_t time, int32_t tid, bool out, bool preempted = false) {
    Event event;
    event.kind = EventKind::record_switch;
    event.time_ns = time;
    event.tid = tid;
    event.flags = static_cast<uint8_t>((out ? kEventOut : 0) | (preempted ? kEventPreempted : 0));
    model_.handle(event);
  }

  // Ends the recording, and the timelines of all lives of `tid`, e.g. "w0-10 R10-20 sS20-30 w30-40 R40+".
  std::string line_of(int32_t tid) {
    model_.finish(kEnd);
    std::string line;
    for (const Interval& interval : intervals_) {
      if (model_.threads()[interval.thread].tid != tid) continue;
      if (!line.empty()) line += ' ';
      line += sign(interval) + std::to_string(interval.start_ns);
      line += interval.open ? "+" : "-" + std::to_string(interval.end_ns);
      if (interval.began_before) line += '<';
    }
    expect_lives_are_filled();
    return line;
  }
  static std::string sign(const Interval& interval) {
    switch (interval.kind) {
      case IntervalKind::running:
        return "R";
      case IntervalKind::sleeping:
        return std::string("s") + static_cast<char>(interval.state);
      case IntervalKind::runnable:
        return interval.preempted ? "p" : "w";
      case IntervalKind::hidden:
        return "#";
      case IntervalKind::unknown:
        return "?";
    }
    return "";
  }
  // A life's intervals are its length, one behind the other.
  void expect_lives_are_filled() {
    std::map<ThreadId, uint64_t> at;
    for (const auto& [thread, start, end] : lives_) at[thread] = start;
    for (const Interval& interval : intervals_) {
      ASSERT_TRUE(at.contains(interval.thread));
      EXPECT_EQ(interval.start_ns, at[interval.thread]);
      EXPECT_LE(interval.start_ns, interval.end_ns);
      at[interval.thread] = interval.end_ns;
    }
    for (const auto& [thread, start, end] : lives_) EXPECT_EQ(at[thread], end);
  }
  uint64_t count(Diag diag) const { return diagnostics_.count(diag); }
  const Interval& first(IntervalKind kind, int32_t tid) {
    for (const Interval& interval : intervals_)
      if (interval.kind == kind && model_.threads()[interval.thread].tid == tid) return interval;
    static const Interval none;
    ADD_FAILURE() << "no such interval";
    return none;
  }

  struct Life {
    ThreadId thread;
    uint64_t start_ns;
    uint64_t end_ns;
  };
  Diagnostics diagnostics_;
  std::vector<Interval> intervals_;
  std::vector<Life> lives_;
  TaskModel model_{*this, diagnostics_};
};

// ---- unseen

//        0  10  20  30        100
// task   wwww|RRRRR|ssss...
TEST_F(ModelTask, UnseenSwitchedInWaitedSinceTheStart) {
  switches(10, 0, 'R', kTask);
  switches(30, kTask, 'S', 0);
  EXPECT_EQ(line_of(kTask), "w0-10< R10-30 sS30+");
}

// task   RRRR|ssss
TEST_F(ModelTask, UnseenSwitchedOutRanSinceTheStart) {
  switches(10, kTask, 'D', 0);
  EXPECT_EQ(line_of(kTask), "R0-10< sD10+");
}

// task   ssss|wwww|RRRR
TEST_F(ModelTask, UnseenWokenSleptSinceTheStart) {
  waking(10, kTask);
  wakeup(12, kTask);
  switches(20, 0, 'R', kTask);
  EXPECT_EQ(line_of(kTask), "sS0-12< w12-20 R20+");
}

// A sleep that began before the recording has no chain of its own.
TEST_F(ModelTask, UnseenSleepHasNoStack) {
  wakeup(12, kTask);
  switches(20, 0, 'R', kTask);
  line_of(kTask);
  EXPECT_FALSE(first(IntervalKind::sleeping, kTask).stack.valid());
}

// ---- unborn

// parent forks at 10, the child may run from 12, runs from 20
TEST_F(ModelTask, ANewTaskLivesFromItsFirstWakeup) {
  forks(10, kOther, kTask);
  wakes(12, EventKind::sched_wakeup_new, kTask);
  switches(20, kOther, 'R', kTask);
  EXPECT_EQ(line_of(kTask), "w12-20 R20+");
}

TEST_F(ModelTask, WithoutItsWakeupANewTaskWaitsFromTheFork) {
  forks(10, kOther, kTask);
  switches(20, kOther, 'R', kTask);
  EXPECT_EQ(line_of(kTask), "w10-20 R20+");
}

TEST_F(ModelTask, ANewTaskSwitchedOutFirstRan) {
  forks(10, kOther, kTask);
  switches(20, kTask, 'S', 0);
  EXPECT_EQ(line_of(kTask), "R10-20 sS20+");
}

// ---- running, sleeping, woken

// task   RRRR|ssssssss|wwww|RRRR
//            20   30 w 32   40
TEST_F(ModelTask, ASleepEndsAtTheWakeupWhereTheFileHasIt) {
  switches(10, 0, 'R', kTask);
  switches(20, kTask, 'S', 0, 0, 5);
  waking(30, kTask);
  wakeup(32, kTask);
  switches(40, 0, 'R', kTask);
  EXPECT_EQ(line_of(kTask), "w0-10< R10-20 sS20-32 w32-40 R40+");
  const Interval& sleep = first(IntervalKind::sleeping, kTask);
  EXPECT_EQ(sleep.stack, StackId{5});
  EXPECT_EQ(model_.threads()[sleep.waker].tid, kOther);
}

TEST_F(ModelTask, WithoutWakeupsItEndsAtTheWaking) {
  begin({.wakings = true});
  switches(10, 0, 'R', kTask);
  switches(20, kTask, 'S', 0);
  waking(30, kTask);
  switches(40, 0, 'R', kTask);
  EXPECT_EQ(line_of(kTask), "w0-10< R10-20 sS20-30 w30-40 R40+");
}

TEST_F(ModelTask, AWakingWhoseWakeupIsMissingEndsTheSleepToo) {
  switches(10, 0, 'R', kTask);
  switches(20, kTask, 'S', 0);
  waking(30, kTask);
  switches(40, 0, 'R', kTask);
  EXPECT_EQ(line_of(kTask), "w0-10< R10-20 sS20-30 w30-40 R40+");
}

TEST_F(ModelTask, WithoutAnyWakeupASleepIncludesTheWait) {
  begin({});
  switches(10, 0, 'R', kTask);
  switches(20, kTask, 'S', 0);
  switches(40, 0, 'R', kTask);
  EXPECT_EQ(line_of(kTask), "w0-10< R10-20 sS20-40 R40+");
  EXPECT_TRUE(first(IntervalKind::sleeping, kTask).includes_waiting);
}

// task   RRRR|pppp|RRRR
TEST_F(ModelTask, APreemptedTaskWaits) {
  switches(10, 0, 'R', kTask);
  switches(20, kTask, 'R', kOther);
  switches(40, kOther, 'S', kTask);
  EXPECT_EQ(line_of(kTask), "w0-10< R10-20 p20-40 R40+");
  const auto wait = std::find_if(intervals_.begin(), intervals_.end(),
                                 [](const Interval& interval) { return interval.preempted; });
  ASSERT_NE(wait, intervals_.end());
  ASSERT_TRUE(wait->preempted_by.valid());
  EXPECT_EQ(model_.threads()[wait->preempted_by].tid, kOther);
}

TEST_F(ModelTask, FurtherWakeupsOfAWaitingTaskAreIgnored) {
  switches(10, 0, 'R', kTask);
  switches(20, kTask, 'S', 0);
  wakeup(30, kTask);
  waking(33, kTask);
  wakeup(35, kTask);
  switches(40, 0, 'R', kTask);
  EXPECT_EQ(line_of(kTask), "w0-10< R10-20 sS20-30 w30-40 R40+");
}

TEST_F(ModelTask, AWakeupThatFoundItsTaskRunningIsNone) {
  switches(10, 0, 'R', kTask);
  switches(20, kTask, 'S', 0);
  Event event;
  event.kind = EventKind::sched_wakeup;
  event.time_ns = 25;
  event.flags = kEventFailed;
  event.wakeup = {kTask, StringPool::kEmpty, 0, 120, 0};
  model_.handle(event);
  wakeup(30, kTask);
  switches(40, 0, 'R', kTask);
  EXPECT_EQ(line_of(kTask), "w0-10< R10-20 sS20-30 w30-40 R40+");
}

// ---- early wakings

// waking at 15, switch-out at 20, no wakeup in between: no sleep
TEST_F(ModelTask, AWakingBeforeTheSwitchOutMeansNoSleep) {
  switches(10, 0, 'R', kTask);
  waking(15, kTask);
  switches(20, kTask, 'S', 0);
  switches(40, 0, 'R', kTask);
  EXPECT_EQ(line_of(kTask), "w0-10< R10-20 w20-40 R40+");
  EXPECT_EQ(count(Diag::woken_before_switch), 1u);
}

TEST_F(ModelTask, ButAnotherWakingBehindItEndsASleep) {
  switches(10, 0, 'R', kTask);
  waking(15, kTask);
  switches(20, kTask, 'S', 0);
  waking(28, kTask);
  wakeup(30, kTask);
  switches(40, 0, 'R', kTask);
  EXPECT_EQ(line_of(kTask), "w0-10< R10-20 sS20-30 w30-40 R40+");
}

TEST_F(ModelTask, AnAnsweredWakingSaysNothingOfTheNextSleep) {
  switches(10, 0, 'R', kTask);
  waking(15, kTask);
  wakeup(16, kTask);
  switches(20, kTask, 'S', 0);
  waking(28, kTask);
  wakeup(30, kTask);
  EXPECT_EQ(line_of(kTask), "w0-10< R10-20 sS20-30 w30+");
}

// ---- mismatches

TEST_F(ModelTask, ASleepWithoutAWakingThoughNothingWasLostIsUnknown) {
  switches(10, 0, 'R', kTask);
  switches(20, kTask, 'S', 0);
  switches(40, 0, 'R', kTask);
  EXPECT_EQ(line_of(kTask), "w0-10< R10-20 ?20-40 R40+");
  EXPECT_EQ(count(Diag::sleep_without_wakeup), 1u);
}

// task   RRRR|ss####|RRRR
//            20 26 - 34 lost
TEST_F(ModelTask, WhatALossHidesIsHiddenFromTheLossOn) {
  switches(10, 0, 'R', kTask);
  switches(20, kTask, 'S', 0);
  model_.announce_loss(26, 34);
  switches(40, 0, 'R', kTask);
  EXPECT_EQ(line_of(kTask), "w0-10< R10-20 sS20-26 #26-40 R40+");
  EXPECT_EQ(count(Diag::hidden_interval), 1u);
}

TEST_F(ModelTask, ALossThatChangesNothingIsAnUncertainty) {
  switches(10, 0, 'R', kTask);
  switches(20, kTask, 'S', 0);
  model_.announce_loss(26, 28);
  wakeup(30, kTask);
  switches(40, 0, 'R', kTask);
  EXPECT_EQ(line_of(kTask), "w0-10< R10-20 sS20-30 w30-40 R40+");
  EXPECT_TRUE(first(IntervalKind::sleeping, kTask).uncertain);
  EXPECT_FALSE(first(IntervalKind::running, kTask).uncertain);
}

TEST_F(ModelTask, TwoSwitchInsWithALossBetween) {
  switches(10, 0, 'R', kTask);
  model_.announce_loss(15, 30);
  switches(40, 0, 'R', kTask);
  EXPECT_EQ(line_of(kTask), "w0-10< R10-15 #15-40 R40+");
}

TEST_F(ModelTask, TwoSwitchInsOnOneCpuWithoutALossAreImpossible) {
  switches(10, 0, 'R', kTask);
  switches(40, 0, 'R', kTask);
  EXPECT_EQ(line_of(kTask), "w0-10< ?10-40 R40+");
  EXPECT_EQ(count(Diag::impossible_transition), 1u);
}

TEST_F(ModelTask, AWaitingTaskThatLeavesACpuMustHaveGotIt) {
  switches(10, 0, 'R', kTask);
  switches(20, kTask, 'S', 0);
  wakeup(30, kTask);
  switches(50, kTask, 'S', 0);
  EXPECT_EQ(line_of(kTask), "w0-10< R10-20 sS20-30 w30-30 R30-50 sS50+");
  EXPECT_EQ(count(Diag::inferred_switch), 1u);
}

// ---- a kernel that hides what happens in the idle task

// CPU 0   task|idle .......... |other|task
//            10  waking and switch hidden  30    40
TEST_F(ModelTask, ASleepOnAKernelThatHidesTheIdleTaskLastsUntilItsThreadIsSeen) {
  switches(10, kTask, 'S', 0);
  switches(40, kOther, 'S', kTask);  // nobody saw the idle task go
  EXPECT_EQ(line_of(kTask), "R0-10< sS10-40 R40+");
  EXPECT_EQ(count(Diag::idle_hidden), 1u);
}

// ---- ends and new lives

TEST_F(ModelTask, ADeadTaskEndsAndItsTidBeginsAnotherLife) {
  switches(10, 0, 'R', kTask);
  switches(20, kTask, 'X', 0);
  forks(40, kOther, kTask);
  wakes(42, EventKind::sched_wakeup_new, kTask);
  switches(50, 0, 'R', kTask);
  EXPECT_EQ(line_of(kTask), "w0-10< R10-20 w42-50 R50+");
  ASSERT_EQ(lives_.size(), 2u);
  EXPECT_NE(lives_[0].thread, lives_[1].thread);
  EXPECT_EQ(lives_[0].end_ns, 20u);
  EXPECT_EQ(lives_[1].start_ns, 42u);
}

TEST_F(ModelTask, ADeadTaskThatIsSeenAgainIsAnotherOne) {
  switches(20, kTask, 'Z', 0);
  switches(50, kTask, 'S', 0);
  EXPECT_EQ(line_of(kTask), "R0-20< R50-50 sS50+");
}

// Found by damage: the leader was forked and nothing more is known of it, and a thread that was never seen
// takes its tid.
TEST_F(ModelTask, ExecInThePlaceOfALeaderWithoutEventsGivesItNoLife) {
  forks(10, kOther, kTask);
  execs(30, kTask, 99);
  switches(40, kTask, 'S', kOther);
  EXPECT_EQ(line_of(kTask), "R0-40< sS40+");
}

TEST_F(ModelTask, ExecByAThreadThatIsNotTheLeaderTakesTheLeadersTid) {
  switches(10, 0, 'R', kTask);       // the leader
  switches(20, kTask, 'S', kOther);  // another of its threads
  execs(30, kTask, kOther);
  switches(40, kTask, 'S', 0);
  model_.finish(kEnd);
  expect_lives_are_filled();
  EXPECT_EQ(model_.threads().find(kOther), ThreadId{});
  ASSERT_EQ(lives_.size(), 2u);
  EXPECT_EQ(lives_[0].end_ns, 30u);   // the leader died in the exec
  EXPECT_EQ(lives_[1].end_ns, kEnd);  // the thread lives on under its tid
  EXPECT_EQ(model_.threads()[lives_[1].thread].tid, kTask);
}

TEST_F(ModelTask, BothRecordsOfOneForkMakeOneTask) {
  forks(10, kOther, kTask);
  Event record;
  record.kind = EventKind::record_fork;
  record.time_ns = 11;
  record.fork = {kOther, kTask, StringPool::kEmpty, 80, 70};
  model_.handle(record);
  wakes(12, EventKind::sched_wakeup_new, kTask);
  switches(20, 0, 'R', kTask);
  EXPECT_EQ(line_of(kTask), "w12-20 R20+");
  EXPECT_EQ(model_.threads()[model_.threads().find(kTask)].pid, 70);
}

TEST_F(ModelTask, OpenIntervalsAtTheEnd) {
  switches(10, 0, 'R', kTask);
  switches(20, kTask, 'S', 0);
  waking(30, kTask);  // its wakeup was not recorded any more
  EXPECT_EQ(line_of(kTask), "w0-10< R10-20 sS20-30 w30+");
}

TEST_F(ModelTask, AThreadWithoutEventsHasNoTime) {
  Event comm;
  comm.kind = EventKind::record_comm;
  comm.task = {kTask, kTask, StringPool::kEmpty, -1};
  model_.handle(comm);
  EXPECT_EQ(line_of(kTask), "");
  EXPECT_EQ(count(Diag::threads_without_events), 1u);
}

TEST_F(ModelTask, TheIdleTaskIsNoThread) {
  switches(10, 0, 'R', 0);
  switches(20, -1, 'S', -5);
  EXPECT_EQ(line_of(0), "");
  EXPECT_TRUE(lives_.empty());
}

// ---- records of a recording without tracepoints

TEST_F(ModelTask, SwitchRecordsTellSleepsFromPreemption) {
  begin({});
  switch_record(10, kTask, false);
  switch_record(20, kTask, true);
  switch_record(30, kTask, false);
  switch_record(40, kTask, true, true);
  switch_record(50, kTask, false);
  EXPECT_EQ(line_of(kTask), "w0-10< R10-20 sS20-30 R30-40 p40-50 R50+");
}

// ---- clocks

TEST_F(ModelTask, ClocksThatDisagreeMakeNoNegativeInterval) {
  switches(20, 0, 'R', kTask);
  switches(19, kTask, 'S', 0);
  wakeup(18, kTask);
  switches(40, 0, 'R', kTask);
  EXPECT_EQ(line_of(kTask), "w0-20< R20-20 sS20-20 w20-40 R40+");
}

// ---- threads

TEST(ModelThreads, AKernelThreadIsKnownByItsParent) {
  ThreadTable threads;
  Thread& thread = threads[threads.get(20)];
  thread.pid = 20;
  thread.parent_pid = 2;
  // Until it was seen to leave a CPU it may be one that the kernel hides from perf.
  EXPECT_EQ(threads.kind(thread), TaskKind::unknown);
  EXPECT_EQ(threads.last_kind(thread), TaskKind::kernel);
  thread.left_seen = true;
  EXPECT_EQ(threads.kind(thread), TaskKind::kernel);
  EXPECT_EQ(threads.last_kind(threads[threads.get(2)]), TaskKind::kernel);
  threads.set_has_user_maps(20);
  EXPECT_EQ(threads.last_kind(thread), TaskKind::user);
}

TEST(ModelThreads, TidsOfEverySize) {
  ThreadTable threads;
  for (const int32_t tid : {1, 4095, 4096, 1 << 22, INT32_MAX}) {
    const ThreadId id = threads.get(tid);
    EXPECT_EQ(threads.find(tid), id);
    EXPECT_EQ(threads[id].tid, tid);
  }
  for (const int32_t tid : {0, -1, INT32_MIN}) {
    EXPECT_FALSE(threads.get(tid).valid());
    EXPECT_FALSE(threads.find(tid).valid());
  }
}

TEST(ModelLostSpans, AreMergedAndFound) {
  LostSpans spans;
  EXPECT_FALSE(spans.first_overlap(0, 100));
  spans.add(50, 60);
  spans.add(10, 20);
  spans.add(15, 30);
  EXPECT_EQ(spans.first_overlap(0, 100), 10u);
  EXPECT_EQ(spans.first_overlap(25, 100), 25u);
  EXPECT_EQ(spans.first_overlap(31, 49), std::nullopt);
  EXPECT_EQ(spans.first_overlap(31, 50), 50u);
  spans.add(0, 100);
  EXPECT_EQ(spans.first_overlap(70, 80), 70u);
}

}  // namespace
}  // namespace perf_latency
