// SPDX-License-Identifier: GPL-2.0-only
// Writes recordings for tests, record by record, in either byte order: as a file, as a pipe stream.
//
// It is written from the format's description, not from the reader: bodies are put together with
// ByteWriter by whoever writes the test, right or wrong as the test needs them.
#pragma once

#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_cursor.h"
#include "perfdata/abi.h"

namespace perf_latency {

using Bytes = std::vector<std::byte>;

class ByteWriter {
 public:
  explicit ByteWriter(bool swap = false) : swap_(swap) {}

  ByteWriter& u8(uint8_t v) { return number(v, false); }
  ByteWriter& u16(uint16_t v) { return number(v, swap_); }
  ByteWriter& u32(uint32_t v) { return number(v, swap_); }
  ByteWriter& u64(uint64_t v) { return number(v, swap_); }
  ByteWriter& u64s(std::initializer_list<uint64_t> values) {
    for (const uint64_t v : values) u64(v);
    return *this;
  }
  ByteWriter& text(std::string_view text) {
    for (const char c : text) out_.push_back(static_cast<std::byte>(c));
    return *this;
  }
  // The text, a NUL, and NULs up to a multiple of `step`.
  ByteWriter& padded_text(std::string_view content, size_t step = 8) {
    text(content).u8(0);
    const size_t length = content.size() + 1;
    return zeros((step - length % step) % step);
  }
  // As in feature sections: u32 length, text, padded to 64.
  ByteWriter& feature_text(std::string_view content) {
    u32(static_cast<uint32_t>((content.size() / 64 + 1) * 64));
    return padded_text(content, 64);
  }
  ByteWriter& zeros(size_t count) {
    out_.resize(out_.size() + count);
    return *this;
  }
  ByteWriter& bytes(std::span<const std::byte> bytes) {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  size_t size() const { return out_.size(); }
  Bytes take() { return std::move(out_); }
  const Bytes& get() const { return out_; }

 private:
  template <typename T>
  ByteWriter& number(T v, bool swap) {
    if constexpr (sizeof(T) > 1) {
      if (swap) v = swap_bytes(v);
    }
    const auto* at = reinterpret_cast<const std::byte*>(&v);
    out_.insert(out_.end(), at, at + sizeof v);
    return *this;
  }

  bool swap_;
  Bytes out_;
};

struct TestAttr {
  uint32_t type = kTypeTracepoint;
  uint64_t config = 0;
  uint64_t sample_period = 1;
  uint64_t sample_type = 0;
  uint64_t read_format = 0;
  uint64_t flags = 1u << 18;  // sample_id_all
  uint64_t branch_sample_type = 0;
  uint64_t regs_user = 0;
  uint32_t stack_user = 0;
  uint64_t regs_intr = 0;
  uint32_t size = 128;
};

// The flags as a big-endian writer's bit-field has them; precise_ip is two bits wide.
inline uint64_t mirrored_flags(uint64_t flags) {
  uint64_t mirrored = 0;
  for (unsigned bit = 0; bit < 64; ++bit)
    if (bit != 15 && bit != 16) mirrored |= ((flags >> bit) & 1) << (63 - bit);
  return mirrored | ((flags >> 15) & 3) << 47;
}

inline Bytes attr_bytes(const TestAttr& attr, bool swap) {
  ByteWriter w(swap);
  w.u32(attr.type).u32(attr.size).u64(attr.config).u64(attr.sample_period);
  w.u64(attr.sample_type).u64(attr.read_format);
  w.u64(swap ? mirrored_flags(attr.flags) : attr.flags);
  w.u32(0).u32(0).u64(0).u64(0);  // wakeup, bp_type, config1, config2
  w.u64(attr.branch_sample_type).u64(attr.regs_user).u32(attr.stack_user).u32(0);
  w.u64(attr.regs_intr);
  Bytes bytes = w.take();
  bytes.resize(attr.size == 0 ? 64 : attr.size);
  return bytes;
}

// A tracepoint's format file, from lines of fields.
inline std::string format_text(std::string_view name, uint64_t id, std::string_view fields,
                               std::string_view print_format = "\"\"") {
  return "name: " + std::string(name) + "\nID: " + std::to_string(id) +
         "\nformat:\n"
         "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
         "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
         "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
         "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n" +
         std::string(fields) + "\nprint fmt: " + std::string(print_format) + "\n";
}

inline constexpr std::string_view kSwitchFields =
    "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
    "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
    "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
    "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
    "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
    "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
    "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n";
inline constexpr std::string_view kSwitchPrint =
    "\"prev_state=%s%s\", (REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 "
    "| "
    "0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) - 1)) ? "
    "__print_flags(REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | "
    "0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) - 1), \"|\", { 0x00000001, "
    "\"S\" "
    "}, { 0x00000002, \"D\" }, { 0x00000004, \"T\" }, { 0x00000008, \"t\" }, { 0x00000010, \"X\" "
    "}, { "
    "0x00000020, \"Z\" }, { 0x00000040, \"P\" }, { 0x00000080, \"I\" }) : \"R\", REC->prev_state & "
    "(((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | "
    "0x00000040) + 1) << 1) ? \"+\" : \"\"";

inline Bytes tracing_data(const std::vector<std::pair<std::string, std::string>>& formats,
                          bool swap = false, uint8_t long_bytes = 8) {
  ByteWriter w(swap);
  w.text("\x17\x08\x44tracing").padded_text("0.6", 1);
  w.u8(swap ? 1 : 0).u8(long_bytes).u32(4096);
  const std::string page =
      "\tfield: local_t commit;\toffset:8;\tsize:" + std::to_string(long_bytes) + ";\tsigned:1;\n";
  w.padded_text("header_page", 1).u64(page.size()).text(page);
  w.padded_text("header_event", 1).u64(0);
  w.u32(0);  // ftrace's own
  w.u32(static_cast<uint32_t>(formats.size()));
  for (const auto& [system, text] : formats)
    w.padded_text(system, 1).u32(1).u64(text.size()).text(text);
  w.u32(0).u32(0).u64(0);  // kallsyms, printk, saved command lines
  return w.take();
}

// 64 bytes as the kernel writes them for sched_switch.
inline Bytes switch_raw(bool swap, int32_t prev, uint64_t state, int32_t next,
                        std::string_view prev_comm = "prev", std::string_view next_comm = "next") {
  const auto comm = [](std::string_view name) {
    ByteWriter w;
    w.text(name.substr(0, 16));
    w.zeros(16 - w.size());
    return w.take();
  };
  ByteWriter w(swap);
  w.u16(1).u8(0).u8(0).u32(static_cast<uint32_t>(prev));
  w.bytes(comm(prev_comm)).u32(static_cast<uint32_t>(prev)).u32(120).u64(state);
  w.bytes(comm(next_comm)).u32(static_cast<uint32_t>(next)).u32(110);
  return w.take();
}

class PerfDataBuilder {
 public:
  explicit PerfDataBuilder(bool swap = false) : swap_(swap) {}

