// SPDX-License-Identifier: GPL-2.0-only
// json, csv, folded and lkp: whole outputs.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "render_report.h"

namespace perf_latency::render_test {
namespace {

TEST(RenderJson, WholeReport) {
  Report report = cause_report();
  add_stacks(report.tables[0]);
  report.tables[0].rows.resize(2);
  report.tables[0].columns.resize(8);
  for (Row& row : report.tables[0].rows) row.cells.resize(8);
  report.tables[0].left_out = {2, 2'100'040'000};
  report.recordings[0].cmdline = {"sleep", "1"};
  EXPECT_EQ(rendered(report, Format::json), R"({
  "schema": "perf-latency.report.v1",
  "recording": {
    "path": "perf.data",
    "hostname": "vm1",
    "os_release": "6.12.117",
    "arch": "x86_64",
    "cpus": 4,
    "cmdline": [
      "sleep",
      "1"
    ],
    "start_ns": 1000000000,
    "end_ns": 3500000000,
    "samples": 345,
    "lost": 7,
    "complete": true,
    "events": {}
  },
  "filters": {
    "comm": "cat"
  },
  "totals": {
    "threads": 5,
    "switches": 18,
    "thread_time_ns": 10000000000,
    "running_ns": 1210000000,
    "sleeping_ns": 7100000000,
    "runnable_ns": 1688000000,
    "hidden_ns": 2000000,
    "unknown_ns": 0,
    "accounted_percent": 99.98,
    "excluded": {
      "kernel_threads_ns": 9000000
    }
  },
  "keys": [
    "cause",
    "cause_id"
  ],
  "rows": [
    {
      "cause": "Reading from a disk",
      "cause_id": "disk-read",
      "class": "disk",
      "state": "D",
      "count": 3,
      "total_ns": 6000000,
      "mean_ns": 2000000,
      "max_ns": 4500000,
      "stacks": [
        {
          "count": 2,
          "total_ns": 4500000,
          "max_ns": 4500000,
          "frames": [
            "io_schedule",
            "filemap_read",
            "vfs_read",
            "do_syscall_64"
          ]
        },
        {
          "count": 1,
          "total_ns": 1000000,
          "max_ns": 1000000,
          "frames": [
            "io_schedule",
            "filemap_fault",
            "asm_exc_page_fault"
          ]
        }
      ],
      "stacks_left_out": 1
    },
    {
      "cause": "sync: jbd2_log_wait_commit",
      "cause_id": "",
      "class": "other",
      "state": "D",
      "count": 1,
      "total_ns": 1000000,
      "mean_ns": null,
      "max_ns": 1000000,
      "stacks": []
    }
  ],
  "left_out": {
    "rows": {
      "rows": 2,
      "total_ns": 2100040000
    }
  },
  "diagnostics": [
    {
      "id": "lost-records",
      "severity": "loss",
      "count": 7,
      "text": "events were lost while recording: the ring buffer was full",
      "detail": "CPU 3 at 1.250000"
    },
    {
      "id": "woken-before-switch",
      "severity": "info",
      "count": 2,
      "text": "wakeups of tasks that had not gone to sleep yet"
    }
  ],
  "notes": [
    "kernel threads are left out: 9.000 ms"
  ]
}
)");
}

TEST(RenderJson, UnknownIsNullAndNamesNest) {
  Report report;
  report.schema = "perf-latency.contention.v1";
  report.partial = true;
  report.filters = {{"pid", "1"}, {"pid", "2"}};
  Table& table = report.tables.emplace_back();
  table.with_histogram = true;
  table.columns = {
      {"process.comm", "", CellKind::text},      {"process.pid", "", CellKind::number},
      {"isolated", "", CellKind::boolean},       {"mean_ns", "", CellKind::duration_ns},
      {"change_percent", "", CellKind::percent}, {"nan", "", CellKind::count}};
  table.rows.resize(1);
  table.rows[0].cells = {Cell("a\xff\"\x1bö"), Cell(5u),   Cell(1u),
                         Cell(1234.5),         Cell(-0.5), Cell(kNotANumber)};
  table.rows[0].histogram = {{1, 2, 3}, {2, 4, 18446744073709551615u}};
  Table& more = report.tables.emplace_back();
  more.key = "intervals";
  EXPECT_EQ(rendered(report, Format::json), R"({
  "schema": "perf-latency.contention.v1",
  "recording": {
    "path": "",
    "hostname": "",
    "os_release": "",
    "arch": "",
    "cpus": 0,
    "cmdline": [],
    "start_ns": null,
    "end_ns": null,
    "samples": 0,
    "lost": 0,
    "complete": true,
    "events": {}
  },
  "filters": {
    "pid": "1,2"
  },
  "totals": {
    "threads": null,
    "switches": null,
    "thread_time_ns": null,
    "running_ns": null,
    "sleeping_ns": null,
    "runnable_ns": null,
    "hidden_ns": null,
    "unknown_ns": null,
    "accounted_percent": null,
    "excluded": {
      "kernel_threads_ns": null
    }
  },
  "rows": [
    {
      "process": {
        "comm": "a\ufffd\"\u001b\u00f6",
        "pid": 5
      },
      "isolated": true,
      "mean_ns": 1235,
      "change_percent": -0.5,
      "nan": null,
      "histogram": [
        [
          1,
          2,
          3
        ],
        [
          2,
          4,
          18446744073709551615
        ]
      ]
    }
  ],
  "intervals": [],
  "diagnostics": [],
  "partial": true
}
)");
}

TEST(RenderJson, InfoHasFactsAndNoAccount) {
  Report report;
  report.schema = "perf-latency.info.v1";
  report.with_totals = false;
  report.recordings.resize(2);
  report.recordings[1].path = "b";
  report.add_frames(4, {{"the file is not here", 1}});
  report.facts = {
      {"mode", "mode", CellKind::text, Cell("pipe")},
      {"records", "records", CellKind::count,
       std::vector<std::pair<std::string, Cell>>{{"SAMPLE", Cell(5u)}}},
      {"features", "", CellKind::text, std::vector<std::string>{"STAT"}},
      {"reports", "", CellKind::boolean,
       std::vector<std::pair<std::string, Cell>>{{"report", Cell(1u)}, {"spin", Cell(0u)}}}};
  const auto json = nlohmann::ordered_json::parse(rendered(report, Format::json));
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"schema", "recording", "recordings", "mode", "records",
                                            "features", "reports", "diagnostics", "frames"}));
  EXPECT_EQ(json["recordings"].size(), 2u);
  EXPECT_EQ(json["recordings"][1]["path"], "b");
  EXPECT_EQ(json["records"].dump(), R"({"SAMPLE":5})");
  EXPECT_EQ(json["features"].dump(), R"(["STAT"])");
  EXPECT_EQ(json["reports"].dump(), R"({"report":true,"spin":false})");
  EXPECT_EQ(
      json["frames"].dump(),
      R"({"total":4,"unknown":1,"unknown_why":[{"reason":"the file is not here","count":1}]})");
}

