// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/line_order.h"

#include <gtest/gtest.h>

namespace perf_latency {
namespace {

struct Line {
  uint64_t end_ns = 0;
  int number = 0;
};

std::vector<int> ordered(LineOrder<Line>& order, const std::vector<Line>& lines) {
  std::vector<int> given;
  const auto give = [&](const Line& line) { given.push_back(line.number); };
  for (const Line& line : lines) order.add(line, give);
  order.finish(give);
  return given;
}

TEST(LineOrder, LateLinesFindTheirPlace) {
  LineOrder<Line> order(4);
  EXPECT_EQ(ordered(order, {{10, 1}, {30, 2}, {20, 3}, {25, 4}, {40, 5}, {35, 6}, {50, 7}}),
            (std::vector<int>{1, 3, 4, 2, 6, 5, 7}));
  EXPECT_EQ(order.misplaced(), 0u);
}

TEST(LineOrder, EqualEndsKeepTheirOrder) {
  LineOrder<Line> order(3);
  EXPECT_EQ(ordered(order, {{10, 1}, {20, 2}, {20, 3}, {10, 4}, {20, 5}, {20, 6}}),
            (std::vector<int>{1, 4, 2, 3, 5, 6}));
}

// A line that comes when later ones are gone is given out at once, and counted.
TEST(LineOrder, TooLateLinesAreCounted) {
  LineOrder<Line> order(2);
  EXPECT_EQ(ordered(order, {{10, 1}, {20, 2}, {30, 3}, {40, 4}, {5, 5}, {50, 6}}),
            (std::vector<int>{1, 2, 5, 3, 4, 6}));
  EXPECT_EQ(order.misplaced(), 1u);
}

TEST(LineOrder, HoldsNoMoreThanItMay) {
  LineOrder<Line> order(8);
  size_t given = 0;
  for (int i = 0; i < 1000; ++i) {
    // Each one later than the one before: all of them go to the heap.
    order.add(Line{static_cast<uint64_t>(2000 - i), i}, [&](const Line&) { ++given; });
    EXPECT_LE(static_cast<size_t>(i) + 1 - given, 8u);
  }
}

// The next recording begins anew: its clock may be an earlier one.
TEST(LineOrder, FinishEndsARecording) {
  LineOrder<Line> order(8);
  ordered(order, {{1000, 1}});
  EXPECT_EQ(ordered(order, {{10, 2}, {5, 3}}), (std::vector<int>{3, 2}));
  EXPECT_EQ(order.misplaced(), 0u);
}

}  // namespace
}  // namespace perf_latency
