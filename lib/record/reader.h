// SPDX-License-Identifier: GPL-2.0-only
// The threads that empty the ring buffers into the output.
//
// A reader sleeps until one of its rings has wakeup_bytes or kIdlePass has gone by, then empties all
// its rings once: whole runs of up to kMaxChunkBytes, compressed straight from the ring's memory.
// Readers stay off isolated and nohz_full CPUs: those are what people measure.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "record/chunk_encoder.h"
#include "record/output.h"
#include "record/ring.h"
#include "record/task_filter.h"

namespace perf_latency {

struct ReaderPlan {
  std::vector<size_t> rings;   // indexes
  std::vector<uint32_t> cpus;  // where the reader may run; empty: anywhere
};

// One reader for each `cpus_per_reader` rings of a NUMA node, running on that node's CPUs that are not
// `isolated`. `node_of_cpu` gives 0 for CPUs it does not know.
std::vector<ReaderPlan> plan_readers(const std::vector<uint32_t>& ring_cpus,
                                     const std::map<uint32_t, uint32_t>& node_of_cpu,
                                     const std::vector<uint32_t>& isolated, size_t cpus_per_reader);

struct ReaderOptions {
  int level = 1;                 // zstd; 0: no compression
  std::optional<pid_t> maps_of;  // whose mapped files are collected; none: everybody's
};

class ReaderPool {
 public:
  // What it refers to outlives the pool. `filter` may be null; with one there must be one reader.
  // `on_progress` is called from a reader after each pass, and when the output fails.
  ReaderPool(std::vector<Ring>& rings, std::vector<ReaderPlan> plans, const ReaderOptions& options,
             Output& output, TaskFilter* filter, std::function<void()> on_progress);
  ~ReaderPool();

  Result<void> start();
  // Returns when each ring has been read to where it was, or after an error.
  void drain();
  // Empties the rings a last time and ends the threads; the events must be disabled by then.
  void stop();

  // The first error of the output.
  std::optional<Error> error() const;
  // "SCHED_FIFO 1", "nice -20", "nice 0": what the readers got.
  std::string priority() const;
  // Paths of executable mappings in the records, each with a process that had it.
  std::map<std::string, uint32_t> maps() const;

 private:
  struct Thread;
  void wake_all();
  void run(Thread& thread);
  bool pass(Thread& thread);
  bool pass_filtered(Thread& thread);
  bool flush_if_due(Thread& thread);
  bool emit(Thread& thread, std::span<const std::byte> records, uint32_t cpu,
            const RecordTally& tally);
  bool flush_small_runs(Thread& thread);
  bool write(std::span<const std::byte> bytes);
  bool end_pass(Thread& thread, uint64_t round);
  void note_drained(Thread& thread, uint64_t drains);
  void take_priority();
  void collect(std::span<const std::byte> records);
  void fail(const Error& error);

  std::vector<Ring>& rings_;
  std::vector<ReaderPlan> plans_;
  ReaderOptions options_;
  Output& output_;
  TaskFilter* filter_;
  std::function<void()> on_progress_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::atomic<bool> stopping_ = false;
  std::atomic<uint64_t> drains_ = 0;  // how often drain() was called

  mutable std::mutex mutex_;
  std::condition_variable drained_;
  std::optional<Error> error_;
  std::string priority_;
  std::map<std::string, uint32_t> maps_;
};

}  // namespace perf_latency
