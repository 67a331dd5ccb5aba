// SPDX-License-Identifier: GPL-2.0-only
// Vectors of events that are used again: fresh memory for each batch costs more than decoding it.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "tracepoint/event.h"

namespace perf_latency {

class EventBuffers {
 public:
  using Buffer = std::vector<Event>;

  Buffer get() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return {};
    Buffer buffer = std::move(free_.back());
    free_.pop_back();
    return buffer;
  }
  void put(Buffer&& buffer) {
    buffer.clear();
    const std::lock_guard lock(mutex_);
    if (free_.size() < kKept) free_.push_back(std::move(buffer));
  }
  // Gives the buffer back when the last owner lets go.
  std::shared_ptr<const Buffer> share(Buffer&& buffer) {
    return {new Buffer(std::move(buffer)), [this](const Buffer* owned) {
              put(std::move(*const_cast<Buffer*>(owned)));
              delete owned;
            }};
  }

 private:
  static constexpr size_t kKept = 256;
  std::mutex mutex_;
  std::vector<Buffer> free_;
};

}  // namespace perf_latency
