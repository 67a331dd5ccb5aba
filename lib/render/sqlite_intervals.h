// SPDX-License-Identifier: GPL-2.0-only
// Intervals as an SQLite database: the format `sqlite` of `script`.
//
// Schema: Documentation/perf-latency-script.txt, "SQLITE". Everything is one transaction; indexes are made
// at the end. A statement that fails (a full disk) stops the writing, and finish() says why. Threads are
// written at the end of a recording, under the last name that they had.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "report/interval_row.h"

struct sqlite3;
struct sqlite3_stmt;

namespace perf_latency {

class SqliteIntervals final : public IntervalTaker {
 public:
  // `path`: a file that is empty, or not there.
  static Result<std::unique_ptr<SqliteIntervals>> open(const std::string& path);
  ~SqliteIntervals() override;
  SqliteIntervals(const SqliteIntervals&) = delete;
  SqliteIntervals& operator=(const SqliteIntervals&) = delete;

  void begin_recording(uint32_t number) override;
  void take(const IntervalRow& row) override;
  void end_recording(const RecordingInfo& info) override;

  // Makes the indexes and ends the transaction.
  Result<void> finish();

 private:
  enum Insert {
    kRecording,
    kThread,
    kCause,
    kFrame,
    kStack,
    kStackFrame,
    kLock,
    kInterval,
    kCount
  };
  struct Close {
    void operator()(sqlite3* database) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  struct ThreadInfo {
    bool seen = false;
    bool kernel = false;
    int32_t tid = -1;
    int32_t pid = -1;
    std::string comm;
  };
  class Values;

  SqliteIntervals() = default;
  void run(const char* sql);
  void fail();
  int64_t thread(const TaskText& task, bool kernel);
  int64_t other_thread(const TaskText& task);
  int64_t cause(const PlaceText& place);
  int64_t stack(const PlaceText& place);
  int64_t frame(const std::string& name);
  int64_t lock(const LockText& lock);
  void write_threads();

  std::unique_ptr<sqlite3, Close> database_;
  std::unique_ptr<sqlite3_stmt, Finalize> inserts_[kCount];
  std::string error_;
  int64_t recording_ = 0;
  // Rows of this recording begin behind those of the ones before.
  int64_t first_thread_ = 0;
  int64_t first_stack_ = 0;
  int64_t first_lock_ = 0;
  std::vector<ThreadInfo> threads_;                     // by TaskText::thread
  std::vector<ThreadInfo> others_;                      // idle tasks and interrupts
  std::unordered_map<std::string, int64_t> other_ids_;  // by name and tid; into others_
  std::vector<bool> stack_written_;                     // by PlaceText::id
  std::vector<int64_t> cause_of_;                       // by PlaceText::id; 0: not known yet
  std::vector<bool> lock_written_;                      // by LockText::id
  std::unordered_map<std::string, int64_t> causes_;     // by id and sentence
  std::unordered_map<std::string, int64_t> frames_;
};

}  // namespace perf_latency
