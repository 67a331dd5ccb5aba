// SPDX-License-Identifier: GPL-2.0-only
// A decoded record: small, fixed size, no pointers into the input.
//
// Records become events before they are sorted, so that the sorter holds 64 bytes an event whatever
// the recording carries, and can put them aside on disk. Times are ns of the recording's clock; time 0
// means that the record describes what was so before the recording (synthesized by perf).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/ids.h"

namespace perf_latency {

enum class EventKind : uint8_t {
  none,  // counted, not used
  // sched
  sched_switch,
  sched_waking,
  sched_wakeup,
  sched_wakeup_new,
  sched_process_fork,
  sched_process_exec,
  sched_process_exit,
  sched_migrate_task,
  sched_stat_sleep,
  sched_stat_blocked,
  task_rename,
  // lock
  contention_begin,
  contention_end,
  lock_acquire,
  lock_contended,
  lock_acquired,
  lock_release,
  mmap_lock_start_locking,
  mmap_lock_acquire_returned,
  mmap_lock_released,
  // cgroup rstat: the global lock, the per-CPU one, and the latter's fast path
  rstat_lock_contended,
  rstat_locked,
  rstat_unlock,
  rstat_cpu_lock_contended,
  rstat_cpu_locked,
  rstat_cpu_unlock,
  rstat_cpu_lock_contended_fastpath,
  rstat_cpu_locked_fastpath,
  rstat_cpu_unlock_fastpath,
  // workqueue and timer
  workqueue_queue_work,
  workqueue_activate_work,
  workqueue_execute_start,
  workqueue_execute_end,
  timer_start,
  timer_cancel,
  timer_expire_entry,
  tick_stop,
  // irq
  irq_handler_entry,
  irq_handler_exit,
  softirq_raise,
  softirq_entry,
  softirq_exit,
  cpu_sample,  // cpu-clock, cycles and the like
  // records
  record_lost,
  record_lost_samples,
  record_comm,
  record_fork,
  record_exit,
  record_mmap,
  record_ksymbol,
  record_cgroup,
  record_switch,
  record_callchain_deferred,
  count_
};

inline constexpr uint8_t kEventPreempted = 1;  // sched_switch: prev was preempted
inline constexpr uint8_t kEventExec = 2;       // record_comm: because of an exec
inline constexpr uint8_t kEventOut = 4;        // record_switch: the task leaves the CPU
inline constexpr uint8_t kEventKernel =
    8;  // record_mmap: of the kernel; cpu_sample: ip in the kernel
inline constexpr uint8_t kEventFailed = 16;  // sched_wakeup with success 0; mmap_lock not acquired
inline constexpr uint8_t kEventWrite = 32;   // mmap_lock: for writing; rstat: contended
inline constexpr uint8_t kEventChain = 64;   // the sample has a callchain field
inline constexpr uint8_t kEventDump = 128;   // user_stack is an index into DumpStore

// A memory map; its event owns it, the consumer deletes it.
struct MapRecord {
  uint64_t start = 0;
  uint64_t length = 0;
  uint64_t page_offset = 0;
  uint32_t protection = 0;
  bool data = false;  // not executable
  std::string name;
  std::vector<uint8_t> build_id;
};

// The user registers and stack of a sleep, to be unwound; in the recording's byte order.
struct UserDump {
  uint64_t abi = 0;
  uint64_t mask = 0;
  std::vector<uint64_t> regs;
  std::vector<std::byte> stack;
};

struct Event {
  Event() : words{} {}

  uint64_t time_ns = 0;
  uint32_t cpu = 0;
  EventKind kind = EventKind::none;
  uint8_t flags = 0;
  uint8_t state = 0;  // sched_switch: the letter of prev_state
  uint8_t reserved = 0;
  int32_t pid = -1;  // of the task that was running, as perf saw it (through its pid namespace)
  int32_t tid = -1;  // the same; tracepoints: the kernel's own tid (common_pid)
  StackId stack;     // kernel frames
  StackId user_stack;
  union {
    uint64_t words[3];
    struct {
      int32_t prev_tid;
      int32_t next_tid;
      StringId prev_comm;
      StringId next_comm;
      int16_t prev_prio;
      int16_t next_prio;
      uint32_t deferred;  // names the deferred user chain (fold_cookie); 0: none
    } sched_switch;
    struct {
      int32_t tid;
      StringId comm;
      int32_t target_cpu;
      int16_t prio;
      uint16_t reserved;
    } wakeup;  // waking, wakeup, wakeup_new; migrate_task: target_cpu is where it goes
    struct {
      int32_t tid;
      StringId comm;
      uint64_t delay_ns;
    } delay;  // sched_stat_*
    struct {
      int32_t parent_tid;
      int32_t child_tid;
      StringId child_comm;
      int32_t parent_pid;  // record_fork only: the processes
      int32_t child_pid;
    } fork;
    struct {
      int32_t tid;
      int32_t pid;
      StringId comm;
      int32_t old_tid;
    } task;  // exec, exit, rename, comm
    struct {
      uint64_t address;
      uint32_t flags;
      int32_t ret;
      StringId name;
    } lock;
    struct {
      uint64_t cgroup;
      int32_t root;
      int32_t level;
      int32_t cpu;
    } rstat;
    struct {
      uint64_t work;
      uint64_t function;
      StringId workqueue;
      int32_t cpu;
    } work;
    struct {
      uint64_t timer;
      uint64_t function;
      uint64_t expires;
    } timer;
    struct {
      uint32_t dependency;
      uint32_t success;
    } tick;
    struct {
      uint32_t number;
      StringId name;
    } irq;
    struct {
      uint64_t ip;
      uint64_t period;
      uint32_t event;
    } sample;
    struct {
      uint64_t id;
      uint64_t lost;
    } lost;
    struct {
      uint32_t cookie;  // record_callchain_deferred: user_stack is the chain, folded as above
    } deferred;
    struct {
      int32_t tid;
      int32_t pid;
    } other_task;  // record_switch: the next or the previous task, if known
    struct {
      uint64_t id;
      StringId path;
    } cgroup_path;
    struct {
      MapRecord* map;
      int32_t pid;
    } map;
    struct {
      uint64_t address;
      uint32_t length;
      uint32_t unregister;
      StringId name;
    } ksymbol;
  };
  uint64_t cgroup = 0;  // of the running task; 0 when the file does not tell
};

// The cookie that joins a sample with the user chain which the kernel writes when the task returns to
// user mode (6.19, kernel/unwind/deferred.c): CPU and counter, unique for a thread for long enough.
inline uint32_t fold_cookie(uint64_t cookie) {
  const auto folded = static_cast<uint32_t>(cookie ^ (cookie >> 32) * 0x9e3779b1u);
  return folded != 0 ? folded : 1;
}

static_assert(sizeof(Event) == 64);
static_assert(std::is_trivially_copyable_v<Event>);

}  // namespace perf_latency
