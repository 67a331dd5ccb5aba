// SPDX-License-Identifier: GPL-2.0-only
#include "render/cells.h"

#include <fmt/format.h>

#include <cmath>

#include "base/time.h"
#include "render/escape.h"

namespace perf_latency {
namespace {

// Beyond this a double is no exact integer, and the conversion may not fit.
constexpr double kMaxInteger = 9.0e18;

bool is_integer_kind(CellKind kind) {
  return kind == CellKind::duration_ns || kind == CellKind::time_ns;
}

std::string readable_integer(uint64_t value, CellKind kind) {
  switch (kind) {
    case CellKind::duration_ns:
      return format_duration(value);
    case CellKind::time_ns:
      return format_timestamp(value);
    case CellKind::percent:
      return fmt::format("{}.00 %", value);
    case CellKind::change_percent:
      return fmt::format("+{}.00 %", value);
    case CellKind::boolean:
      return value != 0 ? "yes" : "no";
    default:
      return std::to_string(value);
  }
}

std::string readable_double(double value, CellKind kind) {
  if (!std::isfinite(value)) return "-";
  if (kind == CellKind::percent) return fmt::format("{:.2f} %", value);
  if (kind == CellKind::change_percent) return fmt::format("{:+.2f} %", value);
  if (is_integer_kind(kind) && std::fabs(value) < kMaxInteger)
    return (value <= -0.5 ? "-" : "") +
           readable_integer(static_cast<uint64_t>(std::llround(std::fabs(value))), kind);
  return fmt::format("{:.2f}", value);
}

}  // namespace

std::string readable_cell(const Cell& cell, CellKind kind) {
  if (const auto* text = std::get_if<std::string>(&cell)) return terminal_text(*text);
  if (const auto* value = std::get_if<uint64_t>(&cell)) return readable_integer(*value, kind);
  if (const auto* value = std::get_if<double>(&cell)) return readable_double(*value, kind);
  return "-";
}

std::string plain_cell(const Cell& cell, CellKind kind) {
  if (const auto* text = std::get_if<std::string>(&cell)) return terminal_text(*text);
  if (const auto* value = std::get_if<uint64_t>(&cell)) {
    if (kind == CellKind::boolean) return *value != 0 ? "true" : "false";
    return std::to_string(*value);
  }
  if (const auto* value = std::get_if<double>(&cell)) {
    if (!std::isfinite(*value)) return {};
    if (is_integer_kind(kind) && std::fabs(*value) < kMaxInteger)
      return std::to_string(std::llround(*value));
    return fmt::format("{}", *value);
  }
  return {};
}

std::optional<int64_t> integer_cell(const Cell& cell) {
  if (const auto* value = std::get_if<uint64_t>(&cell))
    return *value <= INT64_MAX ? std::optional(static_cast<int64_t>(*value)) : std::nullopt;
  if (const auto* value = std::get_if<double>(&cell))
    if (std::isfinite(*value) && std::fabs(*value) < kMaxInteger) return std::llround(*value);
  return std::nullopt;
}

std::string_view text_of(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return text == nullptr ? std::string_view() : std::string_view(*text);
}

}  // namespace perf_latency
