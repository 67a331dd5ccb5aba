// SPDX-License-Identifier: GPL-2.0-only
// Keeps the user stack dumps of sleeps from their decoding to their unwinding.
//
// Bounded by the sleeps that are open or still being sorted: take() frees the place for the next one.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "tracepoint/event.h"

namespace perf_latency {

class DumpStore {
 public:
  uint32_t put(std::unique_ptr<UserDump> dump) {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      dumps_.push_back(std::move(dump));
      return static_cast<uint32_t>(dumps_.size() - 1);
    }
    const uint32_t index = free_.back();
    free_.pop_back();
    dumps_[index] = std::move(dump);
    return index;
  }
  std::unique_ptr<UserDump> take(uint32_t index) {
    const std::lock_guard lock(mutex_);
    if (index >= dumps_.size() || dumps_[index] == nullptr) return nullptr;
    free_.push_back(index);
    return std::move(dumps_[index]);
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<UserDump>> dumps_;
  std::vector<uint32_t> free_;
};

}  // namespace perf_latency
