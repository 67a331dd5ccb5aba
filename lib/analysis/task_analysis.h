// SPDX-License-Identifier: GPL-2.0-only
// What all analyses of tasks have in common: the model, the window, the filters, the account.
//
// A derived analysis gets every interval that the filters keep, with the part of it that lies in the
// window, through take(). The account covers the same threads.
#pragma once

#include <memory>
#include <optional>
#include <unordered_set>

#include "analysis/account.h"
#include "analysis/analysis.h"
#include "analysis/deferred_stacks.h"
#include "analysis/options.h"
#include "analysis/stack_names.h"
#include "analysis/symbol_context.h"
#include "analysis/user_stacks.h"
#include "analysis/window.h"
#include "causes/cause_table.h"
#include "model/task_model.h"

namespace perf_latency {

class TaskAnalysis : public Analysis, public IntervalSink {
 public:
  TaskAnalysis(const AnalysisOptions& options, CauseTable& causes);

  DecodeNeeds needs() const override;
  void begin_recording(const RecordingContext& context) override;
  void set_present(const EventKinds& present) override;
  void set_start(uint64_t start_ns) override;
  void announce_loss(uint64_t start_ns, uint64_t end_ns) override;
  void consume(const Event* const* events, size_t count) override;
  Result<void> end_recording(const RecordingResult& result) override;

 protected:
  // What belongs to the recording that is being read.
  struct Recording {
    Recording(const RecordingContext& context, const AnalysisOptions& options, CauseTable& causes,
              IntervalSink& sink)
        : context(context),
          symbols(context, options),
          names(symbols, context.pools.stacks, causes),
          user_stacks(symbols, context.pools, context.metadata, options),
          model(sink, context.diagnostics) {}
    RecordingContext context;
    SymbolContext symbols;
    StackNames names;
    UserStacks user_stacks;
    DeferredStacks deferred;
    TaskModel model;
    Window window;
    Account account;
    EventKinds present;
    std::unordered_set<uint32_t> chosen_tids;  // empty: the recording is of all tasks
    TaskEvents task_events;
    uint64_t switches = 0;
    uint64_t start_ns = 0;
    std::unordered_map<ThreadId, StackId> a_stack_of;  // of threads of unknown kind
    Diagnostics dropped;
  };

  // An interval of a thread that the filters keep. `inside` is its part in the window.
  virtual void take(const Interval& interval, const TimeSpan& inside, TaskKind kind) = 0;
  // At the end of a recording, with all names at hand: `totals` are those of this recording.
  virtual void fold(const RecordingResult& result, const Totals& totals) = 0;
  // Whether the recording has events that can answer; the error says what to record. The default asks
  // for context switches.
  virtual Result<void> check_events(const RecordingResult& result) const;
  // Events beyond the task model's, for lock and workqueue analyses.
  virtual void take_event(const Event&) {}
  virtual void take_record(const Event&) {}  // records that are no samples

  bool keeps_thread(const Thread& thread) const;
  bool keeps_cpu(uint32_t cpu) const { return cpus_.empty() || cpus_.contains(cpu); }
  bool is_kernel_thread(ThreadId thread);

  const AnalysisOptions& options() const { return options_; }
  CauseTable& causes() { return causes_; }
  Recording& recording() { return *recording_; }
  const StringPool& strings() const { return recording_->context.pools.strings; }
  const ThreadTable& threads() const { return recording_->model.threads(); }
  // Of all recordings so far.
  const Diagnostics* diagnostics() const { return diagnostics_; }

  void on_interval(const Interval& interval) override;
  void on_life(ThreadId thread, uint64_t start_ns, uint64_t end_ns) override;
  void on_switch(uint64_t time_ns, ThreadId prev, ThreadId next) override;
  void on_rename(uint64_t time_ns, ThreadId thread, StringId new_comm) override;

 private:
  bool keeps_comm(StringId comm) const;
  void handle_with_user_stack(const Event& event);
  void handle_deferred_chain(const Event& event);
  void take_what_waited();

  const AnalysisOptions& options_;
  CauseTable& causes_;
  std::unordered_set<uint32_t> pids_;
  std::unordered_set<uint32_t> tids_;
  std::unordered_set<uint32_t> cpus_;
  bool filters_threads_ = false;
  bool filters_ = false;
  std::unique_ptr<Recording> recording_;
  std::optional<Error> window_error_;
  const Diagnostics* diagnostics_ = nullptr;
};

}  // namespace perf_latency
