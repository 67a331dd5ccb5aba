// SPDX-License-Identifier: GPL-2.0-only
#include "render/render.h"

#include <array>

#include "render/formats.h"

namespace perf_latency {
namespace {

struct FormatName {
  Format format;
  std::string_view name;
};
constexpr std::array<FormatName, 12> kFormats{{{Format::text, "text"},
                                               {Format::json, "json"},
                                               {Format::csv, "csv"},
                                               {Format::folded, "folded"},
                                               {Format::svg, "svg"},
                                               {Format::speedscope, "speedscope"},
                                               {Format::pprof, "pprof"},
                                               {Format::latency_stats, "latency_stats"},
                                               {Format::lkp, "lkp"},
                                               {Format::lock_stat, "lock_stat"},
                                               {Format::timehist, "timehist"},
                                               {Format::sqlite, "sqlite"}}};

Error not_in_report(Format format) {
  return make_error("this report has no '" + std::string(to_string(format)) + "' format");
}

}  // namespace

std::optional<Format> parse_format(std::string_view name) {
  for (const FormatName& entry : kFormats)
    if (entry.name == name) return entry.format;
  return std::nullopt;
}

std::string_view to_string(Format format) {
  for (const FormatName& entry : kFormats)
    if (entry.format == format) return entry.name;
  return "?";
}

std::string format_names() {
  std::string names;
  for (const FormatName& entry : kFormats) {
    if (!names.empty()) names += ", ";
    names += entry.name;
  }
  return names;
}

Result<void> render(const Report& report, Format format, const RenderOptions& options,
                    std::string& out) {
  switch (format) {
    case Format::text:
      render_text(report, options, out);
      return {};
    case Format::json:
      render_json(report, out);
      return {};
    case Format::csv:
      render_csv(report, out);
      return {};
    case Format::folded:
      render_folded(report, out);
      return {};
    case Format::svg:
      render_svg(report, out);
      return {};
    case Format::speedscope:
      render_speedscope(report, out);
      return {};
    case Format::pprof:
      render_pprof(report, out);
      return {};
    case Format::lkp:
      render_lkp(report, out);
      return {};
    case Format::latency_stats:
      if (!report.latency_stats) return not_in_report(format);
      render_latency_stats(*report.latency_stats, out);
      return {};
    case Format::lock_stat:
      if (!report.lock_stat) return not_in_report(format);
      render_lock_stat(*report.lock_stat, out);
      return {};
    case Format::timehist:
    case Format::sqlite:
      return not_in_report(format);
  }
  return not_in_report(format);
}

}  // namespace perf_latency
