// SPDX-License-Identifier: GPL-2.0-only
#include "perfdata/input_stream.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "perfdata/block_pool.h"

namespace perf_latency {
namespace {

// Blocks are handed on with the batches that lie in them, so each refill takes another one and copies
// only the cut record at the old one's end.
class BlockInput : public InputStream {
 public:
  BlockInput(int fd, size_t block_bytes) : fd_(fd), pool_(block_bytes) {}
  ~BlockInput() override { set_fd(-1); }
  BlockInput(const BlockInput&) = delete;
  BlockInput& operator=(const BlockInput&) = delete;

 protected:
  // As read(2): 0 at the end, -1 with errno.
  virtual ssize_t read_some(std::byte* to, size_t bytes) = 0;
  int fd() const { return fd_; }
  void set_fd(int fd) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }
  void restart_at(uint64_t position) {
    position_ = position;
    window_ = {};
  }

  // A block grows as bytes really come: a hostile size must not allocate what it promises.
  bool refill(size_t bytes) override {
    size_t have = window_.size();
    size_t block_bytes = std::max(pool_.block_bytes(), 2 * have);
    auto block = pool_.get(block_bytes);
    if (have != 0) std::memcpy(block.get(), window_.data(), have);
    // Enough is enough once the wanted bytes are there: a live pipe must not stall.
    while (have < bytes && !ended_) {
      if (have == block_bytes) {
        block_bytes *= 2;
        auto larger = pool_.get(block_bytes);
        std::memcpy(larger.get(), block.get(), have);
        block = std::move(larger);
      }
      have += read_or_end(block.get() + have, block_bytes - have);
    }
    window_ = std::span<const std::byte>(block.get(), have);
    owner_ = std::move(block);
    return have >= bytes;
  }

 private:
  size_t read_or_end(std::byte* to, size_t bytes) {
    for (;;) {
      const ssize_t got = read_some(to, bytes);
      if (got > 0) return static_cast<size_t>(got);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) read_error_ = std::strerror(errno);
      ended_ = true;
      return 0;
    }
  }

  int fd_;
  BlockPool pool_;
  bool ended_ = false;
};

class PipeInput final : public BlockInput {
 public:
  explicit PipeInput(int fd) : BlockInput(fd, kBlockBytes) {}

 private:
  // As much as a pipe holds at most by default (fs.pipe-max-size).
  static constexpr size_t kBlockBytes = 1u << 20;

  ssize_t read_some(std::byte* to, size_t bytes) override { return ::read(fd(), to, bytes); }
};

class FileInput final : public BlockInput {
 public:
  FileInput(int fd, std::string path, uint64_t offset, uint64_t size)
      : BlockInput(fd, kBlockBytes), path_(std::move(path)), next_(offset), end_(offset + size) {
    restart_at(offset);
  }

  bool skip(uint64_t bytes) override {
    if (bytes <= window_.size()) {
      advance(static_cast<size_t>(bytes));
      return true;
    }
    const uint64_t behind = bytes - window_.size();
    if (behind > end_ - next_) return false;
    next_ += behind;
    restart_at(next_);
    return true;
  }

 private:
  // One batch of records: stays in a core's cache while it is decoded.
  static constexpr size_t kBlockBytes = 256u << 10;

  ssize_t read_some(std::byte* to, size_t bytes) override {
    if (fd() < 0) set_fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    const ssize_t got =
        ::pread(fd(), to, std::min<uint64_t>(bytes, end_ - next_), static_cast<off_t>(next_));
    if (got > 0) next_ += static_cast<uint64_t>(got);
    if (got == 0 && next_ < end_) read_error_ = "the file was cut while it was read:";
    if (got == 0) set_fd(-1);
    return got;
  }

  std::string path_;  // opened at the first read, if there is no descriptor
  uint64_t next_;     // what the next pread() gets
  uint64_t end_;
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

std::unique_ptr<InputStream> read_file_range(int fd, uint64_t offset, uint64_t size) {
  ::posix_fadvise(fd, static_cast<off_t>(offset), static_cast<off_t>(size), POSIX_FADV_SEQUENTIAL);
  return std::make_unique<FileInput>(fd, "", offset, std::min(size, UINT64_MAX - offset));
}

std::unique_ptr<InputStream> read_whole_file(std::string path, uint64_t size) {
  return std::make_unique<FileInput>(-1, std::move(path), 0, size);
}

std::unique_ptr<InputStream> read_pipe(int fd) { return std::make_unique<PipeInput>(fd); }

}  // namespace perf_latency
