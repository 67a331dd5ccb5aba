// SPDX-License-Identifier: GPL-2.0-only
// One recording from start to end: events, readers, the file or files.
//
// Order of calls: open(), start(), run() until it returns, finish(). The caller starts the command
// itself, between start() and run(), and prints everything.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "record/event_list.h"
#include "record/kernel_maps.h"
#include "record/options.h"
#include "record/output.h"
#include "record/reader.h"
#include "record/recording_file.h"
#include "record/task_filter.h"

namespace perf_latency {

enum class StopReason { asked, duration, max_size, output_failed };

struct RecordSummary {
  OutputTotals totals;
  uint64_t lost_samples = 0;  // by the kernel's count for each event
  uint64_t file_bytes = 0;    // of data, over all files
  std::vector<std::string> files;
  uint64_t recorder_cpu_ns = 0;
  uint64_t wall_ns = 0;
  std::string priority;
  uint64_t ring_bytes = 0;
  size_t readers = 0;
  std::optional<Error> output_error;
  bool reader_gone = false;  // a pipe that nobody reads any more
};

class RecordSession {
 public:
  // `command` is the pid of the command that waits to be started, or 0.
  static Result<std::unique_ptr<RecordSession>> open(RecordOptions options, pid_t command);
  ~RecordSession();

  // One sentence each, for stderr.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // Creates the file, writes what runs already, and turns the events on (unless delayed).
  Result<void> start();
  // Returns when `stop_fd` is readable, or for one of the other reasons.
  Result<StopReason> run(int stop_fd);
  // Asks for a new file (--switch-output); may be called from a signal handler.
  void request_switch();
  Result<RecordSummary> finish();

 private:
  explicit RecordSession(RecordOptions options) : options_(std::move(options)) {}

  Result<void> open_events();
  Result<void> open_system_events(bool& denied);
  Result<void> open_task_events(const std::string& reason);
  Result<void> choose_clock();
  Result<void> choose_tasks(const Tracefs& tracefs);
  uint64_t wanted_ring_bytes() const;
  Result<void> map_rings();
  void make_readers();
  Result<void> enable();
  void notice_progress();
  Result<void> switch_file();
  Result<void> end_file(Output::Finished finished, const std::string& path);
  std::vector<std::byte> new_losses(OutputTotals& totals);

  RecordOptions options_;
  std::vector<std::string> warnings_;
  KernelSupport support_;
  AttrOptions attr_options_;
  std::vector<ChosenEvent> chosen_;
  pid_t command_ = 0;
  std::vector<uint32_t> target_cpus_;
  std::vector<uint32_t> isolated_;
  FileContents contents_;
  std::unique_ptr<EventList> events_;
  std::unique_ptr<TaskFilter> filter_;
  std::unique_ptr<Output> output_;
  std::unique_ptr<ReaderPool> readers_;
  int wake_fd_ = -1;
  std::atomic<bool> switch_requested_ = false;
  std::string current_path_;
  bool enabled_ = false;
  uint64_t started_ns_ = 0;
  uint64_t stopped_ns_ = 0;
  uint64_t started_cpu_ns_ = 0;
  std::map<uint64_t, uint64_t> losses_written_;  // by event id, over all files
  std::map<std::string, uint32_t> maps_;         // executable files that are mapped
  RecordSummary summary_;
};

// A power of two: at most 1/64 of the memory over all CPUs, and at most 16 MiB each.
uint64_t default_ring_bytes(uint64_t memory_bytes, size_t cpus);

}  // namespace perf_latency
