// SPDX-License-Identifier: GPL-2.0-only
// The order in which events are handed on: rounds, equal times, late events, backward rings, no rounds,
// and events put aside on disk.
#include <gtest/gtest.h>

#include <random>

#include "tracepoint/event_sorter.h"

namespace perf_latency {
namespace {

// What a test hands in and gets back: time and a number in file order, kept in `cgroup`.
struct Sorted {
  explicit Sorted(size_t max_pending = 1u << 20)
      : sorter(
            [this](const Event* const* events, size_t count) {
              for (size_t i = 0; i < count; ++i)
                out.emplace_back(events[i]->time_ns, events[i]->cgroup);
            },
            diagnostics, buffers, max_pending) {}

  void add(std::initializer_list<uint64_t> times) { add(std::vector<uint64_t>(times)); }
  void add(const std::vector<uint64_t>& times) {
    std::vector<Event> events;
    for (const uint64_t time : times) {
      Event event;
      event.time_ns = time;
      event.cgroup = next++;
      events.push_back(event);
    }
    sorter.add(std::move(events));
  }
  std::vector<uint64_t> times() const {
    std::vector<uint64_t> all;
    for (const auto& [time, number] : out) all.push_back(time);
    return all;
  }
  // In order of time, and of the file where times are equal.
  bool in_order() const { return std::is_sorted(out.begin(), out.end()); }

  Diagnostics diagnostics;
  EventBuffers buffers;
  uint64_t next = 0;
  std::vector<std::pair<uint64_t, uint64_t>> out;
  EventSorter sorter;
};

using Times = std::vector<uint64_t>;

TEST(TracepointSorter, ARoundHandsOnWhatTheRoundBeforeHadSeen) {
  Sorted sorted;
  sorted.add({10, 20, 12, 18});  // two rings
  sorted.sorter.end_round();
  EXPECT_EQ(sorted.times(), Times{});
  sorted.add({25, 30, 15, 28});  // 15 is older than 20, and still in time
  sorted.sorter.end_round();
  EXPECT_EQ(sorted.times(), (Times{10, 12, 15, 18, 20}));
  sorted.add({40});
  sorted.sorter.end_round();
  EXPECT_EQ(sorted.times(), (Times{10, 12, 15, 18, 20, 25, 28, 30}));
  sorted.sorter.finish();
  EXPECT_EQ(sorted.times(), (Times{10, 12, 15, 18, 20, 25, 28, 30, 40}));
  EXPECT_EQ(sorted.diagnostics.count(Diag::out_of_order), 0u);
}

TEST(TracepointSorter, EqualTimesKeepTheOrderOfTheFile) {
  Sorted sorted;
  sorted.add({5, 5, 7, 5, 7});
  sorted.add({5, 7});
  sorted.sorter.finish();
  EXPECT_EQ(sorted.times(), (Times{5, 5, 5, 5, 7, 7, 7}));
  EXPECT_TRUE(sorted.in_order());
}

TEST(TracepointSorter, LateEventsAreCountedAndNotLost) {
  Sorted sorted;
  sorted.add({10, 20});
  sorted.sorter.end_round();
  sorted.add({30});
  sorted.sorter.end_round();
  sorted.add({5, 40});  // 10 and 20 are gone
  sorted.sorter.end_round();
  sorted.sorter.finish();
  EXPECT_EQ(sorted.times(), (Times{10, 20, 5, 30, 40}));
  EXPECT_EQ(sorted.diagnostics.count(Diag::out_of_order), 1u);
}

TEST(TracepointSorter, SynthesizedEventsOfTimeZeroAreNotLate) {
  Sorted sorted;
  sorted.add({0, 0, 10});
  sorted.sorter.end_round();
  sorted.add({0, 20});
  sorted.sorter.end_round();
  sorted.add({0, 30});
  sorted.sorter.finish();
  EXPECT_EQ(sorted.out.size(), 7u);
  EXPECT_EQ(sorted.diagnostics.count(Diag::out_of_order), 0u);
}

TEST(TracepointSorter, ABackwardRingIsTurnedRound) {
  Sorted sorted;
  Times times(10000);
  for (size_t i = 0; i < times.size(); ++i) times[i] = 20000 - i;
  sorted.add(times);
  sorted.sorter.end_round();
  sorted.sorter.finish();
  EXPECT_EQ(sorted.out.size(), 10000u);
  EXPECT_TRUE(sorted.in_order());
}

TEST(TracepointSorter, AnythingIsSortedWhateverFitsInMemory) {
  std::mt19937_64 random(1);
  for (const size_t max_pending : {size_t{1}, size_t{7}, size_t{1000}, size_t{1} << 20}) {
    Sorted sorted(max_pending);
    std::vector<std::pair<uint64_t, uint64_t>> expected;
    uint64_t number = 0;
    for (int batch = 0; batch < 200; ++batch) {
      Times times;
      uint64_t time = random() % 1000;
      for (int i = 0; i < 30; ++i) {
        time = random() % 5 == 0 ? random() % 1000 : time + random() % 10;
        times.push_back(time);
        expected.emplace_back(time, number++);
      }
      sorted.add(times);
    }
    sorted.sorter.finish();
    std::sort(expected.begin(), expected.end());
    // Within a time the order is that of the file, on disk or not.
    EXPECT_EQ(sorted.out, expected) << max_pending;
    EXPECT_EQ(sorted.diagnostics.count(Diag::out_of_order), 0u);
    EXPECT_EQ(sorted.sorter.spilled_events() > 0, max_pending < 6000) << max_pending;
  }
}

TEST(TracepointSorter, RoundsGoOnAfterASpill) {
  Sorted sorted(8);
  for (uint64_t round = 0; round < 50; ++round) {
    const uint64_t base = round * 100;
    sorted.add({base + 10, base + 20, base + 30, base + 40, base + 50});
    sorted.add({base + 5, base + 25, base + 45});
    sorted.sorter.end_round();
  }
  EXPECT_GE(sorted.out.size(), 48u * 8);  // the last two rounds may wait
  sorted.sorter.finish();
  EXPECT_EQ(sorted.out.size(), 50u * 8);
  EXPECT_TRUE(std::is_sorted(sorted.out.begin(), sorted.out.end(),
                             [](const auto& a, const auto& b) { return a.first < b.first; }));
  EXPECT_EQ(sorted.diagnostics.count(Diag::out_of_order), 0u);
}

}  // namespace
}  // namespace perf_latency
