// SPDX-License-Identifier: GPL-2.0-only
// Intervals as JSON lines, CSV and a database, and a wait that is told step by step.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "render/explanation.h"
#include "render/interval_lines.h"
#include "render/sqlite_intervals.h"

namespace perf_latency {
namespace {

using nlohmann::json;

// What a test needs for rows: they point into it.
struct Rows {
  std::vector<std::string> frames{"schedule", "pipe_read", "say \"hi\", ok"};
  PlaceText place;
  PlaceText lock_place;
  LockText lock;

  Rows() {
    place.id = 0;
    place.frames = frames;
    place.cause = "Reading from a pipe";
    place.cause_id = "pipe-read";
    place.cause_class = "ipc";
    lock_place.id = 1;
    lock_place.frames = std::span(frames).first(1);
    lock_place.caller = "do_exit";
    lock.name = "mm, shared";
    lock.address = "0xffff888000000001";
    lock.type = "mutex";
  }

  static TaskText task(uint32_t thread, int32_t tid, std::string_view comm) {
    TaskText text;
    text.known = true;
    text.thread = thread;
    text.tid = tid;
    text.pid = tid;
    text.comm = comm;
    return text;
  }
  IntervalRow sleep() const {
    IntervalRow row;
    row.start_ns = 100;
    row.end_ns = 350;
    row.full_ns = 250;
    row.cpu = 3;
    row.task = task(0, 12, "a,b\"\n\xff");
    row.state = 'S';
    row.place = &place;
    row.other = task(TaskText::kNoThread, -1, "[timer]");
    return row;
  }
  IntervalRow wait() const {
    IntervalRow row;
    row.kind = RowKind::wait;
    row.start_ns = 200;
    row.end_ns = 400;
    row.full_ns = 200;
    row.task = task(0, 12, "later name");
    row.place = &lock_place;
    row.lock = &lock;
    row.spin_ns = 50;
    row.sleep_ns = 150;
    row.open = true;
    return row;
  }
};

std::string lines_of(const std::vector<IntervalRow>& rows, IntervalLineOptions options) {
  std::string all;
  IntervalLines lines(options, [&](std::string_view text) { all += text; });
  lines.begin_recording(0);
  for (const IntervalRow& row : rows) lines.take(row);
  lines.flush();
  return all;
}

TEST(IntervalLines, JsonHasTheFieldsOfEachKind) {
  const Rows rows;
  const std::string text = lines_of({rows.sleep(), rows.wait()}, {});
  const size_t end = text.find('\n');
  EXPECT_EQ(json::parse(text.substr(0, end)),
            json::parse(R"({"type":"sleep","start_ns":100,"end_ns":350,"duration_ns":250,"cpu":3,
        "pid":12,"tid":12,"comm":"a,b\"\n\ufffd","open":false,"began_before":false,"state":"S",
        "waker":{"tid":null,"comm":"[timer]"},"includes_waiting":false,"uncertain":false,
        "cause":"Reading from a pipe","cause_id":"pipe-read","class":"ipc",
        "stack":["schedule","pipe_read","say \"hi\", ok"]})"));
  EXPECT_EQ(json::parse(text.substr(end + 1)),
            json::parse(R"({"type":"wait","start_ns":200,"end_ns":400,"duration_ns":200,"cpu":0,
        "pid":12,"tid":12,"comm":"later name","open":true,"began_before":false,"lock":"mm, shared",
        "lock_addr":"0xffff888000000001","lock_type":"mutex","holder":null,"holder_ns":null,
        "spin_ns":50,"sleep_ns":150,"failed":false,"caller":"do_exit","stack":["schedule"]})"));
}

TEST(IntervalLines, FieldsAreChosen) {
  const Rows rows;
  IntervalLineOptions options;
  ASSERT_TRUE(options.select({"cause_id", "tid"}));
  EXPECT_EQ(lines_of({rows.sleep(), rows.sleep()}, options),
            "{\"tid\":12,\"cause_id\":\"pipe-read\"}\n{\"tid\":12,\"cause_id\":\"pipe-read\"}\n");
  ASSERT_TRUE(options.select({"stack"}));
  EXPECT_EQ(lines_of({rows.wait()}, options), "{\"stack\":[\"schedule\"]}\n");
  EXPECT_FALSE(options.select({"comm", "colour"}));
  IntervalLineOptions more;
  ASSERT_TRUE(more.select({"+recording"}));
  EXPECT_EQ(json::parse(lines_of({rows.sleep()}, more))["recording"], 0);
  EXPECT_EQ(json::parse(lines_of({rows.sleep()}, more))["tid"], 12);
}

TEST(IntervalLines, CsvQuotesAndIsOneLineARow) {
  const Rows rows;
  IntervalLineOptions options;
  options.csv = true;
  ASSERT_TRUE(options.select({"type", "comm", "waker", "lock", "open", "stack"}));
  EXPECT_EQ(
      lines_of({rows.sleep(), rows.wait()}, options),
      "type,comm,waker.tid,waker.comm,lock,open,stack\n"
      "sleep,\"a,b\"\"\\x0a\\xff\",,[timer],,false,\"schedule;pipe_read;say \"\"hi\"\", ok\"\n"
      "wait,later name,,,\"mm, shared\",true,schedule\n");
}

class Database : public ::testing::Test {
 protected:
  Database() {
    std::string name = ::testing::TempDir() + "intervalsXXXXXX";
    const int fd = ::mkstemp(name.data());
    if (fd >= 0) ::close(fd);
    path_ = name;
  }
  ~Database() override { ::unlink(path_.c_str()); }

