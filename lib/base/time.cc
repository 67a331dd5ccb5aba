// SPDX-License-Identifier: GPL-2.0-only
#include "base/time.h"

#include <array>
#include <cstdio>

namespace perf_latency {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

struct Unit {
  std::string_view name;
  uint64_t ns;
};
constexpr std::array<Unit, 6> kUnits{{{"ns", 1},
                                      {"us", 1'000},
                                      {"ms", 1'000'000},
                                      {"s", kSecond},
                                      {"m", 60 * kSecond},
                                      {"h", 3600 * kSecond}}};

// Splits "12.5ms" into 12, 500000000 (billionths) and "ms". False when there is no digit.
struct Number {
  uint64_t whole = 0;
  uint64_t billionths = 0;
  std::string_view rest;
};
Result<Number> parse_number(std::string_view text) {
  Number number;
  size_t at = 0;
  size_t digits = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, ++digits) {
    if (__builtin_mul_overflow(number.whole, uint64_t{10}, &number.whole) ||
        __builtin_add_overflow(number.whole, uint64_t(text[at] - '0'), &number.whole))
      return make_error("the number is too large");
  }
  if (at < text.size() && text[at] == '.') {
    uint64_t place = kSecond / 10;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, ++digits) {
      number.billionths += place * uint64_t(text[at] - '0');
      place /= 10;
    }
  }
  if (digits == 0) return make_error("there is no number");
  number.rest = text.substr(at);
  return number;
}

Result<uint64_t> scale(const Number& number, uint64_t unit_ns) {
  uint64_t ns = 0;
  const auto part =
      static_cast<uint64_t>(static_cast<unsigned __int128>(number.billionths) * unit_ns / kSecond);
  if (__builtin_mul_overflow(number.whole, unit_ns, &ns) || __builtin_add_overflow(ns, part, &ns))
    return make_error("the number is too large");
  return ns;
}

}  // namespace

Result<uint64_t> parse_duration_ns(std::string_view text, uint64_t bare_unit_ns) {
  const Result<Number> number = parse_number(text);
  if (!number) return make_error("'" + std::string(text) + "': " + number.error().what);
  if (number->rest.empty()) {
    if (bare_unit_ns != 0) return scale(*number, bare_unit_ns);
    return make_error("'" + std::string(text) + "' needs a unit: ns, us, ms, s, m or h");
  }
  for (const Unit& unit : kUnits)
    if (number->rest == unit.name) return scale(*number, unit.ns);
  return make_error("'" + std::string(text) + "': the unit must be ns, us, ms, s, m or h");
}

Result<uint64_t> parse_timestamp_ns(std::string_view text) {
  const Result<Number> number = parse_number(text);
  if (!number || !number->rest.empty())
    return make_error("'" + std::string(text) + "' is no time in seconds");
  return scale(*number, kSecond);
}

std::string format_duration(uint64_t ns) {
  struct Step {
    uint64_t limit;
    double divisor;
    const char* unit;
  };
  static constexpr std::array<Step, 3> kSteps{
      {{1'000, 1, "ns"}, {1'000'000, 1e3, "us"}, {kSecond, 1e6, "ms"}}};
  std::array<char, 40> buffer;
  for (const Step& step : kSteps) {
    if (ns >= step.limit) continue;
    std::snprintf(buffer.data(), buffer.size(), step.divisor == 1 ? "%.0f %s" : "%.3f %s",
                  static_cast<double>(ns) / step.divisor, step.unit);
    return buffer.data();
  }
  std::snprintf(buffer.data(), buffer.size(), "%.3f s", static_cast<double>(ns) / 1e9);
  return buffer.data();
}

std::string format_timestamp(uint64_t ns) {
  std::array<char, 40> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%llu.%06llu",
                static_cast<unsigned long long>(ns / kSecond),
                static_cast<unsigned long long>(ns % kSecond / 1000));
  return buffer.data();
}

}  // namespace perf_latency
