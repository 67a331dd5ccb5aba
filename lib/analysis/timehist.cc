// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/timehist.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "base/time.h"

namespace perf_latency {
namespace {

// Milliseconds with three decimals, as perf prints them.
void append_msec(std::string& line, uint64_t ns) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "  %5" PRIu64 ".%03" PRIu64, ns / 1'000'000,
                ns % 1'000'000 / 1'000);
  line += buffer;
}

}  // namespace

Timehist::Timehist(const AnalysisOptions& options, CauseTable& causes, Write write)
    : TaskAnalysis(options, causes), write_(std::move(write)) {}

// perf's " <- " between frames, no blanks inside one, so that the chain is the last field.
const std::string& Timehist::chain_text(StackId stack) {
  const auto [found, is_new] = chains_.try_emplace(stack);
  if (!is_new) return found->second;
  std::string& text = found->second;
  const std::vector<std::string>& frames = recording().names.of(stack).frames;
  const size_t shown = std::min<size_t>(frames.size(), options().max_stack);
  for (size_t i = 0; i < shown; ++i) {
    if (causes().groups().is_scheduler(frames[i].substr(0, frames[i].find(' ')))) continue;
    if (!text.empty()) text += " <- ";
    text += frames[i].substr(0, frames[i].find(' '));
  }
  return text;
}

void Timehist::print(const Thread& thread, uint64_t time_ns, uint32_t cpu, const Pending& pending,
                     uint64_t run_ns, bool open) {
  if (!header_printed_) {
    header_printed_ = true;
    write_(
        "           time    cpu  task name                       wait time  sch delay   run time\n"
        "                        [tid/pid]                          (msec)     (msec)     (msec)\n"
        "--------------- ------  ------------------------------  ---------  ---------  "
        "---------\n");
  }
  line_.clear();
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%15s [%04u]  ", format_timestamp(time_ns).c_str(), cpu);
  line_ += buffer;
  std::string name(strings().view(thread.comm));
  for (char& letter : name)
    if (static_cast<unsigned char>(letter) < ' ' || letter == 127) letter = '?';
  name += '[' + std::to_string(thread.tid);
  if (thread.pid > 0 && thread.pid != thread.tid) name += '/' + std::to_string(thread.pid);
  name += ']';
  if (name.size() < 30) name.resize(30, ' ');
  line_ += name;
  append_msec(line_, pending.wait_ns);
  append_msec(line_, pending.delay_ns);
  if (open)
    line_ += "       open";
  else
    append_msec(line_, run_ns);
  if (pending.stack.valid()) line_ += "    " + chain_text(pending.stack);
  line_ += '\n';
  write_(line_);
}

void Timehist::take(const Interval& interval, const TimeSpan& inside, TaskKind kind) {
  if (kind == TaskKind::kernel && !options().kernel_threads) return;
  const size_t index = interval.thread.value;
  if (index >= pending_.size()) pending_.resize(index + index / 2 + 64);
  Pending& pending = pending_[index];
  const Thread& thread = threads()[interval.thread];
  switch (interval.kind) {
    case IntervalKind::sleeping:
      pending.wait_ns += inside.length_ns();
      pending.stack = interval.stack;
      if (interval.open) print(thread, inside.end_ns, interval.cpu, pending, 0, true);
      break;
    case IntervalKind::runnable:
      pending.delay_ns += inside.length_ns();
      break;
    case IntervalKind::running:
      print(thread, inside.end_ns, interval.cpu, pending, inside.length_ns(), false);
      pending = Pending();
      break;
    default:
      break;
  }
}

void Timehist::fold(const RecordingResult& result, const Totals& totals) {
  report_.recordings.push_back(result.info);
  report_.totals = totals;
  pending_.clear();
  chains_.clear();
}

}  // namespace perf_latency
