// SPDX-License-Identifier: GPL-2.0-only
#include "perfdata/writer_records.h"

#include <algorithm>

#include "base/result.h"

namespace perf_latency {

namespace {

constexpr uint32_t kAllProcesses = 0xffffffffu;
constexpr size_t kMaxRecordBytes = 0xfff8;  // header.size has 16 bits; records are multiples of 8
// perf's own PATH_MAX: it refuses longer names.
constexpr size_t kMaxNameBytes = 4095;

// Opens a record in `out`; finish() closes it. Records begin at multiples of 8 of their own start.
class OpenRecord {
 public:
  OpenRecord(ByteWriter& out, RecordType type, uint16_t misc) : out_(out), begin_(out.size()) {
    out_.u32(static_cast<uint32_t>(type));
    out_.u16(misc);
    out_.u16(0);
  }
  void name(std::string_view text) {
    out_.c_string(text.substr(0, kMaxNameBytes));
    const size_t used = out_.size() - begin_;
    out_.zeros((8 - used % 8) % 8);
  }
  void trailer(const SampleIdTrailer& id) {
    out_.u32(id.pid);
    out_.u32(id.tid);
    out_.u64(id.time_ns);
    out_.u32(id.cpu);
    out_.u32(0);
    out_.u64(id.id);
  }
  void finish() {
    const size_t size = out_.size() - begin_;
    PL_CHECK(size <= kMaxRecordBytes);
    out_.number_at(begin_ + 6, static_cast<uint16_t>(size));
  }

 private:
  ByteWriter& out_;
  size_t begin_;
};

}  // namespace

void append_comm(ByteWriter& out, TaskIds task, std::string_view comm) {
  OpenRecord record(out, RecordType::comm, 0);
  out.u32(task.pid);
  out.u32(task.tid);
  record.name(comm);
  record.trailer({});
  record.finish();
}

void append_fork(ByteWriter& out, TaskIds child, TaskIds parent) {
  // Bit 13 on FORK (PERF_RECORD_MISC_FORK_EXEC): the new task's maps follow, do not copy the parent's.
  OpenRecord record(out, RecordType::fork, 1u << 13);
  out.u32(child.pid);
  out.u32(parent.pid);
  out.u32(child.tid);
  out.u32(parent.tid);
  out.u64(0);
  record.trailer({});
  record.finish();
}

void append_mmap2(ByteWriter& out, const MapRecord& map) {
  OpenRecord record(out, RecordType::mmap2, kMiscUser);
  out.u32(map.task.pid);
  out.u32(map.task.tid);
  out.u64(map.start);
  out.u64(map.size_bytes);
  out.u64(map.file_offset);
  out.u32(map.major);
  out.u32(map.minor);
  out.u64(map.inode);
  out.u64(0);  // inode generation: not in /proc
  out.u32(map.protection);
  out.u32(map.flags);
  record.name(map.path);
  record.trailer({});
  record.finish();
}

void append_kernel_mmap(ByteWriter& out, uint64_t start, uint64_t size_bytes, uint64_t file_offset,
                        std::string_view path) {
  OpenRecord record(out, RecordType::mmap, kMiscKernel);
  out.u32(kAllProcesses);
  out.u32(0);
  out.u64(start);
  out.u64(size_bytes);
  out.u64(file_offset);
  record.name(path);
  record.trailer({});
  record.finish();
}

void append_ksymbol(ByteWriter& out, uint64_t address, uint32_t size_bytes, uint16_t type,
                    std::string_view name) {
  OpenRecord record(out, RecordType::ksymbol, 0);
  out.u64(address);
  out.u32(size_bytes);
  out.u16(type);
  out.u16(0);
  record.name(name);
  record.trailer({});
  record.finish();
}

void append_cgroup(ByteWriter& out, uint64_t id, std::string_view path) {
  OpenRecord record(out, RecordType::cgroup, 0);
  out.u64(id);
  record.name(path);
  record.trailer({});
  record.finish();
}

void append_lost_samples(ByteWriter& out, uint64_t lost, const SampleIdTrailer& trailer) {
  OpenRecord record(out, RecordType::lost_samples, 0);
  out.u64(lost);
  record.trailer(trailer);
  record.finish();
}

void append_build_id(ByteWriter& out, bool kernel, std::span<const std::byte> id,
                     std::string_view path) {
  constexpr size_t kIdBytes = 20;
  const uint8_t used = static_cast<uint8_t>(std::min(id.size(), kIdBytes));
  OpenRecord record(out, RecordType::header_build_id,
                    static_cast<uint16_t>((kernel ? kMiscKernel : kMiscUser) | kMiscBuildIdSize));
  out.u32(kAllProcesses);
  out.raw(id.first(used));
  out.zeros(kIdBytes - used);
  out.u8(used);
  out.zeros(3);
  // perf pads these names to 64 bytes and counts the padding in header.size.
  const std::string_view name = path.substr(0, kMaxNameBytes);
  out.c_string(name);
  out.zeros((64 - (name.size() + 1) % 64) % 64);
  record.finish();
}

void append_finished_round(ByteWriter& out) {
  OpenRecord(out, RecordType::finished_round, 0).finish();
}

void append_finished_init(ByteWriter& out) {
  OpenRecord(out, RecordType::finished_init, 0).finish();
}

void append_header_attr(ByteWriter& out, std::span<const std::byte> attr,
                        std::span<const uint64_t> ids) {
  // More ids than one record holds (a machine of thousands of CPUs) go into further records: a reader
  // sees several events of one name, and can still decode every sample.
  const size_t room = (kMaxRecordBytes - kRecordHeaderBytes - attr.size()) / sizeof(uint64_t);
  do {
    const std::span<const uint64_t> part = ids.first(std::min(ids.size(), room));
    OpenRecord record(out, RecordType::header_attr, 0);
    out.raw(attr);
    out.raw(part.data(), part.size_bytes());
    record.finish();
    ids = ids.subspan(part.size());
  } while (!ids.empty());
}

void append_event_name(ByteWriter& out, uint64_t id, std::string_view name) {
  constexpr uint64_t kUpdateName = 2;
  OpenRecord record(out, RecordType::event_update, 0);
  out.u64(kUpdateName);
  out.u64(id);
  record.name(name);
  record.finish();
}

bool append_header_feature(ByteWriter& out, Feature feature, std::span<const std::byte> section) {
  if (section.size() > kMaxRecordBytes - kRecordHeaderBytes - sizeof(uint64_t) - 8) return false;
  OpenRecord record(out, RecordType::header_feature, 0);
  const size_t begin = out.size();
  out.u64(static_cast<uint64_t>(feature));
  out.raw(section);
  out.zeros((8 - (out.size() - begin) % 8) % 8);
  record.finish();
  return true;
}

void append_tracing_data(ByteWriter& out, std::span<const std::byte> tracing_data) {
  const size_t padded = (tracing_data.size() + 7) / 8 * 8;
  OpenRecord record(out, RecordType::header_tracing_data, 0);
  out.u32(static_cast<uint32_t>(padded));
  out.u32(0);
  record.finish();
  out.raw(tracing_data);
  out.zeros(padded - tracing_data.size());
}

}  // namespace perf_latency
