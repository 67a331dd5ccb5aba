// SPDX-License-Identifier: GPL-2.0-only
// `perf latency vmstat-sync`: which CPUs were disturbed by vmstat work, whom it delayed, what never ran.
//
// While events come, facts are added up by addresses and ids (CPU, work function, thread, set of
// functions); functions get their names at the end of a recording, and the sums are folded into rows.
// Rules: Documentation/semantics.md, "vmstat work"; kernel side mm/vmstat.c (6.1, 6.12).
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/row_stats.h"
#include "analysis/task_analysis.h"
#include "model/work_model.h"

namespace perf_latency {

struct VmstatOptions {
  std::optional<std::vector<uint32_t>> isolated;  // --isolated; none: as the recording says
  bool verdict = false;                           // one line per isolated CPU
};

enum class VmstatKey : uint8_t { cpu, task, work };
std::optional<VmstatKey> parse_vmstat_key(std::string_view name);

// What a work function is to this report.
enum class VmstatWork : uint8_t { none, sync, shepherd };
VmstatWork vmstat_work_of(std::string_view function);

// Who queued a work item, from its call chain, innermost frame first.
enum class WorkSource : uint8_t { shepherd, timer, stat_refresh, other, unknown, count_ };
WorkSource work_source_of(const std::vector<std::string_view>& chain);

// Policy and priority behind the kernel's prio: "SCHED_FIFO/RR" and "50"; "SCHED_OTHER" and "nice 0".
std::string vmstat_policy(int16_t prio);
std::string vmstat_priority(int16_t prio);

// Whether vmstat_shepherd of this kernel leaves isolated CPUs alone (6.5 and later).
bool shepherd_skips_isolated(std::string_view os_release);

class VmstatReport final : public TaskAnalysis, public WorkSink {
 public:
  VmstatReport(const AnalysisOptions& options, const VmstatOptions& vmstat, CauseTable& causes);

  // Whether --by and the sort keys and fields name what this report has.
  Result<void> check_columns() const;

  DecodeNeeds needs() const override;
  void begin_recording(const RecordingContext& context) override;
  void set_start(uint64_t start_ns) override;
  Result<void> end_recording(const RecordingResult& result) override;
  Report make_report() override;

  // After make_report: whether an isolated CPU was disturbed.
  bool failed() const { return failed_; }
  size_t judged() const { return judged_; }  // isolated CPUs

 protected:
  void take(const Interval&, const TimeSpan&, TaskKind) override {}
  void fold(const RecordingResult& result, const Totals& totals) override;
  void take_event(const Event& event) override;
  void take_record(const Event& event) override;

 private:
  static constexpr uint32_t kNoCpu = WorkModel::kNoCpu;
  static constexpr uint32_t kNoPart = 0;
  using Queued = std::array<uint64_t, static_cast<size_t>(WorkSource::count_)>;

  // Someone, in words that outlive the recording: "VM_SPIN/208 (SCHED_FIFO/RR 50)".
  struct Who {
    std::string comm;
    int32_t pid = -1;
    int32_t tid = -1;
    int16_t prio = 0;
  };
  // The longest queue-to-start delay, or the oldest item that never ran.
  struct Worst {
    uint64_t ns = 0;
    uint64_t at_ns = 0;
    WorkBehind behind;
  };
  // What one function did on one CPU.
  struct WorkSums {
    RowStats runs;
    RowStats delays;
    Worst worst_delay;
    uint64_t never_executed = 0;
    Worst oldest;
    uint64_t lost_track = 0;
    uint64_t timer_pending_ns = 0;
    uint64_t timers_pending = 0;
    uint64_t stops_settled = 0;
  };
  struct QueueSums {
    uint64_t count = 0;
    uint64_t after_idle_stop = 0;
  };
  using CpuFunction = std::tuple<uint32_t, uint32_t, uint64_t>;  // part, CPU, function
  struct QueueKey {
    CpuFunction where;
    StackId stack;
    bool has_chain;
    uint64_t by_function;
    friend auto operator<=>(const QueueKey&, const QueueKey&) = default;
  };
  struct PushKey {
    uint32_t part;
    uint32_t cpu;
    ThreadId thread;
    int16_t prio;
    std::vector<uint64_t> functions;
    friend auto operator<=>(const PushKey&, const PushKey&) = default;
  };
  struct HeldKey {
    CpuFunction where;
    ThreadId thread;
    int16_t prio;
    friend auto operator<=>(const HeldKey&, const HeldKey&) = default;
  };
  struct TickSums {
    uint64_t stopped = 0;
  };

