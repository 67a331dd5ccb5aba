// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/time_selection.h"

#include <charconv>
#include <cmath>

#include "base/time.h"

namespace perf_latency {
namespace {

// "12.5%" without the sign: a part between 0 and 1.
std::optional<double> parse_percent(std::string_view text) {
  if (text.empty() || text.back() != '%') return std::nullopt;
  text.remove_suffix(1);
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!(percent >= 0 && percent <= 100)) return std::nullopt;
  return percent / 100;
}

Result<TimeSelection> parse_part(std::string_view text) {
  const auto wrong = [&] {
    return make_error("'" + std::string(text) +
                      "' is no part of a recording such as 10%-20% or 10%/2");
  };
  TimeSelection selection;
  if (const size_t slash = text.find('/'); slash != std::string_view::npos) {
    const auto width = parse_percent(text.substr(0, slash));
    const std::string_view number = text.substr(slash + 1);
    unsigned nth = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), nth);
    if (!width || error != std::errc() || end != number.data() + number.size() || nth == 0 ||
        *width * (nth - 1) >= 1)
      return wrong();
    selection.part = {*width * (nth - 1), std::fmin(*width * nth, 1.0)};
    return selection;
  }
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos) return wrong();
  const auto from = parse_percent(text.substr(0, dash));
  const auto to = parse_percent(text.substr(dash + 1));
  if (!from || !to || *from >= *to) return wrong();
  selection.part = {*from, *to};
  return selection;
}

}  // namespace

Result<TimeSelection> parse_time_selection(std::string_view text) {
  if (text.find('%') != std::string_view::npos) return parse_part(text);
  const size_t comma = text.find(',');
  if (comma == std::string_view::npos)
    return make_error("'" + std::string(text) +
                      "' is no time range: START,STOP in seconds, 10%-20% or 10%/2");
  TimeSelection selection;
  if (comma != 0) {
    const auto start = parse_timestamp_ns(text.substr(0, comma));
    if (!start) return start.error();
    selection.start_ns = *start;
  }
  if (comma + 1 != text.size()) {
    const auto stop = parse_timestamp_ns(text.substr(comma + 1));
    if (!stop) return stop.error();
    selection.stop_ns = *stop;
  }
  if (selection.start_ns && selection.stop_ns && *selection.stop_ns <= *selection.start_ns)
    return make_error("'" + std::string(text) + "' stops before it starts");
  return selection;
}

}  // namespace perf_latency