TEST(RenderCsv, QuotesAndNulls) {
  Report report;
  Table& table = report.tables.emplace_back();
  table.columns = {{"thread.comm", "comm", CellKind::text},
                   {"count", "", CellKind::count},
                   {"mean_ns", "", CellKind::duration_ns},
                   {"share", "", CellKind::percent},
                   {"isolated", "", CellKind::boolean}};
  table.rows.resize(3);
  table.rows[0].cells = {Cell("a,\"b\""), Cell(1u), Cell(1234.5), Cell(0.1), Cell(1u)};
  table.rows[1].cells = {Cell("line\nfeed\x1b"), Cell(), Cell(), Cell(), Cell(0u)};
  table.rows[2].cells = {Cell(" x"), Cell(2.5), Cell(7u), Cell(100u), Cell()};
  EXPECT_EQ(rendered(report, Format::csv),
            "thread.comm,count,mean_ns,share,isolated\n"
            "\"a,\"\"b\"\"\",1,1235,0.1,true\n"
            "line\\x0afeed\\x1b,,,,false\n"
            "\" x\",2.5,7,100,\n");
}

TEST(RenderCsv, WholeReport) {
  EXPECT_EQ(
      rendered(cause_report(), Format::csv),
      R"(cause,cause_id,class,state,count,total_ns,mean_ns,max_ns,share,max_start_ns,max_tid,max_comm
Reading from a disk,disk-read,disk,D,3,6000000,2000000,4500000,60,1500000000,82,cat
sync: jbd2_log_wait_commit,,other,D,1,1000000,,1000000,10,1500000000,82,cat
Waiting for a CPU,cpu,cpu,R,12,40000,3333,9999,0.4,1500000000,82,cat
Sleeping for a set time,nanosleep,idle,S,2,2100000000,1050000000,2000000000,29.6,1500000000,82,cat
)");
}

