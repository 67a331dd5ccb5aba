// SPDX-License-Identifier: GPL-2.0-only
// The part of a recording that is asked for (--time, --time-comm).
//
// Intervals are clipped to it; state from before it is known, since the whole recording is read. With
// --time-comm the window opens and closes at the first renames of a task to the two names; events come
// in order of time, so what ended before the opening has been given out when it was not open yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/options.h"
#include "base/result.h"
#include "perfdata/metadata.h"

namespace perf_latency {

struct TimeSpan {
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t length_ns() const { return end_ns - start_ns; }
};

class Window {
 public:
  Window() = default;

  // Fails for a part in percent where the recording's span is not known beforehand.
  static Result<Window> make(const AnalysisOptions& options, const Metadata& metadata);

  // A task got the name `comm`.
  void on_rename(uint64_t time_ns, std::string_view comm);

  // The part of [start, end] inside the window; none when they do not touch.
  std::optional<TimeSpan> clip(uint64_t start_ns, uint64_t end_ns) const {
    if (whole_) return TimeSpan{start_ns, end_ns};
    const uint64_t from = start_ns < start_ns_ ? start_ns_ : start_ns;
    const uint64_t to = end_ns > stop_ns_ ? stop_ns_ : end_ns;
    // An interval of no length belongs to the window that holds its moment.
    if (from > to || (from == to && start_ns != end_ns)) return std::nullopt;
    return TimeSpan{from, to};
  }
  bool contains(uint64_t time_ns) const {
    return whole_ || (time_ns >= start_ns_ && time_ns <= stop_ns_);
  }
  bool whole() const { return whole_; }
  // With --time-comm: whether both names were seen.
  bool opened() const { return whole_ || start_ns_ != UINT64_MAX; }

 private:
  uint64_t start_ns_ = 0;
  uint64_t stop_ns_ = UINT64_MAX;
  bool whole_ = true;
  std::optional<std::pair<std::string, std::string>> comms_;
};

}  // namespace perf_latency
