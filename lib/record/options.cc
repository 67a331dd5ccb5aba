// SPDX-License-Identifier: GPL-2.0-only
#include "record/options.h"

#include <strings.h>
#include <time.h>

#include <charconv>

namespace perf_latency {

namespace {

struct ClockName {
  const char* name;
  int32_t id;
};
// perf record's names, and the kernel's without CLOCK_.
constexpr ClockName kClocks[] = {
    {"monotonic", CLOCK_MONOTONIC},
    {"mono", CLOCK_MONOTONIC},
    {"monotonic_raw", CLOCK_MONOTONIC_RAW},
    {"raw", CLOCK_MONOTONIC_RAW},
    {"realtime", CLOCK_REALTIME},
    {"real", CLOCK_REALTIME},
    {"boottime", CLOCK_BOOTTIME},
    {"boot", CLOCK_BOOTTIME},
    {"tai", CLOCK_TAI},
};

}  // namespace

Result<std::optional<int32_t>> parse_clock(std::string_view text) {
  const std::string whole(text);
  if (::strncasecmp(whole.c_str(), "CLOCK_", 6) == 0) text.remove_prefix(6);
  const std::string name(text);
  if (::strcasecmp(name.c_str(), "perf") == 0) return std::optional<int32_t>();
  for (const ClockName& clock : kClocks)
    if (::strcasecmp(name.c_str(), clock.name) == 0) return std::optional<int32_t>(clock.id);
  int32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (!text.empty() && error == std::errc() && end == text.data() + text.size() && id >= 0)
    return std::optional<int32_t>(id);
  return make_error("no clock \"" + whole +
                    "\": monotonic, monotonic_raw, realtime, boottime, tai, or perf");
}

Result<uint64_t> parse_size(std::string_view text, uint64_t bare_unit) {
  const std::string whole(text);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  uint64_t factor = 0;
  if (unit.empty()) factor = bare_unit;
  if (unit == "B" || unit == "b") factor = 1;
  if (unit == "K" || unit == "k") factor = uint64_t{1} << 10;
  if (unit == "M" || unit == "m") factor = uint64_t{1} << 20;
  if (unit == "G" || unit == "g") factor = uint64_t{1} << 30;
  uint64_t bytes = 0;
  if (error != std::errc() || factor == 0 || number == 0 ||
      __builtin_mul_overflow(number, factor, &bytes))
    return make_error("not a size: \"" + whole + "\" (a number with B, K, M or G)");
  return bytes;
}

}  // namespace perf_latency
