// SPDX-License-Identifier: GPL-2.0-only
#include "perfdata/input_stream.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace perf_latency {
namespace {

class MappedFile final : public InputStream {
 public:
  MappedFile(std::shared_ptr<const void> mapping, std::span<const std::byte> bytes,
             uint64_t offset) {
    owner_ = std::move(mapping);
    window_ = bytes;
    position_ = offset;
    dropped_ = bytes.data();
  }

  // The mapping of a file of many GB must not fill the memory that is counted as ours.
  void drop_behind() override {
    constexpr uint64_t kStep = 16u << 20;
    const auto behind = static_cast<uint64_t>(window_.data() - dropped_);
    if (behind < kStillUsed + kStep) return;
    const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    const uintptr_t from = (reinterpret_cast<uintptr_t>(dropped_) + page - 1) & ~(page - 1);
    ::madvise(reinterpret_cast<void*>(from), kStep, MADV_DONTNEED);
    dropped_ += kStep;
  }

 private:
  bool refill(size_t) override { return false; }

  const std::byte* dropped_ = nullptr;  // everything before was given back
};

// Blocks are handed on with the batches that lie in them, so each refill takes a new one and copies
// only the cut record at the old one's end.
class BlockReader final : public InputStream {
 public:
  explicit BlockReader(int fd) : fd_(fd) {}
  ~BlockReader() override { ::close(fd_); }
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;

 private:
  static constexpr size_t kBlockBytes = 1u << 20;

  // A block grows as bytes really come: a hostile size must not allocate what it promises.
  bool refill(size_t bytes) override {
    size_t have = window_.size();
    size_t block_bytes = have + kBlockBytes;
    auto block = std::make_shared_for_overwrite<std::byte[]>(block_bytes);
    if (have != 0) std::memcpy(block.get(), window_.data(), have);
    // Enough is enough once the wanted bytes are there: a live pipe must not stall.
    while (have < bytes && !ended_) {
      if (have == block_bytes) {
        block_bytes *= 2;
        auto larger = std::make_shared_for_overwrite<std::byte[]>(block_bytes);
        std::memcpy(larger.get(), block.get(), have);
        block = std::move(larger);
      }
      have += read_some(block.get() + have, block_bytes - have);
    }
    window_ = std::span<const std::byte>(block.get(), have);
    owner_ = std::move(block);
    return have >= bytes;
  }

  size_t read_some(std::byte* to, size_t bytes) {
    for (;;) {
      const ssize_t got = ::read(fd_, to, bytes);
      if (got > 0) return static_cast<size_t>(got);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) read_error_ = std::strerror(errno);
      ended_ = true;
      return 0;
    }
  }

  int fd_;
  bool ended_ = false;
};

}  // namespace

bool InputStream::skip(uint64_t bytes) {
  while (bytes != 0) {
    if (window_.empty() && !refill(1)) return false;
    const auto step = static_cast<size_t>(std::min<uint64_t>(bytes, window_.size()));
    advance(step);
    bytes -= step;
  }
  return true;
}

Result<std::unique_ptr<InputStream>> map_file(int fd, uint64_t offset, uint64_t size) {
  if (size == 0)
    return std::unique_ptr<InputStream>(
        std::make_unique<MappedFile>(nullptr, std::span<const std::byte>(), offset));
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t shift = offset % page;
  const size_t bytes = size + shift;
  void* at = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, static_cast<off_t>(offset - shift));
  if (at == MAP_FAILED) return make_error(std::string("cannot map the file: ") + strerror(errno));
  ::madvise(at, bytes, MADV_SEQUENTIAL);
  const std::shared_ptr<const void> mapping(at, [bytes](void* mapped) { ::munmap(mapped, bytes); });
  const std::span<const std::byte> span(static_cast<const std::byte*>(at) + shift, size);
  return std::unique_ptr<InputStream>(std::make_unique<MappedFile>(mapping, span, offset));
}

std::unique_ptr<InputStream> read_blocks(int fd) { return std::make_unique<BlockReader>(fd); }

}  // namespace perf_latency