  ByteWriter writer() const { return ByteWriter(swap_); }

  void add_event(const TestAttr& attr, std::vector<uint64_t> ids) {
    events_.push_back({attr_bytes(attr, swap_), std::move(ids)});
  }
  void add_feature(uint32_t bit, Bytes content) { features_[bit] = std::move(content); }
  void add_tracing_data(Bytes data) { tracing_ = std::move(data); }

  Bytes record_bytes(RecordType type, uint16_t misc, std::span<const std::byte> body) const {
    ByteWriter w(swap_);
    w.u32(static_cast<uint32_t>(type)).u16(misc).u16(static_cast<uint16_t>(8 + body.size()));
    return w.bytes(body).take();
  }
  void record(RecordType type, uint16_t misc, std::span<const std::byte> body) {
    raw(record_bytes(type, misc, body));
  }
  void raw(std::span<const std::byte> bytes) {
    records_.insert(records_.end(), bytes.begin(), bytes.end());
  }
  void finished_round() { record(RecordType::finished_round, 0, {}); }
  size_t data_bytes() const { return records_.size(); }

  // All of the records so far, as one zstd stream cut into COMPRESSED records of `chunk` bytes of
  // plain text each, with FINISHED_ROUND left to the caller.
  void compress(size_t chunk, bool newer = false) {
    ZSTD_CCtx* context = ZSTD_createCCtx();
    const Bytes plain = std::move(records_);
    records_.clear();
    for (size_t at = 0; at < plain.size(); at += chunk) {
      const size_t size = std::min(chunk, plain.size() - at);
      Bytes packed(ZSTD_compressBound(size) + 64);
      ZSTD_inBuffer in{plain.data() + at, size, 0};
      ZSTD_outBuffer out{packed.data(), packed.size(), 0};
      if (ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush) != 0) std::abort();
      packed.resize(out.pos);
      compressed_record(packed, newer);
    }
    ZSTD_freeCCtx(context);
  }
  void compressed_record(std::span<const std::byte> packed, bool newer) {
    ByteWriter w(swap_);
    if (newer) w.u64(packed.size());
    w.bytes(packed);
    if (newer) w.zeros((8 - packed.size() % 8) % 8);
    record(newer ? RecordType::compressed2 : RecordType::compressed, 0, w.get());
  }

