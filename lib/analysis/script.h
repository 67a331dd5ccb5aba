// SPDX-License-Identifier: GPL-2.0-only
// `perf latency script`: hands out every interval that a recording tells of, while it is read.
//
// Sleeps and waits for a CPU come from the task model, waits for and holds of locks from the lock model,
// vmstat syncs from the work model, with the rules of `report`, `contention`, `hold-time` and
// `vmstat-sync`; so the rows add up to what those print. Rows are handed out in order of end_ns
// (line_order.h), and what has no names yet gets them then. Whether a thread whose kind no event has
// told is the kernel's is decided when its row is handed out, from what is known until then.
// Memory is bounded by threads, locks and distinct call chains, not by rows.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/line_order.h"
#include "analysis/lock_analysis.h"
#include "model/work_model.h"
#include "report/interval_row.h"

namespace perf_latency {

struct ScriptOptions {
  std::array<bool, kRowKinds> kinds{true, true, true, true, true};
  std::vector<LockType> lock_types;  // --type; empty: all
  uint64_t limit = 0;                // rows; 0: all
  bool wants(RowKind kind) const { return kinds[static_cast<size_t>(kind)]; }
};

class ScriptAnalysis final : public LockAnalysis, public WorkSink {
 public:
  ScriptAnalysis(const AnalysisOptions& options, const ScriptOptions& script, CauseTable& causes,
                 IntervalTaker& taker);

  DecodeNeeds needs() const override;
  void begin_recording(const RecordingContext& context) override;
  void set_start(uint64_t start_ns) override;
  Result<void> end_recording(const RecordingResult& result) override;
  Report make_report() override { return std::move(report_); }

  uint64_t rows() const { return rows_; }
  uint64_t rows_left_out() const { return left_out_; }       // behind the limit
  uint64_t misplaced() const { return order_.misplaced(); }  // not in order of end_ns

 protected:
  void take(const Interval& interval, const TimeSpan& inside, TaskKind kind) override;
  void take_wait(const LockWait& wait, const TimeSpan& inside) override;
  void take_hold(const LockHold& hold, const TimeSpan& inside) override;
  void take_event(const Event& event) override;
  void take_record(const Event& event) override;
  void on_interval(const Interval& interval) override { TaskAnalysis::on_interval(interval); }
  std::string_view report_name() const override { return "script"; }
  Result<void> check_events(const RecordingResult& result) const override;
  void fold(const RecordingResult& result, const Totals& totals) override;
  void fold_rows() override;

 private:
  // A row as it waits for its turn: ids, no names.
  struct Line {
    uint64_t start_ns = 0;
    uint64_t end_ns = 0;
    uint64_t full_ns = 0;
    RowKind kind = RowKind::sleep;
    LockType lock_type = LockType::spinlock;
    TaskKind owner = TaskKind::unknown;
    uint8_t outer = 0;  // as in RawLockKey
    char state = 0;
    bool open : 1 = false;
    bool began_before : 1 = false;
    bool preempted : 1 = false;
    bool uncertain : 1 = false;
    bool includes_waiting : 1 = false;
    bool failed : 1 = false;
    bool contended : 1 = false;
    uint32_t cpu = 0;
    ThreadId thread;
    int32_t tid = -1;
    int32_t pid = -1;
    StringId comm = StringPool::kEmpty;
    StackId stack;
    StackId user_stack;
    ThreadId other;
    StackId waker_stack;
    StringId lock_name = StringPool::kEmpty;
    uint64_t lock_address = 0;
    uint64_t outer_address = 0;
    uint64_t cgroup = 0;
    uint64_t spin_ns = 0;   // vmstat_sync: when it was queued
    uint64_t sleep_ns = 0;  // vmstat_sync: its function
    uint64_t other_ns = 0;
  };

  void on_work_run(const WorkRun& run) override;
  void on_work_queued(const WorkQueueing&) override {}
  void on_work_pending(const WorkPending&) override {}
  void on_work_push(const WorkPush&) override {}
  void on_work_timer(const WorkTimer&) override {}
  void on_tick_stop(const TickStop&) override {}

  bool keeps_state(uint8_t state) const;
  void name_task(Line& line, ThreadId thread) const;
  void find_holder(const LockWait& wait, const TimeSpan& inside, Line& line) const;
  void hold_back(const Line& line);
  void give(const Line& line);

  // Names, at a row's turn.
  bool is_shown(const Line& line, IntervalRow& row);
  void fill_task_row(const Line& line, IntervalRow& row);
  void fill_lock_row(const Line& line, IntervalRow& row);
  void fill_work_row(const Line& line, IntervalRow& row);
  TaskText task_text(ThreadId thread) const;
  TaskText waker_text(const Line& line);
  const PlaceText& sleep_place(const Line& line);
  const PlaceText& cause_place(CauseId cause);
  const PlaceText& lock_place(StackId stack);
  const LockText& lock_text(const Line& line);
  std::string_view vmstat_function(uint64_t address);
  PlaceText& new_place();
  std::span<const std::string> cut(const std::vector<std::string>& frames) const;

  ScriptOptions script_;
  IntervalTaker& taker_;
  bool all_states_;
  bool has_cgroups_ = false;
  uint32_t recording_number_ = 0;
  uint64_t rows_ = 0;
  uint64_t left_out_ = 0;
  LineOrder<Line> order_;
  std::unique_ptr<WorkModel> works_;

  // Of the recording that is being read.
  std::deque<PlaceText> places_;
  std::vector<const PlaceText*> place_of_sleep_;                  // by StackId
  std::vector<const PlaceText*> place_of_lock_;                   // by StackId
  std::unordered_map<uint64_t, const PlaceText*> place_of_user_;  // by both StackIds
  std::unordered_map<CauseId, const PlaceText*> place_of_cause_;  // what no chain tells
  std::unordered_map<StackId, std::string> interrupts_;           // by waker's chain: "[timer]"
  std::unordered_map<RawLockKey, LockText, RawLockKeyHash> locks_text_;
  std::unordered_map<uint64_t, std::string_view> vmstat_functions_;  // "": another function
  std::unordered_map<uint64_t, std::string> cgroups_;
};

// --only: a list of kinds.
std::optional<RowKind> parse_row_kind(std::string_view name);

}  // namespace perf_latency
