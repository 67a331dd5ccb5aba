// SPDX-License-Identifier: GPL-2.0-only
// Puts lines in order of end_ns, in bounded memory.
//
// Lines come nearly in order: what ends a wait is sometimes known only from a later event (a wakeup
// without its second half, a thread seen running, a span of lost events). So the last kHeld lines are
// held back. A line that comes even later is given out at once, behind its place, and counted. Lines of
// equal end keep the order in which they came.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace perf_latency {

template <typename Line>
class LineOrder {
 public:
  explicit LineOrder(size_t held = 65536) : held_(held) {}

  // Calls give(const Line&) for what need not wait any longer.
  template <typename Give>
  void add(const Line& line, Give give) {
    if (in_order_.empty() || line.end_ns >= in_order_.back().line.end_ns) {
      in_order_.push_back({line, number_++});
    } else {
      late_.push_back({line, number_++});
      std::push_heap(late_.begin(), late_.end(), after);
    }
    if (in_order_.size() + late_.size() > held_) give_first(give);
  }

  template <typename Give>
  void finish(Give give) {
    while (!in_order_.empty() || !late_.empty()) give_first(give);
    last_end_ns_ = 0;
  }

  // Lines that were given out behind their place.
  uint64_t misplaced() const { return misplaced_; }

 private:
  struct Held {
    Line line;
    uint64_t number;
  };
  static bool after(const Held& a, const Held& b) {
    return std::pair(a.line.end_ns, a.number) > std::pair(b.line.end_ns, b.number);
  }

  template <typename Give>
  void give_first(Give& give) {
    Line line;
    if (late_.empty() || (!in_order_.empty() && after(late_.front(), in_order_.front()))) {
      line = in_order_.front().line;
      in_order_.pop_front();
    } else {
      line = late_.front().line;
      std::pop_heap(late_.begin(), late_.end(), after);
      late_.pop_back();
    }
    if (line.end_ns < last_end_ns_) ++misplaced_;
    last_end_ns_ = std::max(last_end_ns_, line.end_ns);
    give(line);
  }

  size_t held_;
  std::deque<Held> in_order_;
  std::vector<Held> late_;  // a heap, the earliest on top
  uint64_t number_ = 0;
  uint64_t last_end_ns_ = 0;
  uint64_t misplaced_ = 0;
};

}  // namespace perf_latency