  // What the header says, for tests that want something else.
  struct Header {
    uint64_t header_bytes = 104;
    std::string magic = "PERFILE2";
    bool killed = false;          // data size 0, no feature sections behind the data
    bool early_features = false;  // our own recorder's, before the data
    bool longs32 = false;         // the feature bitmap of a 32-bit writer
  };
  Bytes file() const { return file(Header()); }
  Bytes file(const Header& options) const;

  // Pipe mode: header, attrs, features and tracing data in front of the records.
  Bytes pipe() const {
    Bytes out = pipe_header();
    const auto append = [&](const Bytes& part) { out.insert(out.end(), part.begin(), part.end()); };
    for (size_t i = 0; i < events_.size(); ++i) append(attr_record(i));
    for (const auto& [bit, content] : features_) append(feature_record(bit));
    if (!tracing_.empty()) append(tracing_record());
    append(records_);
    return out;
  }
  Bytes pipe_header() const { return ByteWriter(swap_).u64(kMagic).u64(16).take(); }
  Bytes attr_record(size_t i) const {
    ByteWriter body(swap_);
    body.bytes(events_[i].attr);
    for (const uint64_t id : events_[i].ids) body.u64(id);
    return record_bytes(RecordType::header_attr, 0, body.get());
  }
  Bytes feature_record(uint32_t bit) const {
    ByteWriter body(swap_);
    body.u64(bit).bytes(features_.at(bit));
    return record_bytes(RecordType::header_feature, 0, body.get());
  }
  Bytes tracing_record() const {
    const size_t padded = (tracing_.size() + 7) / 8 * 8;
    ByteWriter w(swap_);
    w.u32(static_cast<uint32_t>(padded)).u32(0);
    ByteWriter all(swap_);
    all.bytes(record_bytes(RecordType::header_tracing_data, 0, w.get())).bytes(tracing_);
    return all.zeros(padded - tracing_.size()).take();
  }
  const Bytes& records() const { return records_; }

 private:
  static constexpr uint64_t kMagic = 0x32454c4946524550ull;  // "PERFILE2"
  struct Event {
    Bytes attr;
    std::vector<uint64_t> ids;
  };

  bool swap_;
  std::vector<Event> events_;
  std::map<uint32_t, Bytes> features_;
  Bytes tracing_;
  Bytes records_;
};

inline Bytes PerfDataBuilder::file(const Header& options) const {
  std::map<uint32_t, Bytes> features = features_;
  if (!tracing_.empty()) features[static_cast<uint32_t>(Feature::tracing_data)] = tracing_;
  const size_t entry = events_.empty() ? 144 : events_[0].attr.size() + 16;
  ByteWriter ids(swap_);
  ByteWriter attrs(swap_);
  for (const Event& event : events_) {
    attrs.bytes(event.attr).u64(options.header_bytes + ids.size()).u64(event.ids.size() * 8);
    for (const uint64_t id : event.ids) ids.u64(id);
  }
  const uint64_t attrs_at = options.header_bytes + ids.size();
  // With early features: sections and a copy of their table, which ends where the data begins.
  const auto sections_from = [&](uint64_t at, ByteWriter& contents, ByteWriter& table) {
    for (const auto& [bit, content] : features) {
      table.u64(at + contents.size()).u64(content.size());
      contents.bytes(content);
    }
  };
  ByteWriter early(swap_);
  ByteWriter early_table(swap_);
  if (options.early_features) sections_from(attrs_at + attrs.size(), early, early_table);
  const uint64_t data_at = attrs_at + attrs.size() + early.size() + early_table.size();
  const uint64_t data_bytes = options.killed ? 0 : records_.size();

  ByteWriter out(swap_);
  if (options.magic == "PERFILE2")
    out.u64(kMagic);
  else
    out.text(options.magic);
  out.u64(options.header_bytes).u64(entry);
  out.u64s({attrs_at, attrs.size(), data_at, data_bytes, 0, 0});
  uint64_t bits[4] = {};
  for (const auto& [bit, content] : features) bits[bit / 64] |= uint64_t{1} << (bit % 64);
  if (options.header_bytes >= 104)
    for (const uint64_t word : bits) out.u64(options.longs32 ? word << 32 | word >> 32 : word);
  out.zeros(options.header_bytes - out.size());
  out.bytes(ids.get()).bytes(attrs.get()).bytes(early.get()).bytes(early_table.get());
  out.bytes(records_);
  if (options.killed) return out.take();
  ByteWriter contents(swap_);
  ByteWriter table(swap_);
  sections_from(data_at + records_.size() + features.size() * 16, contents, table);
  return out.bytes(table.get()).bytes(contents.get()).take();
}

// A file without a name that a reader can open by path.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::byte> bytes) : fd_(::memfd_create("recording", 0)) {
    if (fd_ < 0 || ::write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      std::abort();
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

}  // namespace perf_latency
