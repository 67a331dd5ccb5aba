// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/explain.h"

#include <algorithm>

#include "base/time.h"

namespace perf_latency {
namespace {

constexpr std::string_view kStepNames[] = {"running", "runnable", "sleeping",
                                           "wakeup",  "idle",     "unknown"};

TaskText text_of(const StepTask& task) {
  TaskText text;
  text.known = true;
  text.tid = task.tid;
  text.pid = task.pid;
  text.comm = task.comm;
  return text;
}

}  // namespace

// ---- which wait

CauseId WaitFinder::cause_of(const Interval& interval) {
  if (interval.kind == IntervalKind::runnable) return CauseTable::kCpuWait;
  if (interval.began_before) return CauseTable::kAsleepBefore;
  return recording().names.of(interval.stack).cause;
}

bool WaitFinder::keeps_state(const Interval& interval) const {
  const std::string& states = options().states;
  return states == "all" || interval.kind == IntervalKind::runnable ||
         states.find(static_cast<char>(interval.state)) != std::string::npos;
}

bool WaitFinder::fits(const Interval& interval) {
  switch (choice_.how) {
    case WaitChoice::How::longest:
      return !interval.began_before;
    case WaitChoice::How::at:
      return choice_.at_ns >= interval.start_ns && choice_.at_ns < interval.end_ns;
    case WaitChoice::How::cause:
      return causes().cause(cause_of(interval)).id == choice_.name;
    case WaitChoice::How::caller:
      break;
  }
  if (interval.kind != IntervalKind::sleeping || interval.began_before) return false;
  const auto& frames = recording().names.of(interval.stack).frames;
  return std::any_of(frames.begin(), frames.end(), [&](const std::string& frame) {
    return std::string_view(frame).substr(0, frame.find(' ')) == choice_.name;
  });
}

void WaitFinder::Best::take(const Interval& interval, uint64_t ns) {
  if (wait && ns <= length_ns) return;
  wait = interval;
  length_ns = ns;
}

void WaitFinder::take(const Interval& interval, const TimeSpan& inside, TaskKind kind) {
  const bool at = choice_.how == WaitChoice::How::at;
  if (interval.kind == IntervalKind::running && at && choice_.at_ns >= interval.start_ns &&
      choice_.at_ns < interval.end_ns)
    ran_then_ = true;
  if (interval.kind != IntervalKind::sleeping && interval.kind != IntervalKind::runnable) return;
  // Who is asked for by its tid may be a kernel thread.
  if (!at) {
    if (kind == TaskKind::kernel && !options().kernel_threads) return;
    if (!keeps_state(interval)) return;
  }
  const bool decided = at || kind != TaskKind::unknown;
  Candidates& candidates = decided ? best_ : undecided_[interval.thread];
  const bool longest = choice_.how == WaitChoice::How::longest;
  const uint64_t ns = inside.length_ns();
  if (candidates.busy.wait && ns <= candidates.busy.length_ns) return;
  if (!fits(interval)) return;
  const bool idle = longest && causes().is_idle(cause_of(interval));
  (idle ? candidates.idle : candidates.busy).take(interval, ns);
}

std::string WaitFinder::nothing_found() const {
  switch (choice_.how) {
    case WaitChoice::How::longest:
      return "no thread that was asked for waited";
    case WaitChoice::How::at:
      return "at " + format_timestamp(choice_.at_ns) + " the thread " +
             (ran_then_ ? "ran: it did not wait" : "was not there, or what it did is not known");
    case WaitChoice::How::cause:
      return "no wait has the cause '" + choice_.name + "'";
    case WaitChoice::How::caller:
      break;
  }
  return "no sleep has '" + choice_.name + "' in its call chain";
}

Result<void> WaitFinder::end_recording(const RecordingResult& result) {
  if (const auto ended = TaskAnalysis::end_recording(result); !ended) return ended.error();
  if (!found()) return make_error(nothing_found());
  return {};
}

void WaitFinder::fold(const RecordingResult& result, const Totals&) {
  for (const auto& [thread, candidates] : undecided_) {
    if (threads()[thread].hidden()) continue;
    if (!options().kernel_threads && is_kernel_thread(thread)) continue;
    if (candidates.busy.wait) best_.busy.take(*candidates.busy.wait, candidates.busy.length_ns);
    if (candidates.idle.wait) best_.idle.take(*candidates.idle.wait, candidates.idle.length_ns);
  }
  report_.recordings.push_back(result.info);
  report_.partial = result.interrupted;
}

// ---- its story

WaitTeller::WaitTeller(const AnalysisOptions& options, CauseTable& causes, ThreadId thread,
                       uint64_t start_ns, uint64_t end_ns)
    : TaskAnalysis(options, causes),
      thread_(thread),
      start_ns_(start_ns),
      end_ns_(end_ns),
      story_(start_ns, end_ns, [this](StackId stack) { return interrupt(stack).has_value(); }) {}

DecodeNeeds WaitTeller::needs() const {
  DecodeNeeds needs = TaskAnalysis::needs();
  needs.waker_stacks = true;
  return needs;
}

void WaitTeller::on_interval(const Interval& interval) {
  const StringId comm = threads()[interval.thread].comm;
  story_.add(interval, comm);
  if (interval.thread == thread_ && interval.start_ns == start_ns_ && interval.end_ns == end_ns_ &&
      (interval.kind == IntervalKind::sleeping || interval.kind == IntervalKind::runnable))
    wait_ = interval, comm_ = comm;
}

std::optional<std::string> WaitTeller::interrupt(StackId stack) {
  if (!stack.valid()) return std::nullopt;
  const auto [found, is_new] = interrupts_.try_emplace(stack);
  if (!is_new) return found->second;
  std::vector<std::string_view> functions;
  const auto chain = recording().context.pools.stacks.view(stack);
  for (size_t i = 0; i < chain.size(); ++i)
    functions.push_back(recording().symbols.kernel_function(chain[i], i != 0));
  if (const auto source = causes().groups().interrupt_source(functions))
    found->second = "[" + std::string(*source) + "]";
  return found->second;
}

std::optional<StepTask> WaitTeller::task(ThreadId thread) const {
  if (!thread.valid()) return std::nullopt;
  const Thread& known = threads()[thread];
  return StepTask{std::string(strings().view(known.comm)), known.tid, known.pid};
}

// A task that an interrupt hit did not wake anybody: the interrupt did.
std::optional<StepTask> WaitTeller::waker(ThreadId thread, StackId stack) {
  if (const auto source = interrupt(stack)) return StepTask{*source, -1, -1};
  return task(thread);
}

ExplainedStep WaitTeller::name(const StoryStep& step) {
  ExplainedStep named;
  named.start_ns = step.start_ns;
  named.end_ns = step.end_ns;
  named.what = kStepNames[static_cast<size_t>(step.kind)];
  named.task = task(step.thread);
  if (named.task && step.comm != StringPool::kEmpty) named.task->comm = strings().view(step.comm);
  named.depth = step.depth;
  named.began_before = step.began_before;
  if (step.kind == StepKind::unknown || step.kind == StepKind::wakeup) return named;
  named.cpu = step.cpu;
  if (step.kind == StepKind::idle)
    named.task = StepTask{"swapper/" + std::to_string(step.cpu), 0, 0};
  if (step.kind == StepKind::runnable) {
    named.preempted = step.preempted;
    if (step.preempted) named.by = task(step.waker);
    named.cause = causes().cause(CauseTable::kCpuWait).sentence;
    named.cause_id = causes().cause(CauseTable::kCpuWait).id;
  }
  if (step.kind == StepKind::sleeping) {
    const bool before = step.began_before;
    const StackNames::Named& names = recording().names.of(before ? StackId{} : step.stack);
    const Cause& cause = causes().cause(before ? CauseTable::kAsleepBefore : names.cause);
    named.state = static_cast<char>(step.state);
    named.cause = cause.sentence;
    named.cause_id = cause.id;
    named.stack = names.frames;
    named.by = waker(step.waker, step.waker_stack);
  }
  return named;
}

void WaitTeller::name_wait(Explanation& explanation) {
  const Interval& wait = *wait_;
  const bool sleep = wait.kind == IntervalKind::sleeping;
  IntervalRow& row = explanation.wait;
  row.kind = sleep ? RowKind::sleep : RowKind::runnable;
  row.start_ns = wait.start_ns;
  row.end_ns = wait.end_ns;
  row.full_ns = wait.length_ns();
  row.cpu = wait.cpu;
  row.open = wait.open;
  row.began_before = wait.began_before;
  row.state = static_cast<char>(wait.state);
  row.preempted = wait.preempted;
  row.uncertain = wait.uncertain;
  row.includes_waiting = wait.includes_waiting;
  explanation.task = *task(wait.thread);
  explanation.task.comm = strings().view(comm_);
  row.task = text_of(explanation.task);
  const auto other = sleep ? waker(wait.waker, wait.waker_stack)
                           : task(wait.preempted ? wait.preempted_by : ThreadId{});
  if (other) {
    explanation.other = *other;
    row.other = text_of(explanation.other);
  }
  const StackNames::Named& names = recording().names.of(wait.began_before ? StackId{} : wait.stack);
  const Cause& cause = causes().cause(!sleep              ? CauseTable::kCpuWait
                                      : wait.began_before ? CauseTable::kAsleepBefore
                                                          : names.cause);
  PlaceText& place = explanation.place;
  if (sleep) explanation.frames = names.frames;
  place.frames = explanation.frames;
  place.cause = cause.sentence;
  place.cause_id = cause.id;
  place.cause_class = cause.cause_class;
  row.place = &place;
}

void WaitTeller::fold(const RecordingResult&, const Totals&) {
  if (!wait_) return;
  explanation_ = std::make_unique<Explanation>();
  name_wait(*explanation_);
  for (const StoryStep& step : story_.tell(*wait_)) explanation_->steps.push_back(name(step));
  explanation_->kept_from_ns = story_.kept_from_ns();
}

}  // namespace perf_latency
