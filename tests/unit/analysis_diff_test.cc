// SPDX-License-Identifier: GPL-2.0-only
// Rows of several reports matched, compared and marked; how often nothing is marked where nothing is.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "analysis/diff.h"
#include "base/time.h"

namespace perf_latency {
namespace {

constexpr uint64_t kMs = 1'000'000;

struct Line {
  std::string caller;
  uint64_t count;
  uint64_t total_ns;
  uint64_t max_ns;
};

Report contention(const std::vector<Line>& lines, uint64_t seconds = 10) {
  Report report;
  report.schema = "perf-latency.contention.v1";
  RecordingInfo& recording = report.recordings.emplace_back();
  recording.path = "perf.data";
  recording.start_ns = 5;
  recording.end_ns = 5 + seconds * 1'000'000'000;
  recording.events = {{"sched:sched_switch", 100 * seconds}};
  Table& table = report.tables.emplace_back();
  table.columns = {{"caller", "Caller", CellKind::text, true, true},
                   {"count", "Count", CellKind::count},
                   {"total_ns", "Total", CellKind::duration_ns},
                   {"mean_ns", "Mean", CellKind::duration_ns},
                   {"max_ns", "Max", CellKind::duration_ns}};
  for (const Line& line : lines)
    table.rows.emplace_back().cells = {line.caller, line.count, line.total_ns,
                                       line.count == 0 ? Cell() : Cell(line.total_ns / line.count),
                                       line.max_ns};
  return report;
}

class Result_ {
 public:
  explicit Result_(Report report) : report_(std::move(report)) {}
  const Table& table() const { return report_.tables[0]; }
  size_t rows() const { return table().rows.size(); }
  Cell at(const std::string& key, const std::string& column) const {
    const size_t index = table().column(column);
    EXPECT_LT(index, table().columns.size()) << column;
    for (const Row& row : table().rows)
      if (row.cells[0] == Cell(key)) return row.cells[index];
    ADD_FAILURE() << "no row " << key;
    return {};
  }
  size_t marked(const std::string& measure) const {
    const size_t index = table().column(measure + ".marked");
    size_t count = 0;
    for (const Row& row : table().rows) count += row.cells[index] == Cell(uint64_t{1}) ? 1 : 0;
    return count;
  }
  const Report& report() const { return report_; }

