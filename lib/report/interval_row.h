// SPDX-License-Identifier: GPL-2.0-only
// One interval as `script` hands it out, and who takes such rows: data only.
//
// Rows come in order of end_ns within a recording. All views and pointers are valid during the call
// alone, but for PlaceText and LockText, which live as long as the recording is being read; their ids
// are dense, from 0 in each recording, so that a taker can index what it made of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "report/report.h"

namespace perf_latency {

enum class RowKind : uint8_t { sleep, runnable, wait, hold, vmstat_sync };
inline constexpr size_t kRowKinds = 5;

constexpr std::string_view to_string(RowKind kind) {
  constexpr std::string_view kNames[kRowKinds] = {"sleep", "runnable", "wait", "hold",
                                                  "vmstat_sync"};
  return kNames[static_cast<size_t>(kind)];
}

// A task; known false: nobody, or not known who. An interrupt has a name ("[timer]") and no tid.
struct TaskText {
  static constexpr uint32_t kNoThread = UINT32_MAX;
  bool known = false;
  uint32_t thread = kNoThread;  // dense number of a thread's life; idle tasks and interrupts: none
  int32_t tid = -1;             // -1: unknown
  int32_t pid = -1;
  std::string_view comm;
};

// A call chain with all that is said about it.
struct PlaceText {
  uint32_t id = 0;
  std::span<const std::string> frames;       // kernel, innermost first
  std::span<const std::string> user_frames;  // where they were asked for
  std::string_view cause;                    // of sleeps
  std::string_view cause_id;
  std::string_view cause_class;
  std::string caller;  // of lock waits and holds
};

struct LockText {
  uint32_t id = 0;
  std::string name;     // "" when only the address is known
  std::string address;  // "0x…", "" when there is none
  std::string_view type;
};

struct IntervalRow {
  RowKind kind = RowKind::sleep;
  uint64_t start_ns = 0;  // clipped to --time
  uint64_t end_ns = 0;
  uint64_t full_ns = 0;  // length before clipping
  uint32_t cpu = 0;
  TaskText task;
  bool is_kernel_thread = false;
  bool open = false;          // still going on when the recording ended
  bool began_before = false;  // going on when the recording began
  const PlaceText* place = nullptr;
  std::optional<std::string_view> cgroup;
  // sleep, runnable
  char state = 0;
  bool preempted = false;         // runnable: taken off the CPU; else after a wakeup
  bool uncertain = false;         // events were lost meanwhile
  bool includes_waiting = false;  // sleep: the wait for a CPU is not known apart
  TaskText other;                 // sleep: the waker; preempted: who got the CPU;
                                  // wait: the holder; vmstat_sync: who had the CPU before
  // wait, hold
  const LockText* lock = nullptr;
  bool failed = false;
  bool contended = false;
  std::optional<uint64_t> spin_ns;
  std::optional<uint64_t> sleep_ns;
  std::optional<uint64_t> other_ns;  // for how long the holder held, or the other had the CPU
  // vmstat_sync
  std::string_view function;
  std::optional<uint64_t> queued_ns;
};

class IntervalTaker {
 public:
  virtual ~IntervalTaker() = default;
  virtual void begin_recording(uint32_t /*number*/) {}
  virtual void take(const IntervalRow& row) = 0;
  virtual void end_recording(const RecordingInfo&) {}
};

}  // namespace perf_latency
