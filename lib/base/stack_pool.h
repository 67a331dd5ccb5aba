// SPDX-License-Identifier: GPL-2.0-only
// Interns call chains: equal chains of addresses have one StackId, and each is kept once.
//
// Several threads may intern at a time. Contents are compared, not only hashes, so two chains never
// share an id. view() is valid for ids that were handed to the caller's thread through any
// synchronisation, and stays valid as long as the pool. Which id a chain gets depends on timing:
// nothing that is printed may depend on it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ids.h"

namespace perf_latency {

class StackPool {
 public:
  StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  // `hash` must depend on the frames alone. Frames are innermost first.
  StackId intern(uint64_t hash, std::span<const uint64_t> frames);

  std::span<const uint64_t> view(StackId id) const {
    if (id.value >= size()) return {};
    const Entry& entry =
        chunks_[id.value / kChunk].load(std::memory_order_acquire)[id.value % kChunk];
    return {entry.frames, entry.length};
  }
  uint32_t size() const { return next_.load(std::memory_order_acquire); }

 private:
  static constexpr uint32_t kChunk = 4096;
  static constexpr uint32_t kMaxChunks = 16384;  // 67 million distinct stacks
  static constexpr size_t kShards = 16;

  struct Entry {
    const uint64_t* frames;
    uint32_t length;
  };
  struct Shard {
    std::mutex mutex;
    std::unordered_multimap<uint64_t, StackId> ids;
    std::vector<std::unique_ptr<uint64_t[]>> blocks;
    size_t block_left = 0;
  };

  StackId append(Shard& shard, std::span<const uint64_t> frames);
  static uint64_t* allocate(Shard& shard, size_t words);

  std::array<Shard, kShards> shards_;
  std::mutex append_mutex_;
  std::vector<std::atomic<Entry*>> chunks_;
  std::vector<std::unique_ptr<Entry[]>> chunk_owners_;
  std::atomic<uint32_t> next_{0};
};

}  // namespace perf_latency
