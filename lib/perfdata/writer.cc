// SPDX-License-Identifier: GPL-2.0-only
#include "perfdata/writer.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "perfdata/writer_bytes.h"
#include "perfdata/writer_records.h"

namespace perf_latency {

namespace {

constexpr char kMagic[] = "PERFILE2";
constexpr size_t kFileHeaderSize = 104;
constexpr size_t kPipeHeaderSize = 16;
constexpr size_t kDataAlign = 4096;
// One write() of this size costs about as much as filling it: page-cache copies, no seek.
constexpr size_t kBufferBytes = 1u << 20;
// Room kept for the end of a file on a full disk: more than the largest late section (build ids).
constexpr size_t kBoundariesKept = 4096;

Error write_error(const char* what, int error) {
  return make_error(std::string(what) + ": " + std::strerror(error));
}

// Writes all of it; the number of bytes that got there. errno is set when that is fewer.
size_t write_all(int fd, std::span<const std::byte> bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {  // a pipe that someone else made non-blocking
      pollfd writable{fd, POLLOUT, 0};
      ::poll(&writable, 1, -1);
      continue;
    }
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

std::vector<std::byte> table_bytes(const std::vector<std::pair<uint64_t, uint64_t>>& rows) {
  ByteWriter out;
  for (const auto& [offset, size] : rows) {
    out.u64(offset);
    out.u64(size);
  }
  return out.take();
}

void sort_by_feature(std::vector<FeatureSection>& sections) {
  std::stable_sort(sections.begin(), sections.end(), [](const auto& a, const auto& b) {
    return static_cast<uint32_t>(a.feature) < static_cast<uint32_t>(b.feature);
  });
}

// In a file perf steps over features that it does not know; in a pipe it gives up at one.
bool pipe_may_have(Feature feature) {
  return static_cast<uint32_t>(feature) <= static_cast<uint32_t>(Feature::pmu_caps);
}

}  // namespace

FeatureSection event_description_section(const std::vector<WriterEvent>& events) {
  ByteWriter out;
  out.u32(static_cast<uint32_t>(events.size()));
  out.u32(events.empty() ? 0 : static_cast<uint32_t>(events.front().attr.size()));
  for (const WriterEvent& event : events) {
    out.raw(event.attr);
    out.u32(static_cast<uint32_t>(event.ids.size()));
    const size_t padded = (event.name.size() + 1 + 63) / 64 * 64;
    out.u32(static_cast<uint32_t>(padded));
    out.text(event.name);
    out.zeros(padded - event.name.size());
    out.raw(event.ids.data(), event.ids.size() * sizeof(uint64_t));
  }
  return {Feature::event_desc, out.take()};
}

Result<std::unique_ptr<PerfDataWriter>> PerfDataWriter::create(
    int fd, bool pipe, const std::vector<WriterEvent>& events, std::vector<FeatureSection> early) {
  auto writer = std::unique_ptr<PerfDataWriter>(new PerfDataWriter(fd, pipe));
  writer->buffer_.reserve(kBufferBytes);
  sort_by_feature(early);
  Result<void> begun = pipe ? writer->begin_pipe(events, early) : writer->begin_file(events, early);
  if (!begun) return begun.error();
  return writer;
}

PerfDataWriter::~PerfDataWriter() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> PerfDataWriter::begin_file(const std::vector<WriterEvent>& events,
                                        const std::vector<FeatureSection>& early) {
  ByteWriter out;
  out.zeros(kFileHeaderSize);
  std::vector<std::pair<uint64_t, uint64_t>> ids;
  for (const WriterEvent& event : events) {
    ids.emplace_back(out.size(), event.ids.size() * sizeof(uint64_t));
    out.raw(event.ids.data(), event.ids.size() * sizeof(uint64_t));
  }
  attrs_offset_ = out.size();
  for (size_t i = 0; i < events.size(); ++i) {
    out.raw(events[i].attr);
    out.u64(ids[i].first);
    out.u64(ids[i].second);
  }
  attrs_bytes_ = out.size() - attrs_offset_;
  attr_entry_bytes_ = events.empty() ? 0 : attrs_bytes_ / events.size();

  std::vector<std::pair<uint64_t, uint64_t>> rows;
  for (const FeatureSection& section : early) {
    out.pad_to(8);
    early_.push_back({section.feature, out.size(), section.content.size()});
    rows.emplace_back(out.size(), section.content.size());
    out.raw(section.content);
  }
  const std::vector<std::byte> table = table_bytes(rows);
  const size_t end = out.size() + table.size();
  out.zeros((kDataAlign - end % kDataAlign) % kDataAlign);
  out.raw(table);
  data_offset_ = out.size();

  std::vector<std::byte> bytes = out.take();
  const std::vector<std::byte> header = header_bytes(0, early_);
  std::copy(header.begin(), header.end(), bytes.begin());
  return write_out(bytes);
}

Result<void> PerfDataWriter::begin_pipe(const std::vector<WriterEvent>& events,
                                        const std::vector<FeatureSection>& early) {
  ByteWriter out;
  out.text(kMagic);
  out.u64(kPipeHeaderSize);
  for (const WriterEvent& event : events) append_header_attr(out, event.attr, event.ids);
  for (const FeatureSection& section : early) {
    if (section.feature == Feature::tracing_data || !pipe_may_have(section.feature)) continue;
    append_header_feature(out, section.feature, section.content);
  }
  for (const WriterEvent& event : events)
    if (!event.ids.empty()) append_event_name(out, event.ids.front(), event.name);
  for (const FeatureSection& section : early)
    if (section.feature == Feature::tracing_data) append_tracing_data(out, section.content);
  return write_out(out.bytes());
}

std::vector<std::byte> PerfDataWriter::header_bytes(uint64_t data_bytes,
                                                    const std::vector<Placed>& placed) const {
  ByteWriter out;
  out.text(kMagic);
  out.u64(kFileHeaderSize);
  out.u64(attr_entry_bytes_);
  out.u64(attrs_offset_);
  out.u64(attrs_bytes_);
  out.u64(data_offset_);
  out.u64(data_bytes);
  out.u64(0);  // event types: no longer used
  out.u64(0);
  uint64_t bits[4] = {};
  for (const Placed& section : placed) {
    const uint32_t bit = static_cast<uint32_t>(section.feature);
    bits[bit / 64] |= uint64_t{1} << (bit % 64);
  }
  for (const uint64_t word : bits) out.u64(word);
  PL_CHECK(out.size() == kFileHeaderSize);
  return out.take();
}

Result<void> PerfDataWriter::write_out(std::span<const std::byte> bytes) {
  const size_t done = write_all(fd_, bytes);
  file_end_ += done;
  if (done == bytes.size()) return {};
  failed_errno_ = errno;
  failed_ = write_error("cannot write", failed_errno_);
  return *failed_;
}

Result<void> PerfDataWriter::write(std::span<const std::byte> records) {
  const std::lock_guard lock(mutex_);
  if (failed_) return *failed_;
  if (buffer_.size() + records.size() > kBufferBytes)
    if (Result<void> flushed = flush_locked(); !flushed) return flushed;
  note_boundaries(records);
  if (records.size() < kBufferBytes) {
    buffer_.insert(buffer_.end(), records.begin(), records.end());
    return {};
  }
  Result<void> written = write_out(records);
  if (!written) cut_at_last_record(file_end_);
  return written;
}

// Where the file may be cut: every few KiB, since one write() can be a whole ring of records.
void PerfDataWriter::note_boundaries(std::span<const std::byte> records) {
  constexpr size_t kStep = 4096, kRecordHeaderBytes = 8, kSizeOffset = 6;  // perf_event_header
  const uint64_t start = file_end_ + buffer_.size();
  size_t noted = 0;
  for (size_t at = 0; at + kRecordHeaderBytes <= records.size();) {
    uint16_t size = 0;
    std::memcpy(&size, records.data() + at + kSizeOffset, sizeof size);
    if (size < kRecordHeaderBytes) break;
    at += size;
    if (at - noted < kStep || at >= records.size()) continue;
    boundaries_.push_back(start + at);
    noted = at;
  }
  boundaries_.push_back(start + records.size());
}

Result<void> PerfDataWriter::flush() {
  const std::lock_guard lock(mutex_);
  return flush_locked();
}

Result<void> PerfDataWriter::flush_locked() {
  if (failed_) return *failed_;
  if (buffer_.empty()) return {};
  Result<void> written = write_out(buffer_);
  if (!written) {
    cut_at_last_record(file_end_);
    return written;
  }
  buffer_.clear();
  if (boundaries_.size() > kBoundariesKept)
    boundaries_.erase(boundaries_.begin(),
                      boundaries_.end() - static_cast<ptrdiff_t>(kBoundariesKept / 2));
  return {};
}

// After a failed write: drops what is behind the last whole record.
void PerfDataWriter::cut_at_last_record(uint64_t file_end) {
  buffer_.clear();
  if (pipe_) return;
  while (!boundaries_.empty() && boundaries_.back() > file_end) boundaries_.pop_back();
  const uint64_t end = boundaries_.empty() ? data_offset_ : boundaries_.back();
  if (::ftruncate(fd_, static_cast<off_t>(end)) == 0) file_end_ = end;
  ::lseek(fd_, static_cast<off_t>(file_end_), SEEK_SET);
}

// Frees at least `bytes` at the end of the data; false when there is no known boundary there.
bool PerfDataWriter::give_back(uint64_t bytes) {
  const uint64_t limit = file_end_ > bytes ? file_end_ - bytes : 0;
  while (!boundaries_.empty() && boundaries_.back() > limit) boundaries_.pop_back();
  if (boundaries_.empty() || ::ftruncate(fd_, static_cast<off_t>(boundaries_.back())) != 0)
    return false;
  file_end_ = boundaries_.back();
  return true;
}

bool PerfDataWriter::write_tail(const std::vector<FeatureSection>& late) {
  std::vector<Placed> placed = early_;
  std::erase_if(placed, [&](const Placed& old) {
    return std::any_of(late.begin(), late.end(),
                       [&](const auto& section) { return section.feature == old.feature; });
  });
  uint64_t at = file_end_ + (placed.size() + late.size()) * 16;
  for (const FeatureSection& section : late) {
    placed.push_back({section.feature, at, section.content.size()});
    at += section.content.size();
  }
  std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
    return static_cast<uint32_t>(a.feature) < static_cast<uint32_t>(b.feature);
  });
  std::vector<std::pair<uint64_t, uint64_t>> rows;
  rows.reserve(placed.size());
  for (const Placed& section : placed) rows.emplace_back(section.offset, section.size);
  ByteWriter tail;
  tail.raw(table_bytes(rows));
  for (const FeatureSection& section : late) tail.raw(section.content);

