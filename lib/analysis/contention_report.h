// SPDX-License-Identifier: GPL-2.0-only
// `perf latency contention`: which kernel locks were waited for, where, how long, who held them, and
// what the holder was doing meanwhile.
//
// A wait's parts (its holder segments) add up to the wait; each part is split by what the holder did
// (StateTimeline), and those add up too. Failed waits (the lock was not got) are counted apart.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "analysis/lock_analysis.h"

namespace perf_latency {

// Time of waits by what the lock's holder was doing, and who and what it was most of all.
struct HolderSums {
  std::array<uint64_t, kHolderStates> ns{};
  std::unordered_map<StackId, uint64_t> sleeping_in;  // call chains of sleeping holders
  std::unordered_map<ThreadId, uint64_t> preempted_by;

  uint64_t of(HolderState state) const { return ns[static_cast<size_t>(state)]; }
  uint64_t known_ns() const {
    return of(HolderState::running) + of(HolderState::preempted) + of(HolderState::sleeping);
  }
  void add(const StatePart& part);
};

class ContentionReport final : public LockAnalysis {
 public:
  ContentionReport(const AnalysisOptions& options, const LockOptions& lock_options,
                   CauseTable& causes);

  Result<void> check_columns() const;
  void begin_recording(const RecordingContext& context) override;
  Report make_report() override;

 protected:
  std::string_view report_name() const override { return "contention"; }
  void take_wait(const LockWait& wait, const TimeSpan& inside) override;
  void take_hold(const LockHold&, const TimeSpan&) override {}
  void fold_rows() override;

 private:
  // Of one holder in one row.
  struct HolderKey {
    uint32_t row = 0;
    ThreadId owner;
    HolderHow how = HolderHow::unknown;
    bool one_of_several = false;
    StackId release_stack;
    friend bool operator==(const HolderKey&, const HolderKey&) = default;
  };
  struct HolderKeyHash {
    size_t operator()(const HolderKey& key) const noexcept;
  };
  struct HolderRow {
    HolderSums sums;
    uint64_t waits = 0;
    uint64_t total_ns = 0;
  };
  struct WaitStats {
    RowStats stats;
    uint64_t spin_ns = 0;
    uint64_t sleep_ns = 0;
    bool phases_known = true;  // contention_begin/end: they add up to the waits
    uint64_t failed = 0;
    uint64_t failed_ns = 0;
    HolderSums holder;
    void merge(const WaitStats& other);
  };
  // Rows and holders by name, over all recordings.
  struct NamedHolder {
    std::string comm;
    Cell pid;
    Cell tid;
    std::string how;
    uint64_t waits = 0;
    uint64_t total_ns = 0;
    std::array<uint64_t, kHolderStates> ns{};
    std::map<std::string, uint64_t> causes;
    std::map<std::string, uint64_t> preempted_by;
    std::map<std::vector<std::string>, StackShare> stacks;
  };
  struct FoldedRow {
    std::vector<Cell> keys;
    std::map<std::string, uint64_t> types;   // by time
    std::map<uint64_t, uint64_t> addresses;  // with --by lock
    WaitStats sums;
    std::map<std::string, NamedHolder> holders;
    std::map<std::vector<std::string>, StackShare> stacks;
  };

  uint32_t row_of(const RawLockKey& key);
  void add_wait(WaitStats& row, const LockWait& wait, const TimeSpan& inside, uint64_t length_ns);
  void add_holders(uint32_t row, const LockWait& wait, const TimeSpan& inside);
  void fold_holder(const HolderKey& key, const HolderRow& row);
  std::string cause_of(StackId stack);
  std::vector<Column> columns() const;
  Row make_row(const FoldedRow& folded, uint64_t all_ns) const;
  Table make_table();
  Table make_holder_table(const Table& rows) const;
  void add_notes();

  std::unordered_map<RawLockKey, uint32_t, RawLockKeyHash> index_;
  std::vector<RawLockKey> keys_;
  std::vector<WaitStats> rows_;
  std::unordered_map<HolderKey, HolderRow, HolderKeyHash> holders_;
  std::vector<uint32_t> folded_of_;  // by index into rows_
  std::unordered_map<std::string, uint32_t> folded_index_;
  std::vector<FoldedRow> folded_;
  std::array<uint64_t, 4> how_ns_{};  // by HolderHow
  uint64_t released_ns_ = 0;          // unknown: the lock was free already
  bool sources_overlap_ = false;
};

}  // namespace perf_latency