  // A row as it will be printed.
  struct Folded {
    uint32_t part = 0;
    std::optional<uint32_t> cpu;
    Who task;
    std::string work;
    RowStats runs;  // syncs; of the row's function where rows are functions
    RowStats delays;
    RowStats pushes;
    std::set<int32_t> pushed_tids;
    std::set<uint32_t> cpus;
    uint64_t never_executed = 0;
    uint64_t oldest_ns = 0;
    std::optional<uint64_t> timer_pending_ns;
    Queued queued{};
    uint64_t shepherd_runs = 0;
    RowStats other_runs;
    uint64_t held_ns = 0;
    uint64_t ticks_stopped = 0;
    bool ticks_known = false;
    uint64_t stopped_unsynced = 0;
    bool unsynced_known = false;
    // For the verdict's words.
    std::string worst_delay;
    uint64_t worst_delay_ns = 0;
    std::string worst_pending;
    std::string worst_push;
    std::map<std::string, uint64_t> other_functions;
  };

  void on_work_run(const WorkRun& run) override;
  void on_work_queued(const WorkQueueing& queueing) override;
  void on_work_pending(const WorkPending& pending) override;
  void on_work_push(const WorkPush& push) override;
  void on_work_timer(const WorkTimer& timer) override;
  void on_tick_stop(const TickStop& stop) override;

  bool has(VmstatKey key) const;
  uint32_t part_of(uint64_t time_ns) const;
  void hold(const CpuFunction& where, const WorkBehind& behind);

  // At the end of a recording.
  std::string function_name(uint64_t address);
  WorkSource source_of(const QueueKey& key);
  Who who(ThreadId thread, int16_t prio) const;
  void read_machine(const RecordingResult& result);
  bool is_isolated(uint32_t cpu) const;
  bool shows_all(uint32_t cpu);
  bool keeps_work(uint32_t cpu, const std::string& function) const;
  Folded& row(uint32_t part, uint32_t cpu, const std::string& function, const Who& task);
  void fold_cpus(uint32_t cpus);
  void fold_works();
  void fold_queueings();
  void fold_pushes();
  void fold_ticks();
  void note_missing();
  std::string described_delay(const std::string& function, const Worst& worst, bool pending);

  // The table.
  std::vector<Column> columns() const;
  Row make_row(const Folded& row) const;
  std::optional<std::string> verdict(const Folded& row) const;
  std::string reasons(const Folded& row) const;
  Table make_table();

  VmstatOptions vmstat_;
  std::vector<VmstatKey> by_;
  std::unique_ptr<WorkModel> model_;

  // Of the recording that is being read.
  std::map<CpuFunction, WorkSums> works_;
  std::map<QueueKey, QueueSums> queued_;
  std::map<PushKey, RowStats> pushes_;
  std::map<HeldKey, uint64_t> held_;
  std::map<std::pair<uint32_t, uint32_t>, TickSums> ticks_;  // part, CPU
  std::set<std::pair<uint32_t, uint64_t>> functions_on_;     // CPU of the event, function
  std::vector<bool> seen_cpus_;
  std::map<uint64_t, std::string> names_;
  uint64_t start_ns_ = 0;
  bool skips_isolated_ = false;
  bool has_timers_ = false;
  bool has_ticks_ = false;

  // Of all recordings.
  std::map<std::vector<std::string>, Folded> rows_;
  std::set<uint32_t> isolated_;
  std::set<uint32_t> nohz_full_;
  bool isolated_known_ = false;
  bool nohz_full_known_ = false;
  uint64_t observed_ns_ = 0;
  Report report_;
  bool failed_ = false;
  size_t judged_ = 0;
};

}  // namespace perf_latency
