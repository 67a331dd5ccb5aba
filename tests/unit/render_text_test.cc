// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include "render_report.h"

namespace perf_latency::render_test {
namespace {

constexpr std::string_view kHeader =
    "Why tasks slept\n"
    "recording: perf.data, vm1, Linux 6.12.117, x86_64, 4 CPUs\n"
    "command:   perf latency record -- sh -c 'cat big file'\n"
    "span:      2.500 s, 345 samples, 7 events lost\n"
    "threads:   5, 18 context switches, 10.000 s of thread time\n"
    "filters:   comm cat\n"
    "accounted 99.98 % of thread time: running 12.1 %, sleeping 71.0 %, waiting for CPU 16.9 %; "
    "hidden by lost events 0.02 %\n";

std::string account_of(const Totals& totals) {
  Report report;
  report.totals = totals;
  const std::string text = rendered(report, Format::text);
  return text.substr(text.find("accounted"));
}

TEST(RenderText, PlainReport) {
  EXPECT_EQ(rendered(cause_report(), Format::text), std::string(kHeader) +
                                                        R"(
cause                       class  count      total      mean       max    share
Reading from a disk         disk       3   6.000 ms  2.000 ms  4.500 ms  60.00 %
sync: jbd2_log_wait_commit  other      1   1.000 ms         -  1.000 ms  10.00 %
Waiting for a CPU           cpu       12  40.000 us  3.333 us  9.999 us   0.40 %

Waiting for work
Sleeping for a set time     idle       2   2.100 s   1.050 s   2.000 s   29.60 %

kernel threads are left out: 9.000 ms

diagnostics:
  loss           7  events were lost while recording: the ring buffer was full (first: CPU 3 at 1.250000)
)");
}

TEST(RenderText, StacksLimitAndInfoDiagnostics) {
  Report report = cause_report();
  Table& table = report.tables[0];
  add_stacks(table);
  table.title = "Causes";
  table.rows.resize(1);
  table.left_out = {12, 3'400'000};
  RenderOptions options;
  options.verbose = true;
  EXPECT_EQ(rendered(report, Format::text, options), std::string(kHeader) +
                                                         R"(
Causes
cause                class  count     total      mean       max    share
Reading from a disk  disk       3  6.000 ms  2.000 ms  4.500 ms  60.00 %
     75.00 %  2 x, 4.500 ms, max 4.500 ms
            io_schedule
            filemap_read
            vfs_read
            do_syscall_64
     16.67 %  1 x, 1.000 ms, max 1.000 ms
            io_schedule
            filemap_fault
            asm_exc_page_fault
    1 more call chain, not shown
12 more rows, 3.400 ms, not shown: --limit 0 shows all

kernel threads are left out: 9.000 ms

diagnostics:
  loss           7  events were lost while recording: the ring buffer was full (first: CPU 3 at 1.250000)
  info           2  wakeups of tasks that had not gone to sleep yet
)");
}

TEST(RenderText, NothingIsWiderThanTheTerminal) {
  Report report;
  report.with_totals = false;
  report.footer_notes = {"a " + std::string(30, 'x') + "\u00e4\u00f6" + std::string(10, 'y') +
                         " b"};
  Table& table = report.tables.emplace_back();
  for (const char* name : {"First column", "Second column", "Third column"})
    table.columns.push_back({name, name, CellKind::text});
  table.rows.emplace_back().cells = {Cell("one"), Cell("two"), Cell("three")};
  RenderOptions options;
  options.header = false;
  options.width = 32;
  EXPECT_EQ(rendered(report, Format::text, options), R"(First column  Second column
one           two
columns that do not fit this
  terminal: Third column

a
  xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
  äöyyyyyyyyyy b
)");
}

TEST(RenderText, NarrowTerminalShortensTextAndNamesTheColumnsLeftOut) {
  RenderOptions options;
  options.width = 60;
  EXPECT_EQ(rendered(cause_report(), Format::text, options), R"(Why tasks slept
recording: perf.data, vm1, Linux 6.12.117, x86_64, 4 CPUs
command:   perf latency record -- sh -c 'cat big file'
span:      2.500 s, 345 samples, 7 events lost
threads:   5, 18 context switches, 10.000 s of thread time
filters:   comm cat
accounted 99.98 % of thread time: running 12.1 %, sleeping
  71.0 %, waiting for CPU 16.9 %; hidden by lost events
  0.02 %

cause                      class  count      total      mean
Reading from a disk        disk       3   6.000 ms  2.000 ms
sync: jbd2_log_wait_comm…  other      1   1.000 ms         -
Waiting for a CPU          cpu       12  40.000 us  3.333 us

Waiting for work
Sleeping for a set time    idle       2   2.100 s   1.050 s
columns that do not fit this terminal: max, share

kernel threads are left out: 9.000 ms

diagnostics:
  loss           7  events were lost while recording: the
                    ring buffer was full (first: CPU 3 at
                    1.250000)
)");
}

TEST(RenderText, QuietPrintsTheTablesOnly) {
  RenderOptions options;
  options.quiet = true;
  Report report = cause_report();
  report.tables[0].rows.resize(1);
  EXPECT_EQ(rendered(report, Format::text, options),
            R"(cause                class  count     total      mean       max    share
Reading from a disk  disk       3  6.000 ms  2.000 ms  4.500 ms  60.00 %
)");
}

TEST(RenderText, NoHeader) {
  RenderOptions options;
  options.header = false;
  Report report = cause_report();
  report.tables[0].rows.clear();
  report.diagnostics = {};
  EXPECT_EQ(rendered(report, Format::text, options),
            "cause  class  count  total  mean  max  share\n"
            "(none)\n"
            "\n"
            "kernel threads are left out: 9.000 ms\n");
}

TEST(RenderText, ColorsOnlyPercentages) {
  Report report;
  Table& table = report.tables.emplace_back();
  table.columns = {{"cpu", "cpu", CellKind::number}, {"share", "share", CellKind::percent}};
  table.rows.resize(4);
  table.rows[0].cells = {Cell(9u), Cell(5.0)};
  table.rows[1].cells = {Cell(10u), Cell(0.51)};
  table.rows[2].cells = {Cell(11u), Cell(0.5)};
  table.rows[3].cells = {Cell(12u), Cell(100u)};
  RenderOptions options;
  options.color = true;
  EXPECT_EQ(rendered(report, Format::text, options),
            "cpu     share\n"
            "  9    \x1b[31m5.00 %\x1b[m\n"
            " 10    \x1b[32m0.51 %\x1b[m\n"
            " 11    0.50 %\n"
            " 12  \x1b[31m100.00 %\x1b[m\n");
}

TEST(RenderText, HostileStringsAreEscapedAndStillAligned) {
  Report report;
  report.recordings.emplace_back().path = "a\x1b]0;title\x07.data";
  report.recordings[0].complete = false;
  Table& table = report.tables.emplace_back();
  table.columns = {{"comm", "comm", CellKind::text}, {"count", "count", CellKind::count}};
  table.rows.resize(3);
  table.rows[0].cells = {Cell("\x1b[31mred\xff"), Cell(1u)};
  table.rows[1].cells = {Cell("größe\n"), Cell(22u)};
  table.rows[2].cells = {Cell("a\u202e\u009b"), Cell()};
  EXPECT_EQ(rendered(report, Format::text),
            "recording: a\\x1b]0;title\\x07.data\n"
            "span:      0 samples, 0 events lost, not complete: the recording was killed or cut\n"
            "\n"
            "comm             count\n"
            "\\x1b[31mred\\xff      1\n"
            "größe\\x0a           22\n"
            "a\\u202e\\x9b          -\n");
}

TEST(RenderText, CellKinds) {
  Report report;
  Table& table = report.tables.emplace_back();
  table.columns = {{"name", "name", CellKind::text}, {"t", "time", CellKind::time_ns},
                   {"ok", "ok", CellKind::boolean},  {"d", "diff", CellKind::duration_ns},
                   {"r", "rate", CellKind::count},   {"p", "change", CellKind::percent},
                   {"n", "nan", CellKind::count},    {"s", "seconds", CellKind::duration_ns}};
  table.rows.resize(2);
  table.rows[0].cells = {Cell("a"),         Cell(1'234'567'890'123u),
                         Cell(1u),          Cell(-1500.4),
                         Cell(2.5),         Cell(-12.345),
                         Cell(kNotANumber), Cell(1'500'000'000u)};
  table.rows[1].cells = {Cell("b"), Cell(),    Cell(0u), Cell(15.6),
                         Cell(),    Cell(0.0), Cell(7u), Cell(999'999u)};
  EXPECT_EQ(rendered(report, Format::text),
            "name         time   ok       diff  rate    change  nan     seconds\n"
            "a     1234.567890  yes  -1.500 us  2.50  -12.35 %    -    1.500 s\n"
            "b               -   no      16 ns     -    0.00 %    7  999.999 us\n");
}

TEST(RenderText, AccountWithoutWakeups) {
  Totals totals;
  totals.thread_time_ns = 1'000'000;
  totals.running_ns = 250'000;
  totals.sleeping_ns = 749'500;
  totals.unknown_ns = 500;
  EXPECT_EQ(account_of(totals),
            "accounted 99.95 % of thread time: running 25.0 %, sleeping, including waiting for a "
            "CPU, 75.0 %; hidden by lost events 0.00 %; unknown 0.05 %\n");
}

TEST(RenderText, AccountNeverHidesASmallGap) {
  Totals totals;
  totals.thread_time_ns = 1'000'000'000;
  totals.running_ns = 999'999'998;
  totals.runnable_ns = 0;
  totals.hidden_ns = 1;
  totals.unknown_ns = 1;
  EXPECT_EQ(account_of(totals),
            "accounted 99.99 % of thread time: running 100.0 %, sleeping 0.0 %, waiting for CPU "
            "0.0 %; hidden by lost events <0.01 %; unknown <0.01 %\n");
}

TEST(RenderText, AccountOfNothing) {
  Totals totals;
  totals.runnable_ns = 0;
  EXPECT_EQ(account_of(totals),
            "accounted 100.00 % of thread time: running 0.0 %, sleeping 0.0 %, waiting for CPU "
            "0.0 %; hidden by lost events 0.00 %\n");
}

TEST(RenderText, FactsNotesPartialAndSeveralRecordings) {
  Report report;
  report.partial = true;
  report.recordings.resize(2);
  report.recordings[0].path = "a.data";
  report.recordings[1].path = "b.data";
  report.recordings[1].cpus = 1;
  report.add_frames(60, {{"the file is not here", 1}});
  report.add_frames(40, {{"hidden", 2}});
  report.header_notes = {"stacks: the kernel's only"};
  report.facts = {
      {"byte_order", "byte order", CellKind::text, Cell("little")},
      {"hidden", "", CellKind::text, Cell("only in JSON")},
      {"features", "features", CellKind::text, std::vector<std::string>{"BUILD_ID", "HOSTNAME"}},
      {"records", "records", CellKind::count,
       std::vector<std::pair<std::string, Cell>>{{"SAMPLE", Cell(5u)}, {"LOST", Cell()}}},
      {"empty", "empty list", CellKind::text, std::vector<std::string>{}}};
  EXPECT_EQ(rendered(report, Format::text),
            R"(PARTIAL: the analysis was interrupted; this is what it had found
recording: a.data
span:      0 samples, 0 events lost
recording: b.data, 1 CPU
span:      0 samples, 0 events lost
symbols:   3 of 100 frames have no name: 2 x hidden; 1 x the file is not here
stacks: the kernel's only
byte order: little
features:   BUILD_ID, HOSTNAME
records:    SAMPLE 5, LOST -
empty list: -
)");
}

TEST(RenderText, HistogramAsBpftraceDrawsIt) {
  Report report;
  Table& table = report.tables.emplace_back();
  table.with_histogram = true;
  table.columns = {{"lock", "lock", CellKind::text}, {"count", "count", CellKind::count}};
  table.rows.resize(1);
  table.rows[0].cells = {Cell("rq lock"), Cell(7u)};
  table.rows[0].histogram = {
      {512, 1024, 1}, {1024, 2048, 4}, {2048, 4096, 0}, {1048576, 2097152, 2}};
  EXPECT_EQ(rendered(report, Format::text),
            "lock     count\n"
            "rq lock      7\n"
            "[512, 1K)              1 |@@@@@@@@@@@@@                                       |\n"
            "[1K, 2K)               4 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
            "[2K, 4K)               0 |                                                    |\n"
            "[1M, 2M)               2 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
            "\n");
}

TEST(RenderText, FramesAreShortenedInTheMiddle) {
  Report report;
  Table& table = report.tables.emplace_back();
  table.columns = {{"comm", "comm", CellKind::text}, {"count", "count", CellKind::count}};
  table.rows.resize(1);
  table.rows[0].cells = {Cell("cat"), Cell(1u)};
  table.rows[0].stacks = {{1, 5, 5, {"a_function_with_a_long_name+0x123"}}};
  RenderOptions options;
  options.width = 32;
  EXPECT_EQ(rendered(report, Format::text, options),
            "comm  count\n"
            "cat       1\n"
            "    100.00 %  1 x, 5 ns, max 5 ns\n"
            "            a_function…ame+0x123\n");
}

}  // namespace
}  // namespace perf_latency::render_test
