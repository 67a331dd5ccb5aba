// SPDX-License-Identifier: GPL-2.0-only
// `perf latency hold-time`: how long locks were held, beside how long they were waited for.
//
// Exact from lockdep, mmap_lock and rstat events; on stock kernels only contended periods are seen
// (the owner had waited for the lock itself, and its release woke the next one): rows say which.
// Also makes /proc/lock_stat (--format lock_stat), by the kernel's rules: a hold is counted at its
// release, a wait at its end (kernel/locking/lockdep.c, lock_release_holdtime(), lock_acquired(), 6.12).
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "analysis/lock_analysis.h"

namespace perf_latency {

class HoldTimeReport final : public LockAnalysis {
 public:
  // `name` is the command that is asked: contention makes its lock_stat from this report too.
  HoldTimeReport(const AnalysisOptions& options, const LockOptions& lock_options,
                 CauseTable& causes, std::string_view name = "hold-time");

  Result<void> check_columns() const;
  DecodeNeeds needs() const override;
  void begin_recording(const RecordingContext& context) override;
  Report make_report() override;
  // Columns of /proc/lock_stat that no recording so far could tell.
  const std::vector<std::string>& unknown_columns() const { return unknown_columns_; }

 protected:
  std::string_view report_name() const override { return name_; }
  void take_event(const Event& event) override;
  void take_wait(const LockWait& wait, const TimeSpan& inside) override;
  void take_hold(const LockHold& hold, const TimeSpan& inside) override;
  void fold_rows() override;

 private:
  struct HoldStats {
    RowStats hold;
    uint64_t hold_min_ns = UINT64_MAX;
    uint64_t contended = 0;
    uint64_t wait_total_ns = 0;
    uint64_t wait_min_ns = UINT64_MAX;
    uint64_t wait_max_ns = 0;
    uint64_t open = 0;
    void merge(const HoldStats& other);
  };
  struct FoldedRow {
    std::vector<Cell> keys;
    std::map<std::string, uint64_t> types;
    bool exact = false;
    bool contended_periods = false;
    HoldStats sums;
  };
  struct Part {  // of the recording, with --interval
    uint64_t acquisitions = 0;
    uint64_t contended = 0;
    uint64_t max_hold_ns = 0;
    uint64_t max_wait_ns = 0;
    uint64_t flushes = 0;
    uint64_t yields = 0;
  };
  struct LongHold {
    RawLockKey key;
    LockHold hold;
    uint64_t length_ns = 0;
    uint64_t softirq_delay_ns = 0;
  };
  struct Softirqs {  // of one CPU: when each was raised, 0: not pending
    std::array<uint64_t, 10> raised{};
    std::vector<size_t> recent_long;  // indexes into long_holds_
  };
  struct Side {
    std::string name;
    bool read = false;
    friend auto operator<=>(const Side&, const Side&) = default;
  };
  static constexpr size_t kMaxLongHolds = 1'000'000;

  HoldStats& row(const RawLockKey& key);
  Part* part(uint64_t time_ns);
  void on_softirq(const Event& event);
  void fold_long_holds();
  void fold_lock_stat();
  std::vector<Column> columns() const;
  Row make_row(const FoldedRow& folded, uint64_t all_ns) const;
  Table make_table();
  Table make_interval_table() const;
  Table make_long_table();
  LockStat make_lock_stat() const;

  std::string_view name_;
  std::unordered_map<RawLockKey, uint32_t, RawLockKeyHash> index_;
  std::vector<RawLockKey> keys_;
  std::vector<HoldStats> rows_;
  std::vector<Part> parts_;
  std::vector<LongHold> long_holds_;
  uint64_t long_holds_dropped_ = 0;
  std::vector<Softirqs> softirqs_;  // by CPU
  std::unordered_map<std::string, uint32_t> folded_index_;
  std::vector<FoldedRow> folded_;
  std::vector<Row> long_rows_;
  std::map<Side, HoldStats> sides_;
  std::map<std::string, std::map<std::string, LockPoint>> points_;  // by lock, by symbol
  std::vector<std::string> unknown_columns_;
  bool has_rstat_ = false;
  bool contended_only_ = false;
};

}  // namespace perf_latency