 private:
  Report report_;
};

Result_ compare(const std::vector<Report>& before, const std::vector<Report>& after,
                DiffOptions options = {}) {
  Diff diff(options);
  for (const Report& report : before) EXPECT_TRUE(diff.add(false, report).has_value());
  for (const Report& report : after) EXPECT_TRUE(diff.add(true, report).has_value());
  return Result_(diff.make_report());
}

double number(const Cell& cell) {
  if (const auto* integer = std::get_if<uint64_t>(&cell)) return static_cast<double>(*integer);
  return std::get<double>(cell);
}

TEST(AnalysisDiff, OneRecordingASideMakesNoClaim) {
  const Result_ result =
      compare({contention({{"do_exit", 4, 8 * kMs, 3 * kMs}, {"old", 1, 5, 5}})},
              {contention({{"do_exit", 5, 10 * kMs, 4 * kMs}, {"new", 1, 7, 7}})});
  EXPECT_EQ(result.rows(), 3u);
  EXPECT_EQ(result.at("do_exit", "total_ns.before"), Cell(8 * kMs));
  EXPECT_EQ(result.at("do_exit", "total_ns.after"), Cell(10 * kMs));
  EXPECT_DOUBLE_EQ(number(result.at("do_exit", "total_ns.change_percent")), 25);
  EXPECT_DOUBLE_EQ(number(result.at("do_exit", "count.change_percent")), 25);
  EXPECT_DOUBLE_EQ(number(result.at("do_exit", "mean_ns.change_percent")), 0);
  EXPECT_EQ(result.at("do_exit", "total_ns.before_stddev_percent"), Cell());
  EXPECT_EQ(result.at("do_exit", "marked"), Cell());
  EXPECT_EQ(result.at("do_exit", "status"), Cell("both"));
  EXPECT_EQ(result.at("new", "status"), Cell("new"));
  EXPECT_EQ(result.at("new", "mark"), Cell("new"));
  EXPECT_EQ(result.at("new", "total_ns.before"), Cell());
  EXPECT_EQ(result.at("new", "total_ns.change_percent"), Cell());
  EXPECT_EQ(result.at("old", "status"), Cell("gone"));
  EXPECT_EQ(result.at("old", "total_ns.after"), Cell());
}

// 10, 11, 12: mean 11, standard deviation 1.
TEST(AnalysisDiff, MeansAndScatter) {
  const auto run = [](uint64_t total) { return contention({{"a", 100, total * kMs, kMs}}); };
  const Result_ result = compare({run(10), run(11), run(12)}, {run(22), run(22)});
  EXPECT_EQ(result.at("a", "total_ns.before"), Cell(11 * kMs));
  EXPECT_NEAR(number(result.at("a", "total_ns.before_stddev_percent")), 100.0 / 11, 1e-9);
  EXPECT_NEAR(number(result.at("a", "total_ns.after_stddev_percent")), 0, 1e-9);
  EXPECT_DOUBLE_EQ(number(result.at("a", "total_ns.change_percent")), 100);
  EXPECT_EQ(result.at("a", "marked"), Cell(uint64_t{1}));
  EXPECT_EQ(result.at("a", "mark"), Cell("*"));
  EXPECT_EQ(result.at("a", "count.marked"), Cell(uint64_t{0}));
  EXPECT_EQ(result.at("a", "max_ns.marked"), Cell());  // depends on single intervals
}

TEST(AnalysisDiff, SymbolsMatchAcrossCompilersAndLocksWithoutAName) {
  const Result_ result =
      compare({contention({{"f.constprop.0", 1, 10, 10}, {"f.isra.0.cold", 3, 50, 40}}),
               contention({{"f", 2, 20, 20}})},
              {contention({{"f.part.7", 1, 10, 10},
                           {"0xffff888112345678", 1, 1, 1},
                           {"0xffff888112345700", 2, 4, 3}})});
  EXPECT_EQ(result.rows(), 2u);
  EXPECT_EQ(result.at("f", "total_ns.before"), Cell(uint64_t{40}));  // (60 + 20) / 2
  EXPECT_EQ(result.at("f", "max_ns.before"), Cell(uint64_t{30}));    // (40 + 20) / 2
  EXPECT_EQ(result.at("[no name]", "total_ns.after"), Cell(uint64_t{5}));
  // (10 + 3 * 16) / 4 = 14.5, and 10
  EXPECT_DOUBLE_EQ(number(result.at("f", "mean_ns.before")), (14.5 + 10) / 2);
}

TEST(AnalysisDiff, CausesMatchByIdAndTasksByName) {
  const auto report = [](const char* sentence, uint64_t tid, uint64_t idle) {
    Report made;
    made.schema = "perf-latency.report.v1";
    made.recordings.emplace_back();
    Table& table = made.tables.emplace_back();
    table.columns = {{"cause", "Cause", CellKind::text, true, true},
                     {"cause_id", "Id", CellKind::text, false, true},
                     {"thread.comm", "Command", CellKind::text, true, true},
                     {"thread.tid", "Tid", CellKind::number, true, true},
                     {"total_ns", "Total", CellKind::duration_ns},
                     {"idle", "Idle", CellKind::boolean, false}};
    table.rows.emplace_back().cells = {sentence, "disk-read", "cat", tid, uint64_t{100}, idle};
    table.rows.emplace_back().cells = {"read: foo", "", "cat", tid, uint64_t{7}, uint64_t{0}};
    table.rows.emplace_back().cells = {"read: foo", "", "cat", tid + 1, uint64_t{7}, uint64_t{0}};
    return made;
  };
  const Result_ result = compare({report("Reading", 5, 1)}, {report("Reading a file", 9, 1)});
  EXPECT_EQ(result.rows(), 2u);
  EXPECT_EQ(result.at("Reading a file", "status"), Cell("both"));
  EXPECT_EQ(result.at("read: foo", "total_ns.after"), Cell(uint64_t{14}));
  EXPECT_EQ(result.table().sections.size(), 2u);
  EXPECT_EQ(result.table().rows.back().section, 1u);
  EXPECT_EQ(result.table().column("thread.tid"), result.table().columns.size());
}

TEST(AnalysisDiff, PerSecondAndPerEvent) {
  const std::vector<Report> before{contention({{"a", 10, 100 * kMs, kMs}}, 10)};
  const std::vector<Report> after{contention({{"a", 40, 200 * kMs, kMs}}, 20)};
  DiffOptions options;
  options.per = DiffPer::second;
  const Result_ second = compare(before, after, options);
  EXPECT_DOUBLE_EQ(number(second.at("a", "total_ns.before")), 10 * kMs);
  EXPECT_DOUBLE_EQ(number(second.at("a", "total_ns.change_percent")), 0);
  EXPECT_DOUBLE_EQ(number(second.at("a", "count.after")), 2);
  EXPECT_DOUBLE_EQ(number(second.at("a", "mean_ns.after")), 5 * kMs);
  options.per = DiffPer::event;
  options.event = "sched:sched_switch";
  const Result_ event = compare(before, after, options);
  EXPECT_DOUBLE_EQ(number(event.at("a", "total_ns.after")), 100'000);
  options.event = "sched:none";
  Diff diff(options);
  EXPECT_FALSE(diff.add(false, before[0]).has_value());
}

TEST(AnalysisDiff, RefusesWhatCannotBeCompared) {
  Diff diff(DiffOptions{});
  ASSERT_TRUE(diff.add(false, contention({})).has_value());
  Report other = contention({});
  other.schema = "perf-latency.hold-time.v1";
  EXPECT_FALSE(diff.add(true, other).has_value());
  Report by_lock = contention({});
  by_lock.tables[0].columns[0].name = "lock";
  EXPECT_FALSE(diff.add(true, by_lock).has_value());
  EXPECT_FALSE(diff.add(true, Report{}).has_value());
  Report cut = contention({});
  cut.filters = {{"time", "1,2"}};
  DiffOptions per_second;
  per_second.per = DiffPer::second;
  EXPECT_FALSE(Diff(per_second).add(false, cut).has_value());
  DiffOptions unknown;
  unknown.measure = "colour";
  Diff measured(unknown);
  ASSERT_TRUE(measured.add(false, contention({})).has_value());
  EXPECT_FALSE(measured.shown_measure().has_value());
}

// A machine's load: each row has its own kind of randomness, and that of its length.
class Load {
 public:
  explicit Load(unsigned seed) : random_(seed) {}

  Report run(double factor) {
    std::vector<Line> lines;
    for (int i = 0; i < 8; ++i)  // independent intervals, of any length
      lines.push_back(random_row("poisson" + std::to_string(i), 1 << i, 1e6 * (i + 1)));
    for (int i = 0; i < 6; ++i) {  // timers: once more or less, by the phase
      const uint64_t count = 1 + 3 * i + (uniform_(random_) < 0.5 ? 1 : 0);
      lines.push_back({"timer" + std::to_string(i), count, count * 1000 * kMs, 1000 * kMs});
    }
    for (int i = 0; i < 6; ++i)  // heavy tails
      lines.push_back(tailed_row("tail" + std::to_string(i), 30 << i));
    const auto length = static_cast<uint64_t>(50e6 * factor * (1 + 1e-3 * normal_(random_)));
    lines.push_back({"sleep", 40, 40 * length, length + 100'000});
    if (uniform_(random_) < 0.3) lines.push_back({"seldom", 1, 900 * kMs, 900 * kMs});
    return contention(lines);
  }

 private:
  Line random_row(const std::string& name, double mean_count, double mean_ns) {
    std::poisson_distribution<uint64_t> counts(mean_count);
    std::exponential_distribution<double> lengths(1 / mean_ns);
    return add_up(name, counts(random_), [&] { return lengths(random_); });
  }
  Line tailed_row(const std::string& name, double mean_count) {
    std::poisson_distribution<uint64_t> counts(mean_count);
    std::lognormal_distribution<double> lengths(13, 2);
    return add_up(name, counts(random_), [&] { return lengths(random_); });
  }
  template <typename Length>
  static Line add_up(const std::string& name, uint64_t count, Length length) {
    Line line{name, count, 0, 0};
    for (uint64_t i = 0; i < count; ++i) {
      const auto ns = static_cast<uint64_t>(length());
      line.total_ns += ns;
      line.max_ns = std::max(line.max_ns, ns);
    }
    return line;
  }

  std::mt19937 random_;
  std::uniform_real_distribution<double> uniform_;
  std::normal_distribution<double> normal_;
};

// In at least 19 of 20 tries nothing is found where nothing has changed, for any number of runs.
TEST(AnalysisDiff, NothingIsFoundBetweenTwoSetsOfTheSame) {
  Load load(20261130);
  for (const int runs : {2, 3, 5, 10}) {
    constexpr size_t kTries = 400;
    std::map<std::string, size_t> found;
    for (size_t i = 0; i < kTries; ++i) {
      std::vector<Report> before, after;
      for (int run = 0; run < runs; ++run) {
        before.push_back(load.run(1));
        after.push_back(load.run(1));
      }
      const Result_ result = compare(before, after);
      for (const char* measure : {"total_ns", "count", "mean_ns"})
        found[measure] += result.marked(measure) != 0 ? 1 : 0;
    }
    for (const auto& [measure, tries] : found)
      EXPECT_LE(tries, kTries / 20) << measure << " with " << runs << " runs";
  }
}

// Three runs a side find the sleep that has become 20 % longer, and only that one.
TEST(AnalysisDiff, TheLongerSleepIsFound) {
  Load load(7);
  size_t exact = 0;
  constexpr size_t kTries = 100;
  for (size_t i = 0; i < kTries; ++i) {
    std::vector<Report> before, after;
    for (int run = 0; run < 3; ++run) {
      before.push_back(load.run(1));
      after.push_back(load.run(1.2));
    }
    const Result_ result = compare(before, after);
    if (result.marked("total_ns") == 1 && result.at("sleep", "marked") == Cell(uint64_t{1}))
      ++exact;
    EXPECT_NEAR(number(result.at("sleep", "total_ns.change_percent")), 20, 1);
  }
  EXPECT_GE(exact, kTries * 95 / 100);
}

TEST(AnalysisDiff, MarkedRowsComeFirstAndAlone) {
  Load load(3);
  std::vector<Report> before, after;
  for (int run = 0; run < 3; ++run) {
    before.push_back(load.run(1));
    after.push_back(load.run(1.2));
  }
  const Result_ all = compare(before, after);
  EXPECT_EQ(all.table().rows[0].cells[0], Cell("sleep"));
  DiffOptions options;
  options.marked_only = true;
  const Result_ marked = compare(before, after, options);
  ASSERT_EQ(marked.rows(), 1u);
  EXPECT_EQ(marked.table().rows[0].cells[0], Cell("sleep"));
}

}  // namespace
}  // namespace perf_latency
