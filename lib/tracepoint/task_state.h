// SPDX-License-Identifier: GPL-2.0-only
// prev_state of sched_switch, read as the recording's own kernel meant it.
//
// Letters, mask and the "preempted" bit differ by kernel version (include/trace/events/sched.h): they
// are taken from the event's own print format, never from a constant.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace perf_latency {

struct TaskState {
  char letter = 'R';       // S D T t X Z P I …; R = still runnable; ? = a bit without a name
  bool preempted = false;  // the kernel says that it was preempted ("R+")

  bool runnable() const { return letter == 'R'; }
  // Dead or a zombie: the task will not run again.
  bool ends_life() const { return letter == 'X' || letter == 'Z' || letter == 'x'; }
};

class TaskStateTable {
 public:
  struct Bit {
    uint64_t value;
    char letter;
  };

  // Reads the print format of sched_switch.
  static Result<TaskStateTable> parse(std::string_view print_format);

  TaskState decode(uint64_t prev_state) const {
    return prev_state < known_.size() ? known_[prev_state] : work_out(prev_state);
  }

  // The bits that mean that the task sleeps (a filter `prev_state & mask` keeps the sleeps alone).
  uint64_t sleep_mask() const { return mask_; }
  uint64_t preempted_bit() const { return preempted_bit_; }

 private:
  TaskState work_out(uint64_t prev_state) const;

  std::vector<Bit> bits_;
  uint64_t mask_ = 0;
  uint64_t preempted_bit_ = 0;          // 0: this kernel does not tell
  std::array<TaskState, 512> known_{};  // all values of today's kernels
};

}  // namespace perf_latency
