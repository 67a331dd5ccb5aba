// SPDX-License-Identifier: GPL-2.0-only
#include "render/sqlite_intervals.h"

#include <sqlite3.h>

#include "render/escape.h"

namespace perf_latency {
namespace {

// Nothing of value is lost when a half-written database is: it is made anew from the recording.
constexpr const char* kSetup = R"sql(
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA cache_size = -65536;
PRAGMA threads = 4;
PRAGMA user_version = 1;
BEGIN;
CREATE TABLE recordings (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL,
  hostname TEXT, os_release TEXT, arch TEXT,
  cpus INTEGER, cmdline TEXT,
  start_ns INTEGER, end_ns INTEGER,
  samples INTEGER NOT NULL, lost INTEGER NOT NULL, complete INTEGER NOT NULL
);
CREATE TABLE threads (
  id INTEGER PRIMARY KEY,
  recording INTEGER NOT NULL REFERENCES recordings,
  pid INTEGER, tid INTEGER,
  comm TEXT NOT NULL,
  kernel_thread INTEGER NOT NULL
);
CREATE TABLE causes (
  id INTEGER PRIMARY KEY,
  cause_id TEXT NOT NULL, class TEXT NOT NULL, cause TEXT NOT NULL
);
CREATE TABLE frames (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE stacks (
  id INTEGER PRIMARY KEY,
  recording INTEGER NOT NULL REFERENCES recordings,
  caller TEXT
);
CREATE TABLE stack_frames (
  stack INTEGER NOT NULL REFERENCES stacks,
  position INTEGER NOT NULL,
  frame INTEGER NOT NULL REFERENCES frames,
  user INTEGER NOT NULL,
  PRIMARY KEY (stack, position)
) WITHOUT ROWID;
CREATE TABLE locks (
  id INTEGER PRIMARY KEY,
  recording INTEGER NOT NULL REFERENCES recordings,
  address TEXT, type TEXT NOT NULL, name TEXT
);
CREATE TABLE intervals (
  id INTEGER PRIMARY KEY,
  recording INTEGER NOT NULL REFERENCES recordings,
  type TEXT NOT NULL,
  start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL,
  cpu INTEGER NOT NULL,
  thread INTEGER REFERENCES threads,
  state TEXT,
  cause INTEGER REFERENCES causes,
  stack INTEGER REFERENCES stacks,
  waker INTEGER REFERENCES threads,
  preempted INTEGER,
  preempted_by INTEGER REFERENCES threads,
  lock INTEGER REFERENCES locks,
  holder INTEGER REFERENCES threads, holder_ns INTEGER,
  spin_ns INTEGER, sleep_ns INTEGER,
  failed INTEGER, contended INTEGER,
  function TEXT, queued_ns INTEGER,
  behind INTEGER REFERENCES threads, behind_ns INTEGER,
  open INTEGER NOT NULL, began_before INTEGER NOT NULL, uncertain INTEGER NOT NULL
);
)sql";

constexpr const char* kFinish = R"sql(
CREATE INDEX intervals_by_thread ON intervals (thread, start_ns);
CREATE INDEX intervals_by_time ON intervals (recording, end_ns);
CREATE INDEX intervals_by_length ON intervals (duration_ns);
CREATE INDEX intervals_by_cause ON intervals (cause) WHERE cause IS NOT NULL;
CREATE INDEX intervals_by_lock ON intervals (lock) WHERE lock IS NOT NULL;
CREATE INDEX threads_by_tid ON threads (tid);
CREATE VIEW named_intervals AS
  SELECT i.id, i.recording, i.type, i.start_ns, i.end_ns, i.duration_ns, i.cpu,
         t.pid, t.tid, t.comm, i.state, c.cause, c.cause_id, c.class, w.comm AS waker,
         p.comm AS preempted_by, l.name AS lock, l.address AS lock_addr, l.type AS lock_type,
         s.caller, h.comm AS holder, i.open
  FROM intervals i
  LEFT JOIN threads t ON t.id = i.thread
  LEFT JOIN causes c ON c.id = i.cause
  LEFT JOIN stacks s ON s.id = i.stack
  LEFT JOIN threads w ON w.id = i.waker
  LEFT JOIN threads p ON p.id = i.preempted_by
  LEFT JOIN locks l ON l.id = i.lock
  LEFT JOIN threads h ON h.id = i.holder;
COMMIT;
)sql";

constexpr const char* kInsertSql[] = {
    "INSERT INTO recordings VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
    "INSERT INTO threads VALUES (?,?,?,?,?,?)",
    "INSERT INTO causes VALUES (?,?,?,?)",
    "INSERT INTO frames VALUES (?,?)",
    "INSERT INTO stacks VALUES (?,?,?)",
    "INSERT INTO stack_frames VALUES (?,?,?,?)",
    "INSERT INTO locks VALUES (?,?,?,?,?)",
    "INSERT INTO intervals VALUES (NULL,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"};

template <typename T>
void grow(std::vector<T>& table, size_t index) {
  if (index >= table.size()) table.resize(index + index / 2 + 64);
}

}  // namespace

