// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/file_bytes.h"

#include <fcntl.h>
#include <lzma.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace perf_latency {
namespace {

// How much the output buffer starts with, for each packed byte: about what symbols compress to.
constexpr size_t kUsualRatio = 4;
constexpr size_t kFirstOutputBytes = 64 * 1024;
constexpr uint64_t kXzMemoryLimit = 256u << 20;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

Error system_error(const std::string& path) {
  return make_error(path + ": " + std::strerror(errno));
}

// An output buffer that doubles up to a limit.
class Output {
 public:
  Output(size_t packed_bytes, size_t max_bytes)
      : max_bytes_(max_bytes),
        bytes_(std::min(max_bytes, std::max(kFirstOutputBytes, packed_bytes * kUsualRatio))) {}

  std::byte* free_begin() { return bytes_.data() + used_; }
  size_t free_bytes() const { return bytes_.size() - used_; }
  void use(size_t n) { used_ += n; }
  // More room; false at the limit.
  bool grow() {
    if (bytes_.size() >= max_bytes_) return false;
    bytes_.resize(std::min(max_bytes_, std::max(kFirstOutputBytes, bytes_.size() * 2)));
    return true;
  }
  std::vector<std::byte> take() {
    bytes_.resize(used_);
    return std::move(bytes_);
  }

 private:
  size_t max_bytes_;
  std::vector<std::byte> bytes_;
  size_t used_ = 0;
};

Error too_big() { return make_error("unpacks to more than what is allowed"); }

Result<std::vector<std::byte>> unpack_gzip(std::span<const std::byte> in, size_t max_bytes) {
  constexpr int kGzipWindow = 15 + 16;
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) return make_error("zlib cannot start");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);
  Output out(in.size(), max_bytes);
  while (true) {
    if (stream.avail_in == 0 && !in.empty()) {
      const size_t part = std::min<size_t>(in.size(), size_t{1} << 30);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
      stream.avail_in = static_cast<uInt>(part);
      in = in.subspan(part);
    }
    if (out.free_bytes() == 0 && !out.grow()) return too_big();
    const size_t room = std::min<size_t>(out.free_bytes(), size_t{1} << 30);
    stream.next_out = reinterpret_cast<Bytef*>(out.free_begin());
    stream.avail_out = static_cast<uInt>(room);
    const int status = inflate(&stream, Z_NO_FLUSH);
    out.use(room - stream.avail_out);
    if (status == Z_STREAM_END) return out.take();
    if (status != Z_OK) return make_error("damaged gzip data", stream.total_in);
  }
}

Result<std::vector<std::byte>> unpack_xz(std::span<const std::byte> in, size_t max_bytes) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kXzMemoryLimit, 0) != LZMA_OK)
    return make_error("liblzma cannot start");
  const std::unique_ptr<lzma_stream, void (*)(lzma_stream*)> end(&stream, lzma_end);
  Output out(in.size(), max_bytes);
  stream.next_in = reinterpret_cast<const uint8_t*>(in.data());
  stream.avail_in = in.size();
  while (true) {
    if (out.free_bytes() == 0 && !out.grow()) return too_big();
    const size_t room = out.free_bytes();
    stream.next_out = reinterpret_cast<uint8_t*>(out.free_begin());
    stream.avail_out = room;
    const lzma_ret status = lzma_code(&stream, LZMA_FINISH);
    out.use(room - stream.avail_out);
    if (status == LZMA_STREAM_END) return out.take();
    if (status != LZMA_OK) return make_error("damaged xz data", stream.total_in);
  }
}

