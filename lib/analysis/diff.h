// SPDX-License-Identifier: GPL-2.0-only
// `perf latency diff`: reports of recordings before and after a change, side by side.
//
// Invariant: all reports that are added have the same schema and the same key columns. Rows are
// matched by what stays the same from one recording, boot and kernel version to the next: the id of a
// cause (its sentence where it has none), symbols without the compiler's suffixes, names of tasks
// without pid and tid. Rows that have become equal that way are added up; locks that are known by
// their address only become one row.
//
// Each side is the mean over its recordings; a row that a recording lacks has a count and a total of
// 0 there. With two recordings a side and more, Welch's test says for count, total and mean whether
// the change is larger than the noise, with Holm's procedure over all rows: between two sets of
// recordings of the same load the chance of even one mark is kDiffAlpha. Totals and counts scatter at
// least as if half of the longest interval came and went: three recordings may agree by luck.
// Rows below kDiffLeastShare of their section's time are not tested, and changes below
// kDiffLeastChangePercent not marked.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/options.h"
#include "base/result.h"
#include "report/report.h"

namespace perf_latency {

enum class DiffPer : uint8_t { run, second, event };

struct DiffOptions {
  DiffPer per = DiffPer::run;
  std::string event;          // with DiffPer::event: "sched:sched_switch"
  std::string measure;        // shown in text: "total", "count", …; empty: total
  bool marked_only = false;   // leave out rows whose change is no larger than the noise
  std::vector<SortKey> sort;  // empty: marked rows first, then the largest difference
  std::vector<std::string> fields;
};

inline constexpr double kDiffAlpha = 0.05;
inline constexpr double kDiffLeastShare = 1e-4;
inline constexpr double kDiffLeastChangePercent = 1.0;

// A number of the rows, and how it is compared.
struct DiffMeasure {
  enum class Merge : uint8_t { sum, largest, mean, none };     // of rows that have become one
  enum class Noise : uint8_t { unknown, count, total, mean };  // unknown: no claim is made
  const char* name;
  CellKind kind;
  Merge merge;
  Noise noise;
  bool per;             // is divided by --per
  const char* longest;  // the measure that holds the longest interval
};

class Diff {
 public:
  explicit Diff(DiffOptions options) : options_(std::move(options)) {}

  // One recording, or what was analysed as one. Fails when it cannot be compared with the others.
  Result<void> add(bool after, const Report& report);

  // The name of the measure that is shown ("total_ns"), once a report was added; fails when the
  // reports have no such measure.
  Result<std::string> shown_measure() const;
  // The columns of the result, for checking the names of sort keys and fields.
  Table columns() const;

  // When each side has a recording.
  Report make_report() const;

 private:
  // What a row says in one recording, by measure; none: not known.
  using Values = std::vector<std::optional<double>>;
  struct Entry {
    std::vector<Cell> keys;
    uint32_t section = 0;
    std::array<std::map<size_t, Values>, 2> runs;  // before and after, by number of the recording
  };
  struct Side {
    std::optional<double> mean;
    std::optional<double> stddev_percent;
  };
  struct Comparison {
    std::array<Side, 2> sides;
    std::optional<double> change_percent;
    std::optional<double> p;
    std::optional<bool> marked;
  };
  struct ComparedRow {
    const Entry* entry = nullptr;
    std::vector<Comparison> measures;
  };

  Result<void> take_columns(const Report& report);
  Result<double> units(const Report& report) const;
  void take_row(const Table& table, const Row& row, size_t side, double units);
  void merge(Values& into, const Values& from) const;
  std::vector<double> values_of(const Entry& entry, size_t side, size_t measure) const;
  std::optional<double> mean_of(const Entry& entry, size_t measure) const;
  double least_stddev(const Entry& entry, size_t measure) const;
  Comparison compare(const Entry& entry, size_t measure, bool tested) const;
  std::map<const Entry*, bool> large_entries() const;
  std::vector<ComparedRow> compare_all() const;
  void mark(std::vector<ComparedRow>& rows) const;
  size_t measure_index(std::string_view name) const;
  bool has_noise() const { return paths_[0].size() >= 2 && paths_[1].size() >= 2; }

  Row make_row(const ComparedRow& row) const;
  void sort_rows(std::vector<ComparedRow>& rows) const;
  void add_notes(Report& report, size_t tested, size_t left_out) const;
  std::vector<size_t> shown_first() const;
  std::string unit_text() const;

  DiffOptions options_;
  std::string schema_;
  std::vector<std::string> all_keys_;  // key columns of the reports
  std::vector<Column> keys_;           // those by which rows are matched
  std::vector<const DiffMeasure*> measures_;
  bool has_idle_ = false;
  std::map<std::string, Entry> entries_;
  std::array<std::vector<std::string>, 2> paths_;
  std::array<std::vector<double>, 2> units_;  // what each recording is divided by
  std::vector<RecordingInfo> recordings_;
  Diagnostics diagnostics_;
  std::string filters_;
  bool filters_differ_ = false;
  std::vector<std::string> limited_;  // reports that lack rows
  bool partial_ = false;
};

}  // namespace perf_latency