void SqliteIntervals::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }
void SqliteIntervals::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

// Binds the values of one row in their order; ends with run().
class SqliteIntervals::Values {
 public:
  Values(SqliteIntervals& owner, Insert insert)
      : owner_(owner), statement_(owner.inserts_[insert].get()) {}

  Values& null() {
    sqlite3_bind_null(statement_, ++at_);
    return *this;
  }
  // Text of the input may hold anything: what is no UTF-8 is replaced.
  Values& text(std::string_view value) {
    const std::string valid = valid_utf8(value);
    sqlite3_bind_text64(statement_, ++at_, valid.data(), valid.size(), SQLITE_TRANSIENT,
                        SQLITE_UTF8);
    return *this;
  }
  // A text that outlives the statement's step and is known to be ASCII.
  Values& constant(std::string_view value) {
    sqlite3_bind_text64(statement_, ++at_, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8);
    return *this;
  }
  Values& text_or_null(std::string_view value) { return value.empty() ? null() : text(value); }
  Values& number(uint64_t value) { return id(static_cast<int64_t>(value)); }
  Values& number(const std::optional<uint64_t>& value) { return value ? number(*value) : null(); }
  Values& id(int64_t value) {
    sqlite3_bind_int64(statement_, ++at_, value);
    return *this;
  }
  // 0: none.
  Values& reference(int64_t value) { return value == 0 ? null() : id(value); }
  Values& known(int32_t value) { return value < 0 ? null() : id(value); }

  void run() {
    if (owner_.error_.empty() && sqlite3_step(statement_) != SQLITE_DONE) owner_.fail();
    sqlite3_reset(statement_);
  }

 private:
  SqliteIntervals& owner_;
  sqlite3_stmt* statement_;
  int at_ = 0;
};

SqliteIntervals::~SqliteIntervals() = default;

Result<std::unique_ptr<SqliteIntervals>> SqliteIntervals::open(const std::string& path) {
  std::unique_ptr<SqliteIntervals> self(new SqliteIntervals());
  sqlite3* database = nullptr;
  const int opened =
      sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  self->database_.reset(database);
  if (opened != SQLITE_OK) return make_error(path + ": " + sqlite3_errstr(opened));
  self->run(kSetup);
  for (int i = 0; i < kCount && self->error_.empty(); ++i) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(database, kInsertSql[i], -1, &statement, nullptr) != SQLITE_OK)
      self->fail();
    self->inserts_[i].reset(statement);
  }
  if (!self->error_.empty()) return make_error(path + ": " + self->error_);
  return self;
}

void SqliteIntervals::fail() {
  if (error_.empty()) error_ = sqlite3_errmsg(database_.get());
}

