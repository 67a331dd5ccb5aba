// SPDX-License-Identifier: GPL-2.0-only
// `perf latency report`: why tasks slept.
//
// While events come, intervals are added up by what costs nothing to tell apart: the ids of call chain,
// thread, CPU and so on, as far as --by needs them. At the end of a recording, when all symbols are at
// hand, these sums are folded into rows by name. So a chain is named once, however often it occurred,
// and memory is bounded by distinct chains (and threads, CPUs, … for a --by that needs them).
#pragma once

#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/latencytop.h"
#include "analysis/row_stats.h"
#include "analysis/task_analysis.h"

namespace perf_latency {

enum class ReportKey : uint8_t {
  cause,
  stack,
  syscall,
  process,
  thread,
  cpu,
  cgroup,
  waker,
  state,
  class_,
};
std::optional<ReportKey> parse_report_key(std::string_view name);
std::string report_key_names();  // "cause, stack, …" for messages

class CausesReport final : public TaskAnalysis {
 public:
  CausesReport(const AnalysisOptions& options, CauseTable& causes);

  // Whether the sort keys and fields of the options name columns of this report.
  Result<void> check_columns() const;

  DecodeNeeds needs() const override;
  void begin_recording(const RecordingContext& context) override;
  Result<void> end_recording(const RecordingResult& result) override;
  Report make_report() override;

 protected:
  void take(const Interval& interval, const TimeSpan& inside, TaskKind kind) override;
  void fold(const RecordingResult& result, const Totals& totals) override;
  void on_delay(const SleepDelay& delay) override;
  void on_interval(const Interval& interval) override;
  void take_record(const Event& event) override;

 private:
  // What is told apart while events come; parts that no row needs stay at their defaults.
  struct RawKey {
    StackId stack;
    StackId user_stack;
    ThreadId thread;
    ThreadId waker;
    StackId waker_stack;
    uint32_t cpu = 0;
    uint32_t part = 0;  // of the recording, with --interval
    uint64_t cgroup = 0;
    TaskKind owner = TaskKind::unknown;
    uint8_t what = 0;  // Wait
    uint8_t state = 0;
    bool open = false;  // only where the waker is told apart
    friend bool operator==(const RawKey&, const RawKey&) = default;
  };
  struct RawKeyHash {
    size_t operator()(const RawKey& key) const noexcept;
  };
  enum Wait : uint8_t { kSleep, kAsleepBefore, kWoken, kPreempted };

  // A row as it will be printed: its key cells, and what it adds up.
  struct FoldedRow {
    std::vector<Cell> keys;
    std::string cause_class;
    uint32_t part = 0;
    bool runnable = false;
    bool idle = false;
    RowStats stats;
    uint64_t after_wakeup_ns = 0;
    uint64_t preempted_ns = 0;
    uint64_t after_wakeup = 0;
    uint64_t preempted = 0;
    std::string max_comm;
    std::map<std::vector<std::string>, StackShare> stacks;
  };

  bool needs_key(ReportKey key) const { return (by_mask_ >> static_cast<unsigned>(key)) & 1; }
  bool wants_user_chains() const { return options().callchain >= CallchainMode::user; }
  std::vector<std::string> chain_of(const RawKey& key, const StackNames::Named& named);
  bool collects_latencytop() const { return options().latencytop || options().vs_latencytop; }
  void take_for_latencytop(const Interval& interval);
  RowStats& sums_of(const Interval& interval, TaskKind kind);
  RowStats& sums_of(const RawKey& key);
  bool keeps_state(const Interval& interval) const;
  void fold_sums(const RawKey& key, const RowStats& stats);
  void fold_key_cells(const RawKey& key, CauseId cause, const StackNames::Named& named,
                      FoldedRow& row, std::string& text);
  Table make_table();
  std::vector<std::string> section_titles() const;
  Row make_row(const FoldedRow& row, uint64_t all_ns);
  std::vector<Column> columns() const;
  std::vector<std::string> waker_cells(const RawKey& key);
  std::string cgroup_path(uint64_t cgroup) const;
  void add_vs_latencytop(const LatencytopTables::Hidden& hidden);

  std::vector<ReportKey> by_;
  uint32_t by_mask_ = 0;  // bit set: ReportKey
  bool dense_ = false;    // rows need nothing but the chain: sums_ is indexed by it
  bool all_states_ = false;
  std::string states_;
  using OwnerIndex = std::array<uint32_t, 3>;  // by TaskKind; into sums_
  uint32_t new_sums(const RawKey& key);
  std::vector<OwnerIndex> dense_index_;       // by StackId
  std::array<OwnerIndex, 2> dense_runnable_;  // woken, preempted
  std::unordered_map<RawKey, uint32_t, RawKeyHash> index_;
  std::vector<RawKey> keys_;
  std::vector<RowStats> sums_;
  std::unordered_map<std::string, uint32_t> folded_index_;
  std::vector<FoldedRow> folded_;
  LatencytopTables latencytop_;
  std::unordered_map<uint64_t, StringId> cgroup_paths_;
  Report report_;
};

}  // namespace perf_latency
