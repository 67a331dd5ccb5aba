// SPDX-License-Identifier: GPL-2.0-only
// `perf latency explain`: finds one wait, and tells it step by step.
//
// The recording is read twice: WaitFinder picks the wait, WaitTeller keeps what all threads did while it
// lasted (bounded, see wait_story.h) and makes the story at the end. Thread ids are the same in both runs,
// since a recording is always fed in the same order.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "analysis/task_analysis.h"
#include "analysis/wait_story.h"
#include "report/explanation.h"

namespace perf_latency {

// Which wait. Of several that fit, the longest (its part in --time), the earliest of equals.
struct WaitChoice {
  enum class How : uint8_t { longest, at, cause, caller };
  How how = How::longest;
  uint64_t at_ns = 0;  // at: what the thread of options.tids waited for then
  std::string name;    // a cause's id, or a function of the call chain
};

// The longest wait is a sleep for work or by the program's own wish only where there is no other.
class WaitFinder : public TaskAnalysis {
 public:
  WaitFinder(const AnalysisOptions& options, const WaitChoice& choice, CauseTable& causes)
      : TaskAnalysis(options, causes), choice_(choice) {}

  Result<void> end_recording(const RecordingResult& result) override;
  Report make_report() override { return std::move(report_); }

 protected:
  void take(const Interval& interval, const TimeSpan& inside, TaskKind kind) override;
  void fold(const RecordingResult& result, const Totals& totals) override;

  const std::optional<Interval>& found() const { return best_.found(); }
  Report report_;

 private:
  struct Best {
    std::optional<Interval> wait;
    uint64_t length_ns = 0;
    void take(const Interval& interval, uint64_t ns);
  };
  struct Candidates {
    Best busy;
    Best idle;  // where the choice is the longest: of class idle
    const std::optional<Interval>& found() const { return busy.wait ? busy.wait : idle.wait; }
  };
  bool fits(const Interval& interval);
  bool keeps_state(const Interval& interval) const;
  CauseId cause_of(const Interval& interval);
  std::string nothing_found() const;

  WaitChoice choice_;
  Candidates best_;
  // Of threads of which only later events tell whether they are the kernel's.
  std::map<ThreadId, Candidates> undecided_;
  bool ran_then_ = false;
};

class WaitTeller final : public TaskAnalysis {
 public:
  // `options` must have no filters. `thread`, `start_ns`, `end_ns`: the wait that was found.
  WaitTeller(const AnalysisOptions& options, CauseTable& causes, ThreadId thread, uint64_t start_ns,
             uint64_t end_ns);

  DecodeNeeds needs() const override;
  Report make_report() override { return {}; }
  // After the recording: none when the wait was not there (the file changed meanwhile).
  std::unique_ptr<Explanation> take_explanation() { return std::move(explanation_); }

 protected:
  void take(const Interval&, const TimeSpan&, TaskKind) override {}
  void on_interval(const Interval& interval) override;
  void fold(const RecordingResult& result, const Totals& totals) override;

 private:
  std::optional<std::string> interrupt(StackId stack);
  std::optional<StepTask> task(ThreadId thread) const;
  std::optional<StepTask> waker(ThreadId thread, StackId stack);
  ExplainedStep name(const StoryStep& step);
  void name_wait(Explanation& explanation);

  ThreadId thread_;
  uint64_t start_ns_;
  uint64_t end_ns_;
  WaitStory story_;
  std::optional<Interval> wait_;
  StringId comm_ = StringPool::kEmpty;  // of the sleeper, when its wait ended
  std::unordered_map<StackId, std::optional<std::string>> interrupts_;
  std::unique_ptr<Explanation> explanation_;
};

}  // namespace perf_latency