void SqliteIntervals::run(const char* sql) {
  if (error_.empty() && sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    fail();
}

void SqliteIntervals::begin_recording(uint32_t number) {
  recording_ = int64_t{number} + 1;
  threads_.clear();
  others_.clear();
  other_ids_.clear();
  stack_written_.clear();
  cause_of_.clear();
  lock_written_.clear();
}

// Threads get their numbers at once and are written at the end; those that are no threads of a thread
// table are numbered from the other side.
int64_t SqliteIntervals::thread(const TaskText& task, bool kernel) {
  if (!task.known) return 0;
  if (task.thread == TaskText::kNoThread) return other_thread(task);
  grow(threads_, task.thread);
  ThreadInfo& info = threads_[task.thread];
  info.seen = true;
  info.kernel = info.kernel || kernel;
  info.tid = task.tid;
  info.pid = task.pid;
  if (info.comm != task.comm) info.comm = task.comm;
  return first_thread_ + 1 + int64_t{task.thread} * 2;
}

int64_t SqliteIntervals::other_thread(const TaskText& task) {
  std::string key(task.comm);
  key += '/' + std::to_string(task.tid);
  const auto [found, is_new] = other_ids_.try_emplace(key, static_cast<int64_t>(others_.size()));
  if (is_new) others_.push_back({true, true, task.tid, task.pid, std::string(task.comm)});
  return first_thread_ + 2 + found->second * 2;
}

void SqliteIntervals::write_threads() {
  int64_t last = first_thread_;
  const auto write = [&](int64_t id, const ThreadInfo& info) {
    if (!info.seen) return;
    Values(*this, kThread)
        .id(id)
        .id(recording_)
        .known(info.pid)
        .known(info.tid)
        .text(info.comm)
        .id(info.kernel)
        .run();
    last = std::max(last, id);
  };
  for (size_t i = 0; i < threads_.size(); ++i)
    write(first_thread_ + 1 + static_cast<int64_t>(i) * 2, threads_[i]);
  for (size_t i = 0; i < others_.size(); ++i)
    write(first_thread_ + 2 + static_cast<int64_t>(i) * 2, others_[i]);
  first_thread_ = last;
}

int64_t SqliteIntervals::cause(const PlaceText& place) {
  if (place.cause.empty()) return 0;
  grow(cause_of_, place.id);
  int64_t& known = cause_of_[place.id];
  if (known != 0) return known;
  std::string key(place.cause_id);
  key += '\n';
  key += place.cause;
  const auto [found, is_new] = causes_.try_emplace(key, static_cast<int64_t>(causes_.size()) + 1);
  if (is_new)
    Values(*this, kCause)
        .id(found->second)
        .text(place.cause_id)
        .text(place.cause_class)
        .text(place.cause)
        .run();
  return known = found->second;
}

int64_t SqliteIntervals::frame(const std::string& name) {
  const auto [found, is_new] = frames_.try_emplace(valid_utf8(name), frames_.size() + 1);
  if (is_new) Values(*this, kFrame).id(found->second).text(name).run();
  return found->second;
}

int64_t SqliteIntervals::stack(const PlaceText& place) {
  if (place.frames.empty() && place.user_frames.empty()) return 0;
  const int64_t id = first_stack_ + 1 + place.id;
  grow(stack_written_, place.id);
  if (stack_written_[place.id]) return id;
  stack_written_[place.id] = true;
  Values(*this, kStack).id(id).id(recording_).text_or_null(place.caller).run();
  int64_t position = 0;
  for (const std::string& name : place.frames)
    Values(*this, kStackFrame).id(id).id(position++).id(frame(name)).id(0).run();
  for (const std::string& name : place.user_frames)
    Values(*this, kStackFrame).id(id).id(position++).id(frame(name)).id(1).run();
  return id;
}

int64_t SqliteIntervals::lock(const LockText& lock) {
  const int64_t id = first_lock_ + 1 + lock.id;
  grow(lock_written_, lock.id);
  if (lock_written_[lock.id]) return id;
  lock_written_[lock.id] = true;
  Values(*this, kLock)
      .id(id)
      .id(recording_)
      .text_or_null(lock.address)
      .text(lock.type)
      .text_or_null(lock.name)
      .run();
  return id;
}

void SqliteIntervals::take(const IntervalRow& row) {
  if (!error_.empty()) return;
  const bool sleep = row.kind == RowKind::sleep;
  const bool runnable = row.kind == RowKind::runnable;
  const bool wait = row.kind == RowKind::wait;
  const bool hold = row.kind == RowKind::hold;
  const int64_t task = thread(row.task, row.is_kernel_thread);
  const int64_t other = thread(row.other, false);
  const int64_t cause_id = row.place == nullptr ? 0 : cause(*row.place);
  const int64_t stack_id = row.place == nullptr ? 0 : stack(*row.place);
  const int64_t lock_id = row.lock == nullptr ? 0 : lock(*row.lock);
  Values values(*this, kInterval);
  values.id(recording_).constant(to_string(row.kind));
  values.number(row.start_ns).number(row.end_ns).number(row.end_ns - row.start_ns).id(row.cpu);
  values.reference(task);
  if (sleep || runnable)
    values.text(std::string_view(&row.state, 1));
  else
    values.null();
  values.reference(cause_id).reference(stack_id).reference(sleep ? other : 0);
  runnable ? values.id(row.preempted) : values.null();
  values.reference(runnable ? other : 0).reference(lock_id).reference(wait ? other : 0);
  values.number(wait ? row.other_ns : std::nullopt).number(row.spin_ns).number(row.sleep_ns);
  wait ? values.id(row.failed) : values.null();
  hold ? values.id(row.contended) : values.null();
  values.text_or_null(row.function).number(row.queued_ns);
  const bool work = row.kind == RowKind::vmstat_sync;
  values.reference(work ? other : 0).number(work ? row.other_ns : std::nullopt);
  values.id(row.open).id(row.began_before).id(row.uncertain).run();
}

void SqliteIntervals::end_recording(const RecordingInfo& info) {
  std::string cmdline;
  for (const std::string& word : info.cmdline)
    cmdline.append(cmdline.empty() ? "" : " ").append(word);
  Values(*this, kRecording)
      .id(recording_)
      .text(info.path)
      .text_or_null(info.hostname)
      .text_or_null(info.os_release)
      .text_or_null(info.arch)
      .number(info.cpus)
      .text_or_null(cmdline)
      .number(info.start_ns)
      .number(info.end_ns)
      .number(info.samples)
      .number(info.lost)
      .id(info.complete)
      .run();
  write_threads();
  first_stack_ += static_cast<int64_t>(stack_written_.size());
  first_lock_ += static_cast<int64_t>(lock_written_.size());
}

Result<void> SqliteIntervals::finish() {
  run(kFinish);
  if (!error_.empty()) return make_error("writing the database: " + error_);
  for (auto& insert : inserts_) insert.reset();
  if (sqlite3_close(database_.release()) != SQLITE_OK)
    return make_error("writing the database: it could not be closed");
  return {};
}

}  // namespace perf_latency