TEST(RenderFolded, WeightsAddUpToTheRows) {
  Report report = cause_report();
  add_stacks(report.tables[0]);
  EXPECT_EQ(rendered(report, Format::folded),
            "[Reading from a disk] 500000\n"
            "[Sleeping for a set time] 2100000000\n"
            "[sync: jbd2_log_wait_commit] 1000000\n"
            "asm_exc_page_fault;filemap_fault;io_schedule 1000000\n"
            "do_syscall_64;vfs_read;filemap_read;io_schedule 4500000\n"
            "do_syscall_64;vfs_read;filemap_read;io_schedule;[Waiting for a CPU] 40000\n");
}

TEST(RenderFolded, CommIsTheRootAndEqualChainsMerge) {
  Report report;
  Table& table = report.tables.emplace_back();
  table.columns = {{"thread.comm", "", CellKind::text},
                   {"thread.tid", "", CellKind::number},
                   {"total_ns", "", CellKind::duration_ns}};
  table.rows.resize(3);
  table.rows[0].cells = {Cell("sh;x\n"), Cell(1u), Cell(30u)};
  table.rows[0].stacks = {{1, 30, 30, {"b;c", "a"}}};
  table.rows[1].cells = {Cell("sh;x\n"), Cell(2u), Cell(12u)};
  table.rows[1].stacks = {{1, 12, 12, {"b;c", "a"}}};
  table.rows[2].cells = {Cell(""), Cell(3u), Cell(5u)};
  EXPECT_EQ(rendered(report, Format::folded),
            "[no call chain] 5\n"
            "sh:x\\x0a;a;b:c 42\n");
}

TEST(RenderLkp, WholeReport) {
  Report report = cause_report();
  report.tables[0].rows.resize(2);
  EXPECT_EQ(rendered(report, Format::lkp), R"(recording.samples: 345
recording.lost: 7
recording.span_ns: 2500000000
totals.threads: 5
totals.switches: 18
totals.thread_time_ns: 10000000000
totals.running_ns: 1210000000
totals.sleeping_ns: 7100000000
totals.runnable_ns: 1688000000
totals.hidden_ns: 2000000
totals.unknown_ns: 0
totals.accounted_percent: 99.98
totals.excluded.kernel_threads_ns: 9000000
cause.disk-read.count: 3
cause.disk-read.total_ns: 6000000
cause.disk-read.mean_ns: 2000000
cause.disk-read.max_ns: 4500000
cause.disk-read.share: 60
cause.sync_jbd2_log_wait_commit.count: 1
cause.sync_jbd2_log_wait_commit.total_ns: 1000000
cause.sync_jbd2_log_wait_commit.max_ns: 1000000
cause.sync_jbd2_log_wait_commit.share: 10
)");
}

TEST(RenderLkp, KeysAreSafeAndDistinct) {
  Report report;
  report.facts = {{"undecodable", "", CellKind::count, Cell(4u)},
                  {"mode", "", CellKind::text, Cell("file")},
                  {"records", "", CellKind::count,
                   std::vector<std::pair<std::string, Cell>>{{"A B", Cell(5u)}}}};
  report.tables.resize(2);
  for (Table& table : report.tables) {
    table.columns = {{"process.comm", "", CellKind::text, true, true},
                     {"process.pid", "", CellKind::number, true, true},
                     {"count", "", CellKind::count},
                     {"isolated", "", CellKind::boolean}};
    table.rows.resize(2);
    for (Row& row : table.rows) row.cells = {Cell("a: b\n\xc3\xb6"), Cell(7u), Cell(1u), Cell(1u)};
  }
  report.tables[1].key = "more";
  report.tables[1].rows.resize(1);
  report.tables[1].rows[0].cells[0] = Cell("\x1b");
  EXPECT_EQ(rendered(report, Format::lkp), R"(recording.samples: 0
recording.lost: 0
undecodable: 4
records.A_B: 5
process.a_b_x0a.7.count: 1
process.a_b_x0a.7.isolated: 1
process.a_b_x0a.7.2.count: 1
process.a_b_x0a.7.2.isolated: 1
more.process.x1b.7.count: 1
more.process.x1b.7.isolated: 1
)");
}

TEST(RenderFormats, NamesAndRefusals) {
  EXPECT_EQ(format_names(),
            "text, json, csv, folded, svg, speedscope, pprof, latency_stats, lkp, lock_stat, "
            "timehist, sqlite");
  EXPECT_EQ(parse_format("latency_stats"), Format::latency_stats);
  EXPECT_EQ(parse_format("JSON"), std::nullopt);
  EXPECT_EQ(to_string(Format::lock_stat), "lock_stat");
  std::string out = "kept";
  const auto result = render(Report{}, Format::latency_stats, {}, out);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().what, "this report has no 'latency_stats' format");
  EXPECT_EQ(out, "kept");
}

}  // namespace
}  // namespace perf_latency::render_test
