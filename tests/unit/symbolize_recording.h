// SPDX-License-Identifier: GPL-2.0-only
// Replays a recording for the tests of symbolize: user maps into an AddressSpaces, samples to a
// visitor, all in order of time.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/byte_cursor.h"
#include "perfdata/reader.h"
#include "perfdata/sample_layout.h"
#include "symbolize/address_spaces.h"

namespace perf_latency {

class SymbolizeRecording {
 public:
  // False when the file cannot be read.
  bool open(const std::string& path) {
    auto reader = Reader::open(path, true);
    if (!reader) return false;
    reader_ = std::move(*reader);
    RecordBatch batch;
    while (reader_->next(batch)) {
      const std::byte* const owner = batch.bytes.data();
      bytes_.emplace_back(owner, owner + batch.bytes.size());
    }
    for (const auto& bytes : bytes_) split(bytes);
    std::stable_sort(records_.begin(), records_.end(),
                     [](const Record& a, const Record& b) { return a.time_ns < b.time_ns; });
    return true;
  }

  const Metadata& metadata() const { return reader_->metadata(); }
  bool swap() const { return metadata().swapped; }

  // visit(const SampleView&, const SampleLayout&)
  template <typename Visit>
  void replay(AddressSpaces& spaces, Visit&& visit) {
    for (const BuildIdEntry& entry : metadata().build_ids)
      spaces.dsos().add_build_id(entry.path, BuildId(std::as_bytes(std::span(entry.id))));
    for (const Record& record : records_) {
      if (record.type != static_cast<uint32_t>(RecordType::sample)) {
        apply(record, spaces);
        continue;
      }
      SampleView view;
      if (parse_sample(layouts_[record.event], record.bytes, swap(), SampleDepth::everything, view))
        visit(view, layouts_[record.event]);
    }
  }

  // The user part of a sample's recorded call chain.
  std::vector<uint64_t> user_chain(const SampleView& view) const {
    std::vector<uint64_t> chain;
    bool user = false;
    for (uint32_t i = 0; i < view.chain_length; ++i) {
      const auto ip = load_unchecked<uint64_t>(view.chain + i * 8, swap());
      if (ip >= kContextMax)
        user = ip == kContextUser;
      else if (user)
        chain.push_back(ip);
    }
    return chain;
  }

 private:
  struct Record {
    uint32_t type = 0;
    uint16_t misc = 0;
    uint32_t event = 0;
    uint64_t time_ns = 0;
    std::span<const std::byte> bytes;
  };

  void split(const std::vector<std::byte>& bytes) {
    const EventIndex index(metadata());
    layouts_.clear();
    for (const EventDescription& event : metadata().events) layouts_.emplace_back(event.attr);
    for (std::span<const std::byte> left = bytes; left.size() >= kRecordHeaderBytes;) {
      ByteCursor in(left, swap());
      Record record;
      record.type = in.u32();
      record.misc = in.u16();
      const size_t size = in.u16();
      if (size < kRecordHeaderBytes || size > left.size()) return;
      record.bytes = left.first(size);
      left = left.subspan(size);
      const bool is_sample = record.type == static_cast<uint32_t>(RecordType::sample);
      record.event =
          is_sample ? index.of_sample(record.bytes, swap()) : index.of_other(record.bytes, swap());
      if (record.event >= layouts_.size()) record.event = 0;
      SampleView view;
      RecordTrailer trailer;
      if (is_sample &&
          parse_sample(layouts_[record.event], record.bytes, swap(), SampleDepth::header, view))
        record.time_ns = view.time_ns;
      else if (parse_trailer(layouts_[record.event], record.bytes, swap(), trailer))
        record.time_ns = trailer.time_ns;
      records_.push_back(record);
    }
  }

  void apply(const Record& record, AddressSpaces& spaces) const {
    ByteCursor in(record.bytes.subspan(kRecordHeaderBytes), swap());
    const auto pid = static_cast<int32_t>(in.u32());
    const auto second = static_cast<int32_t>(in.u32());
    const bool user = (record.misc & kMiscCpumodeMask) == kMiscUser;
    switch (static_cast<RecordType>(record.type)) {
      case RecordType::mmap:
      case RecordType::mmap2: {
        if (!user || (record.misc & kMiscMmapData) != 0) return;
        UserMap map{pid, in.u64(), in.u64(), in.u64(), {}, {}};
        if (record.type == static_cast<uint32_t>(RecordType::mmap2)) {
          if ((record.misc & kMiscMmapBuildId) != 0) {
            const uint8_t size = in.u8();
            in.skip(3);
            map.build_id = BuildId(in.bytes(20).first(std::min<size_t>(size, 20)));
          } else {
            in.skip(24);
          }
          in.skip(8);  // prot, flags
        }
        map.name = in.text(in.left());
        spaces.mmap(map);
        return;
      }
      case RecordType::fork:
        return spaces.fork(pid, second, (record.misc & 0x2000) == 0);
      case RecordType::exit:
        return spaces.exit_thread(pid);
      case RecordType::comm:
        if ((record.misc & kMiscCommExec) != 0) spaces.exec(pid);
        return;
      default:
        return;
    }
  }

  std::unique_ptr<Reader> reader_;
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<SampleLayout> layouts_;
  std::vector<Record> records_;
};

}  // namespace perf_latency
