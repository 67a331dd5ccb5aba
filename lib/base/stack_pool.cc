// SPDX-License-Identifier: GPL-2.0-only
#include "base/stack_pool.h"

#include <algorithm>

#include "base/result.h"

namespace perf_latency {

StackPool::StackPool() : chunks_(kMaxChunks) {}

StackId StackPool::intern(uint64_t hash, std::span<const uint64_t> frames) {
  Shard& shard = shards_[hash % kShards];
  const std::lock_guard lock(shard.mutex);
  const auto [begin, end] = shard.ids.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const auto known = view(it->second);
    if (std::equal(known.begin(), known.end(), frames.begin(), frames.end())) return it->second;
  }
  const StackId id = append(shard, frames);
  shard.ids.emplace(hash, id);
  return id;
}

StackId StackPool::append(Shard& shard, std::span<const uint64_t> frames) {
  uint64_t* copy = allocate(shard, frames.size());
  std::copy(frames.begin(), frames.end(), copy);
  const std::lock_guard lock(append_mutex_);
  const uint32_t index = next_.load(std::memory_order_relaxed);
  PL_CHECK(index < kChunk * kMaxChunks);
  if (index % kChunk == 0) {
    chunk_owners_.push_back(std::make_unique<Entry[]>(kChunk));
    chunks_[index / kChunk].store(chunk_owners_.back().get(), std::memory_order_release);
  }
  chunk_owners_[index / kChunk][index % kChunk] = {copy, static_cast<uint32_t>(frames.size())};
  next_.store(index + 1, std::memory_order_release);
  return StackId{index};
}

uint64_t* StackPool::allocate(Shard& shard, size_t words) {
  constexpr size_t kBlockWords = 8192;
  if (words == 0) return nullptr;
  if (words > shard.block_left) {
    const size_t block = std::max(words, kBlockWords);
    shard.blocks.push_back(std::make_unique<uint64_t[]>(block));
    shard.block_left = block;
  }
  uint64_t* at = shard.blocks.back().get() + (std::max(words, kBlockWords) - shard.block_left);
  shard.block_left -= words;
  return at;
}

}  // namespace perf_latency
