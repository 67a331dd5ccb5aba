// SPDX-License-Identifier: GPL-2.0-only
#include "render/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/time.h"
#include "render/escape.h"
#include "render/interval_lines.h"

namespace perf_latency {
namespace {

using Json = nlohmann::ordered_json;

std::string task_name(const StepTask& task) {
  if (task.tid < 0) return terminal_text(task.comm);
  return terminal_text(task.comm) + "/" + std::to_string(task.tid);
}

std::string cause_name(const std::string& cause, const std::string& id) {
  return terminal_text(cause) + (id.empty() ? "" : " [" + terminal_text(id) + "]");
}

std::string chain(std::span<const std::string> frames) {
  std::string text;
  for (const std::string& frame : frames) {
    if (!text.empty()) text += " <- ";
    append_terminal_text(text, frame);
  }
  return text;
}

// An interrupt woke it, a task did, or nobody is known to have.
std::string ended_by(bool known, const StepTask& by, bool open) {
  if (open) return "still so when the recording ended";
  if (!known) return "woken by nobody that is known (an interrupt of an idle CPU, as a rule)";
  if (by.tid < 0) return "woken by an interrupt " + terminal_text(by.comm);
  return "woken by " + task_name(by);
}

std::string told(const ExplainedStep& step, bool open) {
  const std::string cpu = step.cpu ? std::to_string(*step.cpu) : "?";
  if (step.what == "running") return "ran on CPU " + cpu;
  if (step.what == "idle") return "CPU " + cpu + " was idle";
  if (step.what == "wakeup") return "had woken it; the wakeup was on its way to another CPU";
  if (step.what == "unknown") return "what it did is not known";
  if (step.what == "sleeping")
    return "slept: " + cause_name(step.cause, step.cause_id) + "; " +
           ended_by(step.by.has_value(), step.by.value_or(StepTask()), open);
  if (!step.preempted) return "waited for a CPU after its wakeup";
  return "waited for CPU " + cpu + (step.by ? ", which " + task_name(*step.by) + " had" : "");
}

void append_head(const Explanation& explanation, std::string& out) {
  const IntervalRow& wait = explanation.wait;
  const bool sleep = wait.kind == RowKind::sleep;
  const std::string length = format_duration(wait.end_ns - wait.start_ns);
  const std::string name = task_name(explanation.task);
  if (sleep)
    out += fmt::format(
        "{} slept {}: {}\n", name, length,
        cause_name(std::string(explanation.place.cause), std::string(explanation.place.cause_id)));
  else
    out += fmt::format("{} waited {} for a CPU, {}\n", name, length,
                       wait.preempted ? "preempted" : "after its wakeup");
  out += fmt::format("  from {} to {}, off CPU {}", format_timestamp(wait.start_ns),
                     format_timestamp(wait.end_ns), wait.cpu);
  if (sleep) out += fmt::format(", state {}", wait.state);
  if (wait.began_before) out += ", since before the recording";
  out += '\n';
  if (!explanation.frames.empty()) out += "  at " + chain(explanation.frames) + '\n';
  if (sleep)
    out += "  " + ended_by(wait.other.known, explanation.other, wait.open) + '\n';
  else if (wait.other.known)
    out += "  " + task_name(explanation.other) + " got the CPU\n";
  if (wait.uncertain) out += "  events were lost meanwhile\n";
  out += '\n';
}

// Which steps get a line: the longest.
std::vector<bool> chosen(const std::vector<ExplainedStep>& steps, uint64_t limit) {
  std::vector<bool> shown(steps.size(), limit == 0 || steps.size() <= limit);
  if (shown.empty() || shown.front()) return shown;
  std::vector<size_t> order(steps.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return steps[a].end_ns - steps[a].start_ns > steps[b].end_ns - steps[b].start_ns;
  });
  for (size_t i = 0; i < limit; ++i) shown[order[i]] = true;
  return shown;
}

void append_steps(const Explanation& explanation, uint64_t limit, std::string& out) {
  const auto& steps = explanation.steps;
  const std::vector<bool> shown = chosen(steps, limit);
  size_t width = 4;
  for (size_t i = 0; i < steps.size(); ++i)
    if (shown[i] && steps[i].task) width = std::max(width, text_width(task_name(*steps[i].task)));
  width = std::min<size_t>(width, 32);
  const auto line = [&](const std::string& at, uint64_t ns, const std::string& task,
                        const std::string& what) {
    const size_t pad = width - std::min(width, text_width(task));
    out += fmt::format("{:>12}  {:>12}  {}{}  {}\n", at, format_duration(ns), task,
                       std::string(pad, ' '), what);
  };
  out += fmt::format("{:>12}  {:>12}  {:<{}}  {}\n", "at", "length", "task", width, "what it did");
  uint64_t sum_ns = 0;
  for (size_t i = 0; i < steps.size();) {
    const uint64_t at_ns = steps[i].start_ns - explanation.wait.start_ns;
    if (shown[i]) {
      const ExplainedStep& step = steps[i++];
      const uint64_t ns = step.end_ns - step.start_ns;
      const bool open = explanation.wait.open && step.end_ns == explanation.wait.end_ns;
      line("+" + format_duration(at_ns), ns, step.task ? task_name(*step.task) : "?",
           told(step, open && step.what == "sleeping" && !step.by));
      sum_ns += ns;
      continue;
    }
    uint64_t ns = 0;
    uint64_t count = 0;
    for (; i < steps.size() && !shown[i]; ++i, ++count) ns += steps[i].end_ns - steps[i].start_ns;
    line("+" + format_duration(at_ns), ns, "...", fmt::format("{} shorter steps", count));
    sum_ns += ns;
  }
  out += fmt::format("{:>12}  {:>12}\n", "", std::string(12, '-'));
  line("", sum_ns, "", fmt::format("in {} step{}", steps.size(), steps.size() == 1 ? "" : "s"));
  if (explanation.kept_from_ns > explanation.wait.start_ns)
    out += "\nWhat happened before " + format_timestamp(explanation.kept_from_ns) +
           " was too much to be kept.\n";
}

Json json_of(const std::optional<StepTask>& task) {
  if (!task) return nullptr;
  Json json;
  json["tid"] = task->tid < 0 ? Json(nullptr) : Json(task->tid);
  json["comm"] = valid_utf8(task->comm);
  return json;
}

Json json_of(const ExplainedStep& step) {
  Json json;
  json["start_ns"] = step.start_ns;
  json["end_ns"] = step.end_ns;
  json["tid"] = step.task && step.task->tid >= 0 ? Json(step.task->tid) : Json(nullptr);
  json["comm"] = step.task ? Json(valid_utf8(step.task->comm)) : Json(nullptr);
  json["what"] = std::string(step.what);
  const bool wait = !step.cause.empty();
  json["cause"] = wait ? Json(valid_utf8(step.cause)) : Json(nullptr);
  json["cause_id"] = wait ? Json(step.cause_id) : Json(nullptr);
  json["stack"] = Json::array();
  for (const std::string& frame : step.stack) json["stack"].push_back(valid_utf8(frame));
  json["by"] = json_of(step.by);
  json["cpu"] = step.cpu ? Json(*step.cpu) : Json(nullptr);
  json["state"] = step.state != 0 ? Json(std::string(1, step.state)) : Json(nullptr);
  json["preempted"] = step.what == "runnable" ? Json(step.preempted) : Json(nullptr);
  json["began_before"] = step.began_before;
  json["depth"] = step.depth;
  return json;
}

Json wait_json(const Explanation& explanation) {
  std::string line;
  IntervalLines lines(IntervalLineOptions(), [&](std::string_view text) { line += text; });
  lines.take(explanation.wait);
  lines.flush();
  return Json::parse(line);
}

}  // namespace

Result<void> render_explanation(const Explanation& explanation, const Report& report, Format format,
                                const RenderOptions& options, uint64_t limit, std::string& out) {
  std::string head;
  if (auto rendered = render(report, format, options, head); !rendered) return rendered.error();
  if (format == Format::text) {
    out += head;
    if (!head.empty() && !head.ends_with("\n\n")) out += '\n';
    append_head(explanation, out);
    append_steps(explanation, limit, out);
    return {};
  }
  const Json whole = Json::parse(head);
  Json root;
  for (const auto& [key, value] : whole.items()) {
    if (key == "diagnostics") {
      root["wait"] = wait_json(explanation);
      root["steps"] = Json::array();
      for (const ExplainedStep& step : explanation.steps) root["steps"].push_back(json_of(step));
    }
    root[key] = value;
  }
  out += root.dump(2, ' ', true) + '\n';
  return {};
}

}  // namespace perf_latency
