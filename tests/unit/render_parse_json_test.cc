// SPDX-License-Identifier: GPL-2.0-only
// What --format json wrote is read back; anything else is refused without harm.
#include <gtest/gtest.h>

#include "render/parse_json.h"
#include "render_report.h"

namespace perf_latency {
namespace {

std::string as_json(const Report& report) {
  std::string text;
  EXPECT_TRUE(render(report, Format::json, {}, text).has_value());
  return text;
}

TEST(RenderParseJson, ReadsBackWhatWasWritten) {
  Report written = render_test::cause_report();
  render_test::add_stacks(written.tables[0]);
  written.recordings[0].events = {{"sched:sched_switch", 18}};
  written.tables[0].left_out = {2, 3};
  const auto read = parse_json_report(as_json(written));
  ASSERT_TRUE(read.has_value()) << read.error().what;
  EXPECT_EQ(read->schema, written.schema);
  ASSERT_EQ(read->recordings.size(), 1u);
  EXPECT_EQ(read->recordings[0].path, written.recordings[0].path);
  EXPECT_EQ(read->recordings[0].cmdline, written.recordings[0].cmdline);
  EXPECT_EQ(read->recordings[0].start_ns, written.recordings[0].start_ns);
  EXPECT_EQ(read->recordings[0].events, written.recordings[0].events);
  EXPECT_EQ(read->diagnostics.count(Diag::lost_records), 7u);
  const Table& table = read->tables[0];
  const Table& original = written.tables[0];
  EXPECT_EQ(table.left_out.rows, 2u);
  ASSERT_EQ(table.rows.size(), original.rows.size());
  for (size_t c = 0; c < original.columns.size(); ++c) {
    const Column& column = original.columns[c];
    const size_t at = table.column(column.name);
    ASSERT_LT(at, table.columns.size()) << column.name;
    EXPECT_EQ(table.columns[at].key, column.key) << column.name;
    for (size_t r = 0; r < original.rows.size(); ++r)
      EXPECT_EQ(table.rows[r].cells[at], original.rows[r].cells[c]) << column.name << ' ' << r;
  }
  EXPECT_EQ(table.columns[table.column("total_ns")].kind, CellKind::duration_ns);
  EXPECT_EQ(table.columns[table.column("count")].kind, CellKind::count);
}

TEST(RenderParseJson, RefusesOtherThings) {
  for (
      const char* text :
      {"", "{", "[]", "nonsense", "{}", R"({"schema": 5})", R"({"schema": "other.v1", "rows": []})",
       R"({"schema": "perf-latency.x.v1"})", R"({"schema": "perf-latency.x.v1", "rows": {}})",
       R"({"schema": "perf-latency.x.v1", "rows": []})",
       R"({"schema": "perf-latency.x.v1", "rows": [5], "keys": ["a"]})",
       R"({"schema": "perf-latency.x.v1", "rows": [{"a": 1}], "keys": ["b"]})",
       R"({"schema": "perf-latency.x.v1", "rows": [{"a": 1}], "keys": ["a", "a"]})",
       R"({"schema": "perf-latency.x.v1", "rows": [{"a": 1}], "keys": [1]})",
       R"({"schema": "perf-latency.x.v1", "rows": [{"a": {"b": {"c": {"d": {"e": 1}}}}}], "keys": ["a"]})"})
    EXPECT_FALSE(parse_json_report(text).has_value()) << text;
  EXPECT_FALSE(parse_json_report(std::string(1'000'000, '[')).has_value());
  std::string wide = R"({"schema": "perf-latency.x.v1", "keys": ["a0"], "rows": [{)";
  for (int i = 0; i < 300; ++i) wide += (i == 0 ? "\"a" : ",\"a") + std::to_string(i) + "\": 1";
  EXPECT_FALSE(parse_json_report(wide + "}]}").has_value());
}

TEST(RenderParseJson, OddValuesAreNull) {
  const auto read = parse_json_report(
      R"({"schema": "perf-latency.x.v1", "recording": 7, "diagnostics": {"a": 1}, "keys": ["k"],
          "rows": [{"k": "a", "total_ns": -5, "x": null}, {"k": "b", "x": "s", "y": true, "l": [1]}]})");
  ASSERT_TRUE(read.has_value()) << read.error().what;
  const Table& table = read->tables[0];
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].cells[table.column("total_ns")], Cell(-5.0));
  EXPECT_EQ(table.rows[0].cells[table.column("y")], Cell());
  EXPECT_EQ(table.rows[1].cells[table.column("y")], Cell(uint64_t{1}));
  EXPECT_EQ(table.columns[table.column("x")].kind, CellKind::text);
  EXPECT_EQ(table.column("l"), table.columns.size());
}

}  // namespace
}  // namespace perf_latency
