// SPDX-License-Identifier: GPL-2.0-only
// The text report: what was recorded, the account, the tables, notes, and what was lost.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/time.h"
#include "render/cells.h"
#include "render/escape.h"
#include "render/formats.h"
#include "render/text_table.h"

namespace perf_latency {
namespace {

constexpr size_t kLabel = 11;  // "recording: "

void append_labelled(std::string& out, std::string_view label, std::string_view text,
                     unsigned width) {
  out += fmt::format("{:<{}}", label, kLabel);
  append_wrapped(out, text, width, kLabel, kLabel);
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    if (!text.empty()) text += ", ";
    text += part;
  }
  return text;
}

// Arguments as a shell would need them.
std::string command_line(const std::vector<std::string>& arguments) {
  std::string text;
  for (const std::string& argument : arguments) {
    if (!text.empty()) text += ' ';
    const bool plain =
        !argument.empty() && argument.find_first_of(" \t\n'\"\\$&|;<>()*?`") == std::string::npos;
    if (plain) {
      append_terminal_text(text, argument);
      continue;
    }
    text += '\'';
    for (const char c : terminal_text(argument)) {
      if (c == '\'') text += "'\\'";
      text += c;
    }
    text += '\'';
  }
  return text;
}

std::string machine(const RecordingInfo& recording) {
  const std::string release =
      recording.os_release.empty() ? "" : "Linux " + terminal_text(recording.os_release);
  const std::string cpus =
      recording.cpus == 0 ? ""
                          : fmt::format("{} CPU{}", recording.cpus, recording.cpus == 1 ? "" : "s");
  return joined({terminal_text(recording.path), terminal_text(recording.hostname), release,
                 terminal_text(recording.arch), cpus});
}

std::string span(const RecordingInfo& recording) {
  const std::string duration =
      recording.start_ns && recording.end_ns && *recording.end_ns >= *recording.start_ns
          ? format_duration(*recording.end_ns - *recording.start_ns)
          : "";
  return joined({duration, fmt::format("{} samples", recording.samples),
                 fmt::format("{} events lost", recording.lost),
                 recording.complete ? "" : "not complete: the recording was killed or cut"});
}

void append_recording(std::string& out, const RecordingInfo& recording, unsigned width) {
  append_labelled(out, "recording:", machine(recording), width);
  if (!recording.cmdline.empty()) {
    std::string command = command_line(recording.cmdline);
    if (width > kLabel) command = shorten(command, width - kLabel);
    append_labelled(out, "command:", command, 0);
  }
  append_labelled(out, "span:", span(recording), width);
}

std::string filter_list(const Report& report) {
  std::string text;
  for (const auto& [name, value] : report.filters) {
    if (!text.empty()) text += ", ";
    append_terminal_text(text, name);
    if (!value.empty()) text += ' ';
    append_terminal_text(text, value);
  }
  return text;
}

double percent_of(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// A part that is there never reads 0.00.
std::string small_percent(uint64_t part, uint64_t whole) {
  const double percent = percent_of(part, whole);
  if (part != 0 && percent < 0.005) return "<0.01 %";
  return fmt::format("{:.2f} %", percent);
}

// Rounded down, so that 100.00 says that nothing is missing.
std::string accounted(const Totals& totals) {
  if (totals.thread_time_ns == 0) return "100.00";
  const unsigned __int128 known = totals.thread_time_ns - totals.hidden_ns - totals.unknown_ns;
  const auto hundredths = static_cast<uint64_t>(known * 10000 / totals.thread_time_ns);
  return fmt::format("{}.{:02}", hundredths / 100, hundredths % 100);
}

std::string account_line(const Totals& totals) {
  const uint64_t whole = totals.thread_time_ns;
  std::string line = fmt::format("accounted {} % of thread time: running {:.1f} %, ",
                                 accounted(totals), percent_of(totals.running_ns, whole));
  if (totals.runnable_ns) {
    line +=
        fmt::format("sleeping {:.1f} %, waiting for CPU {:.1f} %",
                    percent_of(totals.sleeping_ns, whole), percent_of(*totals.runnable_ns, whole));
  } else {
    line += fmt::format("sleeping, including waiting for a CPU, {:.1f} %",
                        percent_of(totals.sleeping_ns, whole));
  }
  line += "; hidden by lost events " + small_percent(totals.hidden_ns, whole);
  if (totals.unknown_ns != 0) line += "; unknown " + small_percent(totals.unknown_ns, whole);
  return line;
}

// How many frames have no name, and why: the commonest reason first.
std::string nameless_frames(const Report& report) {
  std::string text =
      fmt::format("{} of {} frames have no name", report.frames_unknown, report.frames_total);
  std::vector<std::pair<uint64_t, std::string_view>> reasons;
  for (const auto& [reason, count] : report.frames_unknown_why) reasons.emplace_back(count, reason);
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (size_t i = 0; i < reasons.size(); ++i) {
    text += i == 0 ? ": " : "; ";
    if (reasons.size() > 1) text += fmt::format("{} x ", reasons[i].first);
    append_terminal_text(text, reasons[i].second);
  }
  return text;
}

void append_header(std::string& out, const Report& report, const RenderOptions& options) {
  if (!report.title.empty()) append_wrapped(out, terminal_text(report.title), options.width, 0);
  for (const RecordingInfo& recording : report.recordings)
    append_recording(out, recording, options.width);
  if (report.totals) {
    const Totals& totals = *report.totals;
    append_labelled(out, "threads:",
                    fmt::format("{}, {} context switches, {} of thread time", totals.threads,
                                totals.switches, format_duration(totals.thread_time_ns)),
                    options.width);
  }
  if (report.frames_unknown != 0)
    append_labelled(out, "symbols:", nameless_frames(report), options.width);
  if (!report.filters.empty()) append_labelled(out, "filters:", filter_list(report), options.width);
  if (report.totals) append_wrapped(out, account_line(*report.totals), options.width, 2);
}

std::string fact_text(const Fact& fact) {
  if (const auto* cell = std::get_if<Cell>(&fact.value)) return readable_cell(*cell, fact.kind);
  std::string text;
  const auto separate = [&] {
    if (!text.empty()) text += ", ";
  };
  if (const auto* list = std::get_if<std::vector<std::string>>(&fact.value)) {
    for (const std::string& item : *list) {
      separate();
      append_terminal_text(text, item);
    }
  } else {
    for (const auto& [name, cell] : std::get<2>(fact.value)) {
      separate();
      append_terminal_text(text, name);
      text += ' ' + readable_cell(cell, fact.kind);
    }
  }
  return text.empty() ? "-" : text;
}

void append_facts(std::string& out, const Report& report, unsigned width) {
  size_t label = kLabel;
  for (const Fact& fact : report.facts) label = std::max(label, text_width(fact.title) + 2);
  for (const Fact& fact : report.facts) {
    if (fact.title.empty()) continue;
    out += fmt::format("{:<{}}", fact.title + ":", label);
    append_wrapped(out, fact_text(fact), width, label, label);
  }
}

void append_notes(std::string& out, const std::vector<std::string>& notes, unsigned width) {
  for (const std::string& note : notes) append_wrapped(out, terminal_text(note), width, 2);
}

void append_diagnostics(std::string& out, const Report& report, const RenderOptions& options) {
  bool titled = false;
  for (size_t i = 0; i < static_cast<size_t>(Diag::count_); ++i) {
    const auto diag = static_cast<Diag>(i);
    const uint64_t count = report.diagnostics.count(diag);
    const DiagnosticKind& kind = diagnostic_kind(diag);
    if (count == 0 || (kind.severity == Severity::info && !options.verbose)) continue;
    if (!titled) out += "\ndiagnostics:\n";
    titled = true;
    const std::string lead = fmt::format("  {:<5} {:>10}  ", to_string(kind.severity), count);
    std::string text(kind.text);
    const std::string& detail = report.diagnostics.detail(diag);
    if (!detail.empty()) text += " (first: " + terminal_text(detail) + ")";
    out += lead;
    append_wrapped(out, text, options.width, lead.size(), lead.size());
  }
}

}  // namespace

void render_text(const Report& report, const RenderOptions& options, std::string& out) {
  const size_t start = out.size();
  const auto separate = [&] {
    if (out.size() != start) out += '\n';
  };
  if (report.partial) out += "PARTIAL: the analysis was interrupted; this is what it had found\n";
  if (options.header && !options.quiet) append_header(out, report, options);
  if (!options.quiet) append_notes(out, report.header_notes, options.width);
  append_facts(out, report, options.width);
  for (const Table& table : report.tables) {
    separate();
    TextTable(table, options).append_to(out);
  }
  if (options.quiet) return;
  if (!report.footer_notes.empty()) separate();
  append_notes(out, report.footer_notes, options.width);
  append_diagnostics(out, report, options);
}

}  // namespace perf_latency
