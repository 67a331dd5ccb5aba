// SPDX-License-Identifier: GPL-2.0-only
// The steps of one wait, on time lines made by hand.
#include "analysis/wait_story.h"

#include <gtest/gtest.h>

#include <string>

namespace perf_latency {
namespace {

constexpr ThreadId kA{1}, kB{2}, kC{3};
constexpr StackId kTaskChain{10}, kTimerChain{11};

bool is_timer(StackId stack) { return stack == kTimerChain; }

Interval piece(IntervalKind kind, ThreadId thread, uint64_t start, uint64_t end, uint32_t cpu = 0) {
  Interval interval;
  interval.kind = kind;
  interval.thread = thread;
  interval.start_ns = start;
  interval.end_ns = end;
  interval.cpu = cpu;
  return interval;
}

Interval sleep(ThreadId thread, uint64_t start, uint64_t end, ThreadId waker,
               StackId chain = kTaskChain) {
  Interval interval = piece(IntervalKind::sleeping, thread, start, end);
  interval.state = 'S';
  interval.waker = waker;
  interval.waker_stack = chain;
  return interval;
}

constexpr auto kRuns = IntervalKind::running;
constexpr auto kWaits = IntervalKind::runnable;

// "2 running 60-100", a line a step; thread 0 is nobody.
std::string text(const std::vector<StoryStep>& steps) {
  static constexpr const char* kNames[] = {"running", "runnable", "sleeping",
                                           "wakeup",  "idle",     "unknown"};
  std::string all;
  for (const StoryStep& step : steps)
    all += std::to_string(step.thread.valid() ? step.thread.value : 0) + " " +
           kNames[static_cast<int>(step.kind)] + " " + std::to_string(step.start_ns) + "-" +
           std::to_string(step.end_ns) + " depth " + std::to_string(step.depth) + "\n";
  return all;
}

void expect_adds_up(const std::vector<StoryStep>& steps, uint64_t start, uint64_t end) {
  uint64_t at = start;
  for (const StoryStep& step : steps) {
    EXPECT_EQ(step.start_ns, at);
    EXPECT_LT(step.start_ns, step.end_ns);
    at = step.end_ns;
  }
  EXPECT_EQ(at, end);
}

//        0         20        40        60        80       100
//   A    |==================== asleep =====================|    woken by B
//   B    |runs|===== asleep =========|waits |==== runs ====|    its sleep is ended by C
//        0    10                     60     70            100
//   C    |= asleep (timer) =|waits|= runs ==|                   its sleep is ended by a timer
//        0                  30    40        65
TEST(WaitStory, ChainOfThreeTasksEndsInAnInterrupt) {
  const Interval wait = sleep(kA, 0, 100, kB);
  WaitStory story(0, 100, is_timer);
  story.add(piece(kRuns, kB, 0, 10));
  story.add(sleep(kC, 0, 30, {}, kTimerChain));
  story.add(piece(kWaits, kC, 30, 40));
  story.add(sleep(kB, 10, 60, kC));
  story.add(piece(kRuns, kC, 40, 65));
  story.add(piece(kWaits, kB, 60, 70));
  story.add(wait);
  story.add(piece(kRuns, kB, 70, 130));
  const auto steps = story.tell(wait);
  EXPECT_EQ(text(steps),
            "2 running 0-10 depth 1\n"
            "3 sleeping 10-30 depth 2\n"
            "3 runnable 30-40 depth 2\n"
            "3 running 40-60 depth 2\n"
            "2 runnable 60-70 depth 1\n"
            "2 running 70-100 depth 1\n");
  expect_adds_up(steps, 0, 100);
  EXPECT_EQ(steps[1].waker_stack, kTimerChain);
}

TEST(WaitStory, AnInterruptOrNobodyIsTheEnd) {
  WaitStory story(0, 100, is_timer);
  story.add(piece(kRuns, kB, 0, 100));
  EXPECT_EQ(text(story.tell(sleep(kA, 0, 100, kB, kTimerChain))), "1 sleeping 0-100 depth 0\n");
  EXPECT_EQ(text(story.tell(sleep(kA, 0, 100, {}))), "1 sleeping 0-100 depth 0\n");
  // Itself: in an interrupt that has no chain.
  EXPECT_EQ(text(story.tell(sleep(kA, 0, 100, kA))), "1 sleeping 0-100 depth 0\n");
}

// The waker goes to sleep between its waking and the moment when the sleeper is on a run queue.
TEST(WaitStory, AWakeupTakesItsTime) {
  WaitStory story(0, 100, is_timer);
  story.add(piece(kRuns, kB, 0, 90));
  story.add(sleep(kB, 90, 200, {}, kTimerChain));
  const auto steps = story.tell(sleep(kA, 0, 100, kB));
  EXPECT_EQ(text(steps), "2 running 0-90 depth 1\n2 wakeup 90-100 depth 1\n");
}

TEST(WaitStory, WhatIsNotKnownIsAStepToo) {
  WaitStory story(0, 100, is_timer);
  story.add(piece(IntervalKind::hidden, kB, 0, 20));
  story.add(piece(kRuns, kB, 50, 100));
  const auto steps = story.tell(sleep(kA, 0, 100, kB));
  EXPECT_EQ(text(steps),
            "2 unknown 0-20 depth 1\n2 unknown 20-50 depth 1\n2 running 50-100 depth 1\n");
  expect_adds_up(steps, 0, 100);
}

// B and C wake each other all the time while A waits: each moment belongs to the one that ran.
TEST(WaitStory, PingPongOfTwoWakers) {
  WaitStory story(0, 40, is_timer);
  story.add(piece(kRuns, kB, 0, 10));
  story.add(sleep(kC, 0, 10, kB));
  story.add(piece(kRuns, kC, 10, 20));
  story.add(sleep(kB, 10, 20, kC));
  story.add(piece(kRuns, kB, 20, 30));
  story.add(sleep(kC, 20, 30, kB));
  story.add(piece(kRuns, kC, 30, 40));
  const auto steps = story.tell(sleep(kA, 0, 40, kC));
  EXPECT_EQ(text(steps),
            "2 running 0-10 depth 2\n3 running 10-20 depth 1\n2 running 20-30 depth 2\n"
            "3 running 30-40 depth 1\n");
  expect_adds_up(steps, 0, 40);
}

//   A    |=== waits for CPU 1 ===|runs
//   B    |= runs =|   |= runs =|           on CPU 1
TEST(WaitStory, WaitingForACpuIsToldByWhoHadIt) {
  Interval wait = piece(kWaits, kA, 10, 50, 0);
  WaitStory story(10, 50, is_timer);
  story.add(piece(kRuns, kB, 0, 20, 1));
  story.add(piece(kRuns, kC, 0, 50, 0));
  story.add(piece(kRuns, kB, 30, 45, 1));
  story.add(wait);
  story.add(piece(kRuns, kA, 50, 60, 1));
  const auto steps = story.tell(wait);
  EXPECT_EQ(text(steps),
            "2 running 10-20 depth 1\n0 idle 20-30 depth 1\n2 running 30-45 depth 1\n"
            "0 idle 45-50 depth 1\n");
  expect_adds_up(steps, 10, 50);
}

TEST(WaitStory, MemoryIsBounded) {
  WaitStory story(0, 1000, is_timer, 16);
  for (uint64_t t = 0; t < 1000; t += 10) {
    story.add(piece(kRuns, kB, t, t + 5));
    story.add(sleep(kB, t + 5, t + 10, {}, kTimerChain));
  }
  story.add(piece(kRuns, kB, 1000, 1010));
  const auto steps = story.tell(sleep(kA, 0, 1000, kB));
  expect_adds_up(steps, 0, 1000);
  EXPECT_EQ(steps.front().kind, StepKind::unknown);
  EXPECT_GE(story.kept_from_ns(), 900u);
  EXPECT_LE(steps.front().end_ns, story.kept_from_ns());
  EXPECT_EQ(steps.back().kind, StepKind::wakeup);
}

// Wakers that sleep in turn, deeper than anybody would read.
TEST(WaitStory, AChainEndsSomewhere) {
  constexpr uint32_t kTasks = 200;
  WaitStory story(0, 1000, is_timer);
  for (uint32_t i = 1; i < kTasks; ++i) {
    story.add(sleep(ThreadId{i}, 0, 1000 - i, ThreadId{i + 1}));
    story.add(piece(kRuns, ThreadId{i}, 1000 - i, 1000));
  }
  const auto steps = story.tell(sleep(ThreadId{0}, 0, 1000, ThreadId{1}));
  expect_adds_up(steps, 0, 1000);
  EXPECT_EQ(steps.size(), size_t{WaitStory::kMaxDepth} + 1);
  EXPECT_EQ(steps.front().kind, StepKind::sleeping);
}

}  // namespace
}  // namespace perf_latency
