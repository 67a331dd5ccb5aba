// SPDX-License-Identifier: GPL-2.0-only
// Interns byte strings: equal strings have one StringId, and each is kept once.
//
// Safe to use from several threads: intern() and view() take a lock, so the hot path keeps the ids
// it has seen. A view stays valid as long as the pool.
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/ids.h"

namespace perf_latency {

class StringPool {
 public:
  StringPool() { intern({}); }
  StringPool(const StringPool&) = delete;
  StringPool& operator=(const StringPool&) = delete;

  static constexpr StringId kEmpty{0};

  StringId intern(std::string_view text) {
    const std::lock_guard lock(mutex_);
    const auto found = ids_.find(text);
    if (found != ids_.end()) return found->second;
    const StringId id{static_cast<uint32_t>(strings_.size())};
    strings_.emplace_back(text);
    ids_.emplace(strings_.back(), id);
    return id;
  }

  std::string_view view(StringId id) const {
    const std::lock_guard lock(mutex_);
    return id.value < strings_.size() ? std::string_view(strings_[id.value]) : std::string_view();
  }

 private:
  mutable std::mutex mutex_;
  std::deque<std::string> strings_;
  std::unordered_map<std::string_view, StringId> ids_;
};

}  // namespace perf_latency
