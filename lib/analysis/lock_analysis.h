// SPDX-License-Identifier: GPL-2.0-only
// What the lock reports have in common: the lock model fed, filters and window, and the keys of rows.
//
// While events come, waits and holds are added up by ids (RawLockKey, only the parts that the rows
// need); at the end of a recording, with all symbols at hand, keys are turned into named cells.
// Window: waits and holds known from lockdep belong, in full, to the window in which they end, as in
// /proc/lock_stat; all others are clipped to it.
// One wait can be seen by several events (an rwsem's contention_begin inside mmap_lock's
// start_locking): rows by lock and by type show each, all others only those of the file's primary
// source (contention, else lockdep, else the others), or what --type names.
#pragma once

#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/row_stats.h"
#include "analysis/task_analysis.h"
#include "model/lock_model.h"
#include "model/state_timeline.h"

namespace perf_latency {

enum class LockBy : uint8_t {
  caller,
  lock,
  type,
  process,
  thread,
  cpu,
  cgroup,
  holder,
  stack,
  function
};
std::optional<LockBy> parse_lock_by(std::string_view name);
std::string_view lock_by_name(LockBy by);

struct LockOptions {
  std::vector<LockType> types;  // --type; empty: all
  std::vector<LockBy> by;       // empty: the report's default
  bool holder = false;          // --holder
  bool histogram = false;
  std::optional<uint64_t> long_ns;  // --long
  bool lock_stat = false;           // --format lock_stat
};

struct RawLockKey {
  StackId stack;
  ThreadId thread;
  ThreadId holder;
  uint32_t cpu = 0;
  uint32_t part = 0;
  uint64_t cgroup = 0;
  uint64_t address = 0;
  uint64_t outer_address = 0;
  StringId name = StringPool::kEmpty;
  StringId function = StringPool::kEmpty;  // spin
  LockType type = LockType::spinlock;
  uint8_t outer = 0;  // 1 + LockSource of the wait around it; 0: none
  friend bool operator==(const RawLockKey&, const RawLockKey&) = default;
};
struct RawLockKeyHash {
  size_t operator()(const RawLockKey& key) const noexcept;
};

class LockAnalysis : public TaskAnalysis, public LockSink {
 public:
  LockAnalysis(const AnalysisOptions& options, const LockOptions& lock_options, CauseTable& causes,
               LockBy default_by, bool with_holders);

  DecodeNeeds needs() const override;
  void begin_recording(const RecordingContext& context) override;
  void set_present(const EventKinds& present) override;
  void set_start(uint64_t start_ns) override;
  Result<void> end_recording(const RecordingResult& result) override;

 protected:
  virtual void take_wait(const LockWait& wait, const TimeSpan& inside) = 0;
  virtual void take_hold(const LockHold& hold, const TimeSpan& inside) = 0;
  virtual void take_sample(const Event&, ThreadId /*context*/) {}
  virtual std::string_view report_name() const = 0;
  void fold(const RecordingResult& result, const Totals& totals) override;
  virtual void fold_rows() = 0;

  void take(const Interval&, const TimeSpan&, TaskKind) override {}
  void take_event(const Event& event) override;
  void take_record(const Event& event) override;
  void on_interval(const Interval& interval) override;
  void on_lock_wait(const LockWait& wait) override;
  void on_lock_hold(const LockHold& hold) override;
  std::string_view release_kind(StackId waker_stack) override;
  Result<void> check_events(const RecordingResult& result) const override;

  // Keys.
  const std::vector<LockBy>& by() const { return by_; }
  bool is_by(LockBy by) const;
  RawLockKey raw_key(const LockWait& wait, ThreadId holder = {}) const;
  RawLockKey raw_key(const LockHold& hold) const;
  std::vector<Column> key_columns() const;
  struct NamedKey {
    std::vector<Cell> cells;  // in the order of key_columns()
    std::string text;         // equal for equal rows
    std::string caller;
  };
  // `total_ns` weighs the names that callers give to one lock: see name_lock.
  NamedKey named_key(const RawLockKey& key);
  void name_lock(const RawLockKey& key, uint64_t total_ns);
  std::string lock_name(const RawLockKey& key);        // "" when only the address is known
  std::string shown_lock_name(const RawLockKey& key);  // after name_lock of all keys
  const std::string& caller_of(StackId stack);
  std::string task_name(ThreadId id) const;  // comm of a thread, "swapper/3"
  std::vector<std::string_view> functions_of(StackId stack);

  bool shows(LockType type) const;
  bool keeps_context(ThreadId id) const;
  bool has(EventKind kind) const { return present_[static_cast<size_t>(kind)]; }
  const LockOptions& lock_options() const { return lock_options_; }
  LockModel& locks() { return *locks_; }
  const StateTimeline& timeline() const { return timeline_; }
  ThreadId context_of(const Event& event);
  int32_t tid_of(ThreadId id) const;
  StringId comm_of(ThreadId id) const;
  uint32_t part_of(uint64_t end_ns);

  Report report_;
  LockCounts counts_;
  uint64_t lock_events_ = 0;
  bool has_switches_ = false;
  bool has_chains_ = true;
  bool interval_rows_ = true;  // --interval makes rows of its own; else a table beside them

 private:
  std::optional<TimeSpan> inside_window(LockType type, uint64_t start_ns, uint64_t end_ns) const;
  void add_cells(LockBy by, const RawLockKey& key, NamedKey& named);

  LockOptions lock_options_;
  std::vector<LockBy> by_;
  LockBy default_by_;
  bool with_holders_;
  std::array<bool, kLockTypes> shown_{};
  EventKinds present_;
  std::unique_ptr<LockModel> locks_;
  StateTimeline timeline_;
  std::unordered_map<StackId, std::string_view> release_kinds_;
  std::unordered_map<StackId, std::string> callers_;
  std::unordered_map<uint64_t, ThreadId> mm_users_;  // by the address of the mm
  std::unordered_map<uint64_t, std::map<std::string, uint64_t>> lock_names_;  // by address
  std::unordered_map<uint64_t, StringId> cgroup_paths_;
};

// The columns that every table of durations ends with, and their cells.
void add_stats_columns(std::vector<Column>& columns);
void add_stats_cells(const RowStats& stats, uint64_t all_ns, std::vector<Cell>& cells);

}  // namespace perf_latency
