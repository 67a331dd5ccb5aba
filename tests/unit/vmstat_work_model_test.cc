// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include "model/task_model.h"
#include "model/work_model.h"

namespace perf_latency {
namespace {

using K = EventKind;

constexpr uint64_t kUpdate = 0xffffffff81000100;
constexpr uint64_t kShepherd = 0xffffffff81000200;
constexpr uint64_t kWork = 0xffff888000001000;
constexpr uint64_t kTimer = kWork + 0x20;
constexpr int32_t kHog = 100;
constexpr int32_t kWorker = 50;

struct Recorder : WorkSink, IntervalSink {
  void on_work_run(const WorkRun& run) override { runs.push_back(run); }
  void on_work_queued(const WorkQueueing& queueing) override { queued.push_back(queueing); }
  void on_work_pending(const WorkPending& item) override { pending.push_back(item); }
  void on_work_push(const WorkPush& push) override { pushes.push_back(push); }
  void on_work_timer(const WorkTimer& timer) override { timers.push_back(timer); }
  void on_tick_stop(const TickStop& stop) override {
    ticks.push_back(stop);
    settled.push_back(stop.settled ? *stop.settled : std::vector<uint64_t>());
  }
  void on_interval(const Interval&) override {}

  std::vector<WorkRun> runs;
  std::vector<WorkQueueing> queued;
  std::vector<WorkPending> pending;
  std::vector<WorkPush> pushes;
  std::vector<WorkTimer> timers;
  std::vector<TickStop> ticks;
  std::vector<std::vector<uint64_t>> settled;
};

// Hands events to both models, as a report does.
class VmstatWorkModel : public ::testing::Test {
 protected:
  VmstatWorkModel() { tasks_.set_events({true, true, true}); }

  Event event(K kind, uint64_t time_ns, uint32_t cpu, int32_t tid) {
    Event event;
    event.kind = kind;
    event.time_ns = time_ns;
    event.cpu = cpu;
    event.tid = tid;
    event.pid = tid;
    return event;
  }
  void feed(const Event& event) {
    tasks_.handle(event);
    work_.handle(event);
  }
  void switches(uint64_t time_ns, uint32_t cpu, int32_t prev, char state, int32_t next,
                int16_t prev_prio = 120, int16_t next_prio = 120) {
    Event e = event(K::sched_switch, time_ns, cpu, prev);
    e.state = static_cast<uint8_t>(state);
    e.sched_switch = {prev, next, StringPool::kEmpty, StringPool::kEmpty, prev_prio, next_prio, 0};
    feed(e);
  }
  void queue(uint64_t time_ns, uint32_t cpu, int32_t tid, int32_t target, uint64_t work = kWork,
             uint64_t function = kUpdate) {
    Event e = event(K::workqueue_queue_work, time_ns, cpu, tid);
    e.work = {work, function, StringPool::kEmpty, target};
    feed(e);
  }
  void executes(K kind, uint64_t time_ns, uint32_t cpu, int32_t tid, uint64_t work = kWork,
                uint64_t function = kUpdate) {
    Event e = event(kind, time_ns, cpu, tid);
    e.work = {work, function, StringPool::kEmpty, -1};
    feed(e);
  }
  void start(uint64_t time_ns, uint32_t cpu, int32_t tid, uint64_t work = kWork,
             uint64_t function = kUpdate) {
    executes(K::workqueue_execute_start, time_ns, cpu, tid, work, function);
  }
  void end(uint64_t time_ns, uint32_t cpu, int32_t tid, uint64_t work = kWork,
           uint64_t function = kUpdate) {
    executes(K::workqueue_execute_end, time_ns, cpu, tid, work, function);
  }
  void timer(K kind, uint64_t time_ns, uint32_t cpu, int32_t tid, uint64_t address = kTimer) {
    Event e = event(kind, time_ns, cpu, tid);
    e.timer = {address, 0, 0};
    feed(e);
  }
  void tick_stop(uint64_t time_ns, uint32_t cpu, int32_t tid, uint32_t success) {
    Event e = event(K::tick_stop, time_ns, cpu, tid);
    e.tick = {0, success};
    feed(e);
  }
  ThreadId thread(int32_t tid) const { return tasks_.threads().find(tid); }

