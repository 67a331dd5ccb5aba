// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/window.h"

namespace perf_latency {

Result<Window> Window::make(const AnalysisOptions& options, const Metadata& metadata) {
  Window window;
  if (options.time_comm) {
    window.comms_ = options.time_comm;
    window.whole_ = false;
    window.start_ns_ = UINT64_MAX;
    return window;
  }
  const TimeSelection& time = options.time;
  if (time.part) {
    if (metadata.mode == RecordingMode::pipe)
      return make_error("a time in percent needs to know the recording's end: not on a pipe");
    if (!metadata.sample_time)
      return make_error(
          "a time in percent needs the recording's SAMPLE_TIME, which this file lacks");
    const auto [first, last] = *metadata.sample_time;
    if (last < first) return make_error("the recording's SAMPLE_TIME ends before it begins");
    const auto length = static_cast<double>(last - first);
    window.start_ns_ = first + static_cast<uint64_t>(time.part->first * length);
    window.stop_ns_ = first + static_cast<uint64_t>(time.part->second * length);
    window.whole_ = false;
    return window;
  }
  if (time.start_ns || time.stop_ns) {
    window.whole_ = false;
    window.start_ns_ = time.start_ns.value_or(0);
    window.stop_ns_ = time.stop_ns.value_or(UINT64_MAX);
  }
  return window;
}

void Window::on_rename(uint64_t time_ns, std::string_view comm) {
  if (!comms_) return;
  if (start_ns_ == UINT64_MAX) {
    if (comm == comms_->first) start_ns_ = time_ns;
  } else if (stop_ns_ == UINT64_MAX && comm == comms_->second) {
    stop_ns_ = time_ns;
  }
}

}  // namespace perf_latency
