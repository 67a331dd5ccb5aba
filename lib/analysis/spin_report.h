// SPDX-License-Identifier: GPL-2.0-only
// `perf latency spin`: CPU time burnt in the slow paths of locks, and how much of it while the lock's
// holder was not even running.
//
// A sample counts as spinning when a function of the group "spin" stands in its kernel call chain;
// the innermost one names it. Where lock events are in the file too, the innermost wait that the
// context is in at that moment names the lock, and the wait's holder segments (known when it is over)
// say who had it. All shares are of the CPU samples that the filters keep.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "analysis/lock_analysis.h"

namespace perf_latency {

class SpinReport final : public LockAnalysis {
 public:
  SpinReport(const AnalysisOptions& options, const LockOptions& lock_options, CauseTable& causes);

  Result<void> check_columns() const;
  DecodeNeeds needs() const override;
  void begin_recording(const RecordingContext& context) override;
  Report make_report() override;

 protected:
  std::string_view report_name() const override { return "spin"; }
  void take_sample(const Event& event, ThreadId context) override;
  void take_wait(const LockWait& wait, const TimeSpan& inside) override;
  void take_hold(const LockHold&, const TimeSpan&) override {}
  void fold_rows() override;

 private:
  struct Sums {
    uint64_t samples = 0;
    uint64_t burnt_ns = 0;
    void merge(const Sums& other) { samples += other.samples, burnt_ns += other.burnt_ns; }
  };
  // Samples of the waits for one lock with one holder.
  struct HeldKey {
    RawLockKey lock;
    ThreadId holder;
    friend bool operator==(const HeldKey&, const HeldKey&) = default;
  };
  struct HeldKeyHash {
    size_t operator()(const HeldKey& key) const noexcept {
      return RawLockKeyHash()(key.lock) * 31 + key.holder.value;
    }
  };
  struct Held {
    uint64_t samples = 0;
    std::array<uint64_t, kHolderStates> by_state{};
    uint64_t longest_off_cpu_ns = 0;
    std::unordered_map<ThreadId, uint64_t> preempted_by;
  };
  struct NamedHeld {
    std::string lock;
    std::string holder;
    Cell tid;
    uint64_t samples = 0;
    std::array<uint64_t, kHolderStates> by_state{};
    uint64_t longest_off_cpu_ns = 0;
    std::map<std::string, uint64_t> preempted_by;
  };
  struct FoldedRow {
    std::vector<Cell> keys;
    std::string what;
    Sums sums;
    std::map<std::vector<std::string>, StackShare> stacks;
  };
  struct SpinFunction {
    StringId name = StringPool::kEmpty;
    std::string_view what;
  };

  const SpinFunction& spin_function_of(StackId stack);
  std::vector<Column> columns() const;
  Table make_table();
  Table make_lock_table() const;
  void add_advice();

  std::unordered_map<StackId, SpinFunction> functions_;
  std::unordered_map<RawLockKey, Sums, RawLockKeyHash> rows_;
  std::unordered_map<HeldKey, Held, HeldKeyHash> held_;
  std::unordered_map<std::string, uint32_t> folded_index_;
  std::vector<FoldedRow> folded_;
  std::map<std::string, NamedHeld> named_held_;
  uint64_t samples_ = 0;
  uint64_t spinning_ = 0;
  bool clock_ = true;  // all samples are of a clock: periods are ns
};

}  // namespace perf_latency