  // The rows of a query, columns joined by |.
  std::vector<std::string> query(const char* sql) {
    sqlite3* database = nullptr;
    std::vector<std::string> rows;
    if (sqlite3_open(path_.c_str(), &database) == SQLITE_OK)
      sqlite3_exec(
          database, sql,
          [](void* out, int columns, char** values, char**) {
            std::string row;
            for (int i = 0; i < columns; ++i)
              row.append(i == 0 ? "" : "|").append(values[i] == nullptr ? "-" : values[i]);
            static_cast<std::vector<std::string>*>(out)->push_back(row);
            return 0;
          },
          &rows, nullptr);
    sqlite3_close(database);
    return rows;
  }
  std::string path_;
};

TEST_F(Database, HoldsRowsOfTwoRecordings) {
  const Rows rows;
  auto database = SqliteIntervals::open(path_);
  ASSERT_TRUE(database) << database.error().what;
  RecordingInfo info;
  info.path = "perf.data";
  for (uint32_t number = 0; number < 2; ++number) {
    (*database)->begin_recording(number);
    (*database)->take(rows.sleep());
    (*database)->take(rows.wait());
    (*database)->take(rows.sleep());
    (*database)->end_recording(info);
  }
  ASSERT_TRUE((*database)->finish());
  EXPECT_EQ(query("SELECT count(*), sum(duration_ns) FROM intervals WHERE type = 'sleep'"),
            std::vector<std::string>{"4|1000"});
  // A thread has its last name; an interrupt stands beside it without a tid.
  EXPECT_EQ(query("SELECT recording, pid, hex(comm), kernel_thread FROM threads WHERE tid = 12 "
                  "ORDER BY id"),
            (std::vector<std::string>{"1|12|612C62220AEFBFBD|0", "2|12|612C62220AEFBFBD|0"}));
  EXPECT_EQ(query("SELECT recording, comm FROM threads WHERE tid IS NULL ORDER BY id"),
            (std::vector<std::string>{"1|[timer]", "2|[timer]"}));
  EXPECT_EQ(query("SELECT cause_id, class, cause FROM causes"),
            std::vector<std::string>{"pipe-read|ipc|Reading from a pipe"});
  EXPECT_EQ(query("SELECT recording, name, address, type FROM locks ORDER BY id"),
            (std::vector<std::string>{"1|mm, shared|0xffff888000000001|mutex",
                                      "2|mm, shared|0xffff888000000001|mutex"}));
  EXPECT_EQ(query("SELECT name FROM frames ORDER BY id"), rows.frames);
  EXPECT_EQ(query("SELECT caller, lock, holder FROM named_intervals WHERE type = 'wait'"),
            (std::vector<std::string>{"do_exit|mm, shared|-", "do_exit|mm, shared|-"}));
  EXPECT_EQ(query("PRAGMA user_version"), std::vector<std::string>{"1"});
  EXPECT_EQ(query("PRAGMA foreign_key_check"), std::vector<std::string>{});
}

TEST_F(Database, SaysWhyItCannotBe) {
  const auto opened = SqliteIntervals::open("/proc/no/such/folder/x.db");
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().what.find("/proc/no/such/folder/x.db"), std::string::npos);
}

// ---- explain

void fill(Explanation& explanation) {
  explanation.frames = {"schedule", "pipe_read"};
  explanation.place.frames = explanation.frames;
  explanation.place.cause = "Reading from a pipe";
  explanation.place.cause_id = "pipe-read";
  explanation.place.cause_class = "ipc";
  explanation.task = {"reader", 12, 12};
  explanation.other = {"wri\x1bter", 13, 13};
  IntervalRow& wait = explanation.wait;
  wait.start_ns = 2'000'000'000;
  wait.end_ns = 2'010'000'000;
  wait.full_ns = 10'000'000;
  wait.cpu = 1;
  wait.state = 'S';
  wait.task = Rows::task(0, 12, explanation.task.comm);
  wait.other = Rows::task(1, 13, explanation.other.comm);
  wait.place = &explanation.place;
  const auto step = [&](uint64_t from_us, uint64_t to_us, std::string_view what) -> ExplainedStep& {
    ExplainedStep& one = explanation.steps.emplace_back();
    one.start_ns = wait.start_ns + from_us * 1000;
    one.end_ns = wait.start_ns + to_us * 1000;
    one.what = what;
    one.task = explanation.other;
    one.cpu = 2;
    one.depth = 1;
    return one;
  };
  ExplainedStep& slept = step(0, 6000, "sleeping");
  slept.state = 'D';
  slept.cause = "Reading from a disk";
  slept.cause_id = "disk-read";
  slept.stack = {"io_schedule"};
  slept.by = StepTask{"[block device]", -1, -1};
  step(6000, 6100, "runnable").cause_id = "cpu-wait";
  step(6100, 6200, "unknown");
  step(6200, 10000, "running");
}

TEST(Explanation, TextAddsUp) {
  Explanation explanation;
  fill(explanation);
  Report report;
  report.with_totals = false;
  RenderOptions options;
  options.header = false;
  options.quiet = true;
  std::string text;
  ASSERT_TRUE(render_explanation(explanation, report, Format::text, options, 0, text));
  EXPECT_EQ(text,
            "reader/12 slept 10.000 ms: Reading from a pipe [pipe-read]\n"
            "  from 2.000000 to 2.010000, off CPU 1, state S\n"
            "  at schedule <- pipe_read\n"
            "  woken by wri\\x1bter/13\n"
            "\n"
            "          at        length  task           what it did\n"
            "       +0 ns      6.000 ms  wri\\x1bter/13  slept: Reading from a disk [disk-read]; "
            "woken by an interrupt [block device]\n"
            "   +6.000 ms    100.000 us  wri\\x1bter/13  waited for a CPU after its wakeup\n"
            "   +6.100 ms    100.000 us  wri\\x1bter/13  what it did is not known\n"
            "   +6.200 ms      3.800 ms  wri\\x1bter/13  ran on CPU 2\n"
            "              ------------\n"
            "                 10.000 ms                 in 4 steps\n");
}

TEST(Explanation, ShorterStepsAreSummedUp) {
  Explanation explanation;
  fill(explanation);
  Report report;
  report.with_totals = false;
  RenderOptions options;
  options.quiet = true;
  std::string text;
  ASSERT_TRUE(render_explanation(explanation, report, Format::text, options, 2, text));
  EXPECT_NE(text.find("   +6.000 ms    200.000 us  ...            2 shorter steps\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("                 10.000 ms                 in 4 steps\n"), std::string::npos)
      << text;
}

TEST(Explanation, JsonHasTheWaitAsInScript) {
  Explanation explanation;
  fill(explanation);
  Report report;
  report.schema = "perf-latency.explain.v1";
  report.with_totals = false;
  std::string text;
  ASSERT_TRUE(render_explanation(explanation, report, Format::json, {}, 0, text));
  const json root = json::parse(text);
  EXPECT_EQ(root["schema"], "perf-latency.explain.v1");
  EXPECT_EQ(root["wait"], json::parse(lines_of({explanation.wait}, {})));
  ASSERT_EQ(root["steps"].size(), 4u);
  EXPECT_EQ(root["steps"][0]["cause_id"], "disk-read");
  EXPECT_EQ(root["steps"][0]["by"], json::parse(R"({"tid":null,"comm":"[block device]"})"));
  EXPECT_EQ(root["steps"][3]["what"], "running");
  EXPECT_EQ(root["steps"][3]["cause_id"], nullptr);
  uint64_t sum = 0;
  for (const json& step : root["steps"])
    sum += step["end_ns"].get<uint64_t>() - step["start_ns"].get<uint64_t>();
  EXPECT_EQ(sum, 10'000'000u);
}

}  // namespace
}  // namespace perf_latency
