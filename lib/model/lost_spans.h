// SPDX-License-Identifier: GPL-2.0-only
// The stretches of time in which a ring lost events.
//
// A span runs from the last event that the ring holds before the loss to the LOST record, which the
// kernel writes with the next event that fits (kernel/events/ring_buffer.c, __perf_output_begin).
// Spans are kept merged and in order; spans of different CPUs that overlap become one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace perf_latency {

class LostSpans {
 public:
  struct Span {
    uint64_t start_ns;
    uint64_t end_ns;
  };

  // In any order.
  void add(uint64_t start_ns, uint64_t end_ns) {
    const auto first =
        std::lower_bound(spans_.begin(), spans_.end(), start_ns,
                         [](const Span& span, uint64_t time_ns) { return span.end_ns < time_ns; });
    auto last = first;
    for (; last != spans_.end() && last->start_ns <= end_ns; ++last) {
      start_ns = std::min(start_ns, last->start_ns);
      end_ns = std::max(end_ns, last->end_ns);
    }
    spans_.insert(spans_.erase(first, last), {start_ns, end_ns});
  }

  bool empty() const { return spans_.empty(); }

  // Where the first span that overlaps [start_ns, end_ns] begins, not before start_ns.
  std::optional<uint64_t> first_overlap(uint64_t start_ns, uint64_t end_ns) const {
    if (spans_.empty()) return std::nullopt;
    const auto span = std::lower_bound(
        spans_.begin(), spans_.end(), start_ns,
        [](const Span& candidate, uint64_t time_ns) { return candidate.end_ns < time_ns; });
    if (span == spans_.end() || span->start_ns > end_ns) return std::nullopt;
    return std::max(span->start_ns, start_ns);
  }

 private:
  std::vector<Span> spans_;
};

}  // namespace perf_latency