Result<std::vector<std::byte>> unpack_zstd(std::span<const std::byte> in, size_t max_bytes) {
  const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(),
                                                                        ZSTD_freeDStream);
  if (!stream) return make_error("libzstd cannot start");
  Output out(in.size(), max_bytes);
  ZSTD_inBuffer source{in.data(), in.size(), 0};
  while (true) {
    if (out.free_bytes() == 0 && !out.grow()) return too_big();
    ZSTD_outBuffer sink{out.free_begin(), out.free_bytes(), 0};
    const size_t before = source.pos;
    const size_t status = ZSTD_decompressStream(stream.get(), &sink, &source);
    out.use(sink.pos);
    if (ZSTD_isError(status)) return make_error("damaged zstd data", source.pos);
    if (status == 0 && source.pos == source.size) return out.take();
    if (sink.pos == 0 && source.pos == before)
      return make_error("zstd data ends in the middle", source.pos);
  }
}

// procfs and sysfs files have no size: read them to their end.
Result<std::vector<std::byte>> read_all(int fd, const std::string& path) {
  Output out(size_t{1} << 20, FileBytes::kMaxUnpackedBytes);
  while (true) {
    if (out.free_bytes() == 0 && !out.grow()) return too_big();
    const ssize_t n = read(fd, out.free_begin(), out.free_bytes());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(path);
    if (n == 0) return out.take();
    out.use(static_cast<size_t>(n));
  }
}

bool starts_with(std::span<const std::byte> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

}  // namespace

PackedFormat packed_format(std::span<const std::byte> bytes) {
  if (starts_with(bytes, "\x1f\x8b\x08")) return PackedFormat::gzip;
  if (starts_with(bytes, std::string_view("\xfd"
                                          "7zXZ\0",
                                          6)))
    return PackedFormat::xz;
  if (starts_with(bytes, "\x28\xb5\x2f\xfd")) return PackedFormat::zstd;
  return PackedFormat::none;
}

Result<std::vector<std::byte>> unpack(std::span<const std::byte> bytes, size_t max_bytes) {
  switch (packed_format(bytes)) {
    case PackedFormat::gzip:
      return unpack_gzip(bytes, max_bytes);
    case PackedFormat::xz:
      return unpack_xz(bytes, max_bytes);
    case PackedFormat::zstd:
      return unpack_zstd(bytes, max_bytes);
    case PackedFormat::none:
      break;
  }
  return make_error("not compressed by gzip, xz or zstd");
}

Result<FileBytes> FileBytes::open(const std::string& path) { return open_file(path, false); }

Result<FileBytes> FileBytes::open_trusted(const std::string& path) { return open_file(path, true); }

Result<FileBytes> FileBytes::open_file(const std::string& path, bool trusted) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) return system_error(path);
  struct stat status;
  if (fstat(fd.get(), &status) != 0) return system_error(path);
  if (!S_ISREG(status.st_mode)) return make_error(path + ": not a regular file");
  if (status.st_size == 0) {
    if (!trusted) return make_error(path + ": empty");
    auto content = read_all(fd.get(), path);
    if (!content) return content.error();
    return from_memory(std::move(*content));
  }
  const size_t size = static_cast<size_t>(status.st_size);
  // Writable, but private: libelf changes section headers in place when it unpacks a section.
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd.get(), 0);
  if (at == MAP_FAILED) return system_error(path);
  FileBytes file;
  file.bytes_ = {static_cast<const std::byte*>(at), size};
  file.mapped_ = true;
  if (packed_format(file.bytes_) == PackedFormat::none) return file;
  auto unpacked = unpack(file.bytes_, kMaxUnpackedBytes);
  if (!unpacked) return Error{path + ": " + unpacked.error().what, unpacked.error().offset};
  return from_memory(std::move(*unpacked));
}

FileBytes FileBytes::from_memory(std::vector<std::byte> bytes) {
  FileBytes file;
  file.memory_ = std::move(bytes);
  file.bytes_ = file.memory_;
  return file;
}

FileBytes::FileBytes(FileBytes&& other) noexcept { *this = std::move(other); }

FileBytes& FileBytes::operator=(FileBytes&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(memory_, other.memory_);  // the heap block stays where it is: bytes_ stays valid
  std::swap(mapped_, other.mapped_);
  return *this;
}

FileBytes::~FileBytes() {
  if (mapped_) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace perf_latency