  Recorder out_;
  Diagnostics diagnostics_;
  TaskModel tasks_{out_, diagnostics_};
  WorkModel work_{out_, tasks_.threads()};
};

//        10      15      20       25      30      40
// CPU 1  hog     queue   worker   start   end     hog
TEST_F(VmstatWorkModel, ATaskIsPushedOffUntilItIsBack) {
  switches(10, 1, 0, 'R', kHog);
  queue(15, 1, kHog, 1);
  switches(20, 1, kHog, 'R', kWorker, 98);
  start(25, 1, kWorker);
  end(30, 1, kWorker);
  switches(40, 1, kWorker, 'I', kHog);
  work_.finish(50);

  ASSERT_EQ(out_.runs.size(), 1u);
  EXPECT_EQ(out_.runs[0].cpu, 1u);
  EXPECT_EQ(out_.runs[0].queued_ns, 15u);
  EXPECT_EQ(out_.runs[0].start_ns, 25u);
  EXPECT_EQ(out_.runs[0].end_ns, 30u);
  EXPECT_FALSE(out_.runs[0].open);
  EXPECT_EQ(out_.runs[0].behind.thread, thread(kHog));
  EXPECT_EQ(out_.runs[0].behind.ns, 5u);
  EXPECT_EQ(out_.runs[0].behind.prio, 98);
  ASSERT_EQ(out_.pushes.size(), 1u);
  EXPECT_EQ(out_.pushes[0].thread, thread(kHog));
  EXPECT_EQ(out_.pushes[0].prio, 98);
  EXPECT_EQ(out_.pushes[0].cpu, 1u);
  EXPECT_EQ(out_.pushes[0].start_ns, 20u);
  EXPECT_EQ(out_.pushes[0].end_ns, 40u);
  EXPECT_EQ(out_.pushes[0].functions, std::vector<uint64_t>{kUpdate});
  EXPECT_FALSE(out_.pushes[0].open);
  EXPECT_TRUE(out_.pending.empty());
}

TEST_F(VmstatWorkModel, ATaskThatWentToSleepIsNotPushedOff) {
  switches(10, 1, 0, 'R', kHog);
  queue(15, 1, kHog, 1);
  switches(20, 1, kHog, 'S', kWorker);
  start(25, 1, kWorker);
  end(30, 1, kWorker);
  switches(40, 1, kWorker, 'I', 0);
  work_.finish(50);
  EXPECT_EQ(out_.runs.size(), 1u);
  EXPECT_TRUE(out_.pushes.empty());
}

TEST_F(VmstatWorkModel, AWorkerWithoutAnItemPushesNobodyOff) {
  switches(10, 1, 0, 'R', kHog);
  switches(20, 1, kHog, 'R', kWorker);
  switches(40, 1, kWorker, 'I', kHog);
  work_.finish(50);
  EXPECT_TRUE(out_.pushes.empty());
}

//        10    20      25     30 (other task)  60        70
// CPU 1  hog   worker  start  worker off       worker    hog on CPU 2 at 35
TEST_F(VmstatWorkModel, ATaskIsBackOnAnyCpu) {
  switches(10, 1, 0, 'R', kHog);
  switches(20, 1, kHog, 'R', kWorker);
  start(25, 1, kWorker);
  switches(30, 1, kWorker, 'D', 0);
  switches(35, 2, 0, 'R', kHog);
  switches(60, 1, 0, 'R', kWorker);
  end(65, 1, kWorker);
  work_.finish(80);
  ASSERT_EQ(out_.pushes.size(), 1u);
  EXPECT_EQ(out_.pushes[0].end_ns, 35u);
  EXPECT_EQ(out_.pushes[0].cpu, 1u);
  ASSERT_EQ(out_.runs.size(), 1u);
  EXPECT_EQ(out_.runs[0].end_ns, 65u);
  EXPECT_EQ(out_.runs[0].queued_ns, 0u);
}

TEST_F(VmstatWorkModel, ATaskThatIsNotBackAtTheEndIsOpen) {
  switches(10, 1, 0, 'R', kHog);
  switches(20, 1, kHog, 'R', kWorker);
  start(25, 1, kWorker);
  work_.finish(90);
  ASSERT_EQ(out_.pushes.size(), 1u);
  EXPECT_TRUE(out_.pushes[0].open);
  EXPECT_EQ(out_.pushes[0].end_ns, 90u);
  ASSERT_EQ(out_.runs.size(), 1u);
  EXPECT_TRUE(out_.runs[0].open);
  EXPECT_EQ(out_.runs[0].end_ns, 90u);
}

TEST_F(VmstatWorkModel, StarvedWorkHasItsAgeAndWhoHadTheCpu) {
  switches(10, 1, 0, 'R', kHog, 120, 98);
  queue(100, 1, kHog, 1);
  Event activate = event(K::workqueue_activate_work, 101, 1, kHog);
  activate.work = {kWork, 0, StringPool::kEmpty, -1};
  feed(activate);
  switches(400, 1, kHog, 'S', 7, 98);
  switches(450, 1, 7, 'S', kHog, 120, 98);
  work_.finish(1000);
  ASSERT_EQ(out_.pending.size(), 1u);
  const WorkPending& item = out_.pending[0];
  EXPECT_EQ(item.function, kUpdate);
  EXPECT_EQ(item.cpu, 1u);
  EXPECT_EQ(item.queued_ns, 100u);
  EXPECT_EQ(item.end_ns, 1000u);
  EXPECT_TRUE(item.activated);
  EXPECT_FALSE(item.lost);
  EXPECT_EQ(item.behind.thread, thread(kHog));
  EXPECT_EQ(item.behind.ns, 850u);  // 100 to 400, 450 to 1000
  EXPECT_EQ(item.behind.prio, 98);
  EXPECT_TRUE(item.behind.old_prio);  // it was not switched out since 450
}

TEST_F(VmstatWorkModel, WorkQueuedBeforeALossIsNotSaidToBeStarved) {
  queue(100, 1, kHog, 1);
  work_.on_lost(200);
  work_.finish(1000);
  ASSERT_EQ(out_.pending.size(), 1u);
  EXPECT_TRUE(out_.pending[0].lost);
}

TEST_F(VmstatWorkModel, QueuedAgainMeansThatTheFirstIsGone) {
  queue(100, 1, kHog, 1);
  queue(300, 1, kHog, 1);
  work_.finish(1000);
  ASSERT_EQ(out_.pending.size(), 1u);
  EXPECT_EQ(out_.pending[0].queued_ns, 300u);
  EXPECT_EQ(out_.queued.size(), 2u);
}

TEST_F(VmstatWorkModel, AnEndWithoutAStartRanSinceBefore) {
  work_.set_start(5);
  end(30, 1, kWorker);
  ASSERT_EQ(out_.runs.size(), 1u);
  EXPECT_TRUE(out_.runs[0].began_before);
  EXPECT_EQ(out_.runs[0].start_ns, 5u);
  // Before 5.7 the end does not name its function: nothing can be said.
  end(40, 1, kWorker, kWork, 0);
  EXPECT_EQ(out_.runs.size(), 1u);
}

TEST_F(VmstatWorkModel, TheShepherdQueuesAfterTheIdleTickStopped) {
  tick_stop(10, 2, 0, 1);
  start(20, 0, kWorker, 0x9000, kShepherd);
  queue(25, 0, kWorker, 2);
  ASSERT_EQ(out_.queued.size(), 1u);
  EXPECT_TRUE(out_.queued[0].after_idle_stop);
  EXPECT_EQ(out_.queued[0].by_function, kShepherd);
  EXPECT_EQ(out_.queued[0].cpu, 2u);
}

TEST_F(VmstatWorkModel, AStoppedTickEndsWithTheNextTask) {
  tick_stop(10, 2, 0, 1);
  switches(15, 2, 0, 'R', kHog);
  switches(17, 2, kHog, 'S', 0);
  queue(25, 0, kWorker, 2);
  tick_stop(30, 3, 0, 0);  // could not be stopped
  queue(35, 0, kWorker, 3, kWork + 0x1000);
  tick_stop(40, 4, kHog, 1);  // of a running task: nohz_full
  queue(45, 0, kWorker, 4, kWork + 0x2000);
  ASSERT_EQ(out_.queued.size(), 3u);
  for (const WorkQueueing& queueing : out_.queued) EXPECT_FALSE(queueing.after_idle_stop);
  EXPECT_TRUE(out_.ticks[2].stopped);
  EXPECT_FALSE(out_.ticks[2].idle);
  EXPECT_FALSE(out_.ticks[1].stopped);
}

TEST_F(VmstatWorkModel, WorkThatArmsItsTimerIsPendingUntilItFires) {
  queue(10, 1, kHog, 1);
  start(20, 1, kWorker);
  timer(K::timer_start, 25, 1, kWorker);
  end(30, 1, kWorker);
  tick_stop(40, 1, 0, 1);
  work_.finish(1000);
  ASSERT_EQ(out_.timers.size(), 1u);
  EXPECT_EQ(out_.timers[0].function, kUpdate);
  EXPECT_EQ(out_.timers[0].cpu, 1u);
  EXPECT_EQ(out_.timers[0].start_ns, 25u);
  EXPECT_EQ(out_.timers[0].end_ns, 1000u);
  EXPECT_TRUE(out_.settled[0].empty());  // it waits in the timer
}

TEST_F(VmstatWorkModel, AFiredTimerIsNotPending) {
  queue(10, 1, kHog, 1);
  start(20, 1, kWorker);
  timer(K::timer_start, 25, 1, kWorker);
  end(30, 1, kWorker);
  timer(K::timer_expire_entry, 500, 1, 0);
  queue(501, 1, 0, 1);
  start(510, 1, kWorker);
  end(520, 1, kWorker);
  tick_stop(540, 1, 0, 1);
  work_.finish(1000);
  EXPECT_TRUE(out_.timers.empty());
  // This time it did not arm its timer: only the shepherd can queue it again.
  EXPECT_EQ(out_.settled[0], std::vector<uint64_t>{kUpdate});
}

TEST_F(VmstatWorkModel, ATimerOfAnotherObjectIsNotTheWorksOwn) {
  start(20, 1, kWorker);
  timer(K::timer_start, 25, 1, kWorker, kWork + 0x4000);
  timer(K::timer_start, 26, 1, kWorker, kWork - 0x20);
  work_.finish(1000);
  EXPECT_TRUE(out_.timers.empty());
}

TEST_F(VmstatWorkModel, UnboundWorkWaitsNowhere) {
  switches(10, 1, 0, 'R', kHog);
  queue(100, 1, kHog, -1);
  switches(200, 1, kHog, 'S', 0);
  work_.finish(300);
  ASSERT_EQ(out_.pending.size(), 1u);
  EXPECT_EQ(out_.pending[0].cpu, WorkModel::kNoCpu);
  EXPECT_FALSE(out_.pending[0].behind.thread.valid());
}

TEST_F(VmstatWorkModel, HostileCpuNumbersCostNoMemory) {
  queue(100, UINT32_MAX, kHog, INT32_MAX);
  switches(200, UINT32_MAX - 1, kHog, 'S', 0);
  tick_stop(300, 1u << 30, 0, 1);
  work_.finish(400);
  EXPECT_EQ(out_.pending.size(), 1u);
}

}  // namespace
}  // namespace perf_latency
