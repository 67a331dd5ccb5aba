// SPDX-License-Identifier: GPL-2.0-only
#include "perfdata/reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "perfdata/file_header.h"

namespace perf_latency {
namespace {

std::vector<std::byte> pread_exactly(int fd, uint64_t offset, uint64_t size) {
  std::vector<std::byte> bytes(size);
  size_t have = 0;
  while (have < size) {
    const ssize_t got =
        ::pread(fd, bytes.data() + have, size - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

// Closes the descriptor unless it was given away.
class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int fd() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

bool is_trusted(const struct stat& status) {
  return status.st_uid == 0 || status.st_uid == ::geteuid();
}

// DIR/data.N, in the order of N; readdir gives them in any order.
std::vector<std::string> data_streams(const std::string& path) {
  std::vector<std::pair<uint32_t, std::string>> found;
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) return {};
  constexpr std::string_view kPrefix = "data.";
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(kPrefix)) continue;
    uint32_t number = 0;
    const auto [end, error] =
        std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size())
      found.emplace_back(number, path + "/" + std::string(name));
  }
  ::closedir(directory);
  std::sort(found.begin(), found.end());
  std::vector<std::string> paths;
  for (auto& [number, name] : found) paths.push_back(std::move(name));
  return paths;
}

}  // namespace

Result<std::unique_ptr<Reader>> Reader::open(const std::string& path, bool force) {
  std::unique_ptr<Reader> reader(new Reader());
  struct stat status {};
  Result<void> opened;
  if (path == "-") {
    opened = reader->open_pipe(::dup(STDIN_FILENO));
  } else if (::stat(path.c_str(), &status) != 0) {
    return make_error(std::strerror(errno));
  } else if (S_ISDIR(status.st_mode)) {
    opened = reader->open_directory(path, force);
  } else {
    opened = reader->open_file(path, force);
  }
  if (!opened) return opened.error();
  return reader;
}

void Reader::add_stream(std::unique_ptr<InputStream> input) {
  const auto number = static_cast<uint32_t>(streams_.size());
  streams_.push_back(
      std::make_unique<RecordStream>(std::move(input), number, metadata_, diagnostics_, counts_));
}

Result<void> Reader::open_file(const std::string& path, bool force) {
  OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd() < 0) return make_error(std::strerror(errno));
  struct stat status {};
  if (::fstat(file.fd(), &status) != 0) return make_error(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return open_pipe(file.release());
  if (!force && !is_trusted(status))
    return make_error("the file belongs to another user; -f reads it all the same");

  const auto file_bytes = static_cast<uint64_t>(status.st_size);
  const std::vector<std::byte> head = pread_exactly(file.fd(), 0, kFileHeaderBytes);
  auto header = parse_file_header(head);
  if (!header) return header.error();
  if (header->pipe) return open_pipe(file.release());
  const auto read_at = [&](uint64_t offset, uint64_t size) {
    return offset >= file_bytes
               ? std::vector<std::byte>()
               : pread_exactly(file.fd(), offset, std::min(size, file_bytes - offset));
  };
  if (auto read = read_file_metadata(*header, file_bytes, read_at, metadata_, diagnostics_); !read)
    return read;
  total_bytes_ += header->data.size;
  add_stream(read_file_range(file.release(), header->data.offset, header->data.size));
  return {};
}

Result<void> Reader::open_pipe(int fd) {
  if (fd < 0) return make_error(std::strerror(errno));
  auto input = read_pipe(fd);
  if (!input->ensure(kPipeHeaderBytes) && !input->read_error().empty())
    return make_error(input->read_error());
  const auto window = input->window();
  auto header = parse_file_header(window.first(std::min(window.size(), kPipeHeaderBytes)));
  if (!header) {
    // A file-mode recording on a pipe: its magic is right but it cannot be read without seeking.
    return header.error();
  }
  if (!header->pipe)
    return make_error(
        "a perf.data file cannot be read from a pipe: give its path, or record with -o -");
  metadata_.mode = RecordingMode::pipe;
  metadata_.swapped = header->swapped;
  metadata_.big_endian = header->swapped == (std::endian::native == std::endian::little);
  input->advance(kPipeHeaderBytes);
  add_stream(std::move(input));
  return {};
}

Result<void> Reader::open_directory(const std::string& path, bool force) {
  if (auto opened = open_file(path + "/data", force); !opened) return opened;
  if (metadata_.mode != RecordingMode::pipe) metadata_.mode = RecordingMode::directory;
  for (const std::string& name : data_streams(path)) {
    OpenFile file(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (file.fd() < 0 || ::fstat(file.fd(), &status) != 0)
      return make_error(name + ": " + std::strerror(errno));
    if (!force && !is_trusted(status))
      return make_error(name + " belongs to another user; -f reads it all the same");
    if (!S_ISREG(status.st_mode)) return make_error(name + " is no regular file");
    const auto bytes = static_cast<uint64_t>(status.st_size);
    total_bytes_ += bytes;
    add_stream(read_whole_file(name, bytes));
  }
  return {};
}

bool Reader::next_of_streams(RecordBatch& batch) {
  while (current_ < streams_.size()) {
    RecordStream& stream = *streams_[current_];
    const uint64_t before = stream.input().position();
    const bool got = stream.next(batch);
    bytes_read_ += stream.input().position() - before;
    if (got) {
      // The rounds of one stream say nothing about the streams that are still to come.
      if (streams_.size() > 1) batch.ends_round = false;
      return true;
    }
    ++current_;
  }
  return false;
}

// Pipes may describe their events after the first samples (perf inject does): what comes before is
// held back, up to a limit, since it cannot be read a second time.
void Reader::hold_until_described() {
  hold_done_ = true;
  if (metadata_.mode != RecordingMode::pipe) return;
  RecordBatch batch;
  uint64_t expanded_bytes = 0;
  while (metadata_.lacks_descriptions() && bytes_read_ + expanded_bytes < kMaxHeldBytes &&
         next_of_streams(batch)) {
    expanded_bytes += batch.bytes.size();
    held_.push_back(std::move(batch));
  }
}

bool Reader::next(RecordBatch& batch) {
  if (!hold_done_) hold_until_described();
  if (held_.empty()) return next_of_streams(batch);
  batch = std::move(held_.front());
  held_.pop_front();
  return true;
}

}  // namespace perf_latency
