// SPDX-License-Identifier: GPL-2.0-only
// Blocks of bytes that are used again: fresh memory costs a page fault for each 4 KiB.
//
// get() may be called by one thread at a time; the last owner of a block may be any thread. The block
// that came back last goes out first: it is the one that is still in a cache. Blocks outlive the pool.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace perf_latency {

class BlockPool {
 public:
  using Block = std::shared_ptr<std::byte[]>;

  explicit BlockPool(size_t block_bytes) : block_bytes_(block_bytes) {}

  size_t block_bytes() const { return block_bytes_; }

  // A block of `bytes`, with any content. Only those of block_bytes() are kept.
  Block get(size_t bytes) {
    if (bytes != block_bytes_) return std::make_shared_for_overwrite<std::byte[]>(bytes);
    std::unique_ptr<std::byte[]> block = free_->take();
    if (block == nullptr) block = std::make_unique_for_overwrite<std::byte[]>(bytes);
    return {block.release(),
            [free = free_](std::byte* owned) { free->give(std::unique_ptr<std::byte[]>(owned)); }};
  }

 private:
  class Free {
   public:
    std::unique_ptr<std::byte[]> take() {
      const std::lock_guard lock(mutex_);
      if (blocks_.empty()) return nullptr;
      auto block = std::move(blocks_.back());
      blocks_.pop_back();
      return block;
    }
    void give(std::unique_ptr<std::byte[]> block) {
      const std::lock_guard lock(mutex_);
      if (blocks_.size() < kKept) blocks_.push_back(std::move(block));
    }

   private:
    static constexpr size_t kKept = 16;
    std::mutex mutex_;
    std::vector<std::unique_ptr<std::byte[]>> blocks_;
  };

  size_t block_bytes_;
  std::shared_ptr<Free> free_ = std::make_shared<Free>();
};

}  // namespace perf_latency