  const off_t end = static_cast<off_t>(file_end_);
  if (::lseek(fd_, end, SEEK_SET) != end || write_all(fd_, tail.bytes()) != tail.size()) {
    const int error = errno;
    if (::ftruncate(fd_, end) == 0) errno = error;
    return false;
  }
  const std::vector<std::byte> header = header_bytes(file_end_ - data_offset_, placed);
  return ::lseek(fd_, 0, SEEK_SET) == 0 && write_all(fd_, header) == header.size();
}

Result<void> PerfDataWriter::finish(std::vector<FeatureSection> late) {
  const std::lock_guard lock(mutex_);
  const Result<void> flushed = flush_locked();
  if (pipe_) return flushed;
  sort_by_feature(late);
  uint64_t needed = 64 * 1024;
  for (const FeatureSection& section : late) needed += section.content.size();
  while (!write_tail(late)) {
    const int error = errno;
    const bool no_room = error == ENOSPC || error == EDQUOT || error == EFBIG;
    if (!no_room || !give_back(needed)) return write_error("cannot finish the file", error);
  }
  return {};
}

uint64_t PerfDataWriter::data_bytes() const {
  const std::lock_guard lock(mutex_);
  return file_end_ + buffer_.size() - data_offset_;
}

int PerfDataWriter::failed_errno() const {
  const std::lock_guard lock(mutex_);
  return failed_errno_;
}

}  // namespace perf_latency
