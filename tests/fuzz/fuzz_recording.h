// SPDX-License-Identifier: GPL-2.0-only
// Runs a recording through reader, formats, decoder and sorter, with every field of every record looked
// at and every event kept, as the analyses do. What the counters say must be true of what came out.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "perfdata/reader.h"
#include "tracepoint/decoder.h"
#include "tracepoint/event_sorter.h"

namespace perf_latency {

inline DecodeNeeds need_everything() {
  DecodeNeeds needs;
  needs.kinds.set();
  needs.sleep_stacks = needs.waker_stacks = needs.other_stacks = true;
  needs.user_stacks = needs.user_maps = needs.validate = true;
  return needs;
}

class FuzzRun {
 public:
  // A few events in memory at a time, so that most inputs use the disk too.
  static constexpr size_t kMaxPending = 64;

  void run(const std::string& path) {
    auto opened = Reader::open(path, true);
    if (!opened) return;
    Reader& reader = **opened;
    RecordBatch batch;
    while (reader.next(batch)) {
      update_plan(reader.metadata());
      std::vector<Event> events;
      decoder_.decode(batch, *plan_, events);
      for (const Event& event : events) keep(event);
      decoded_ += events.size();
      sorter_.add(std::move(events));
      if (batch.ends_round) sorter_.end_round();
    }
    sorter_.finish();
    if (handed_on_ != decoded_) std::abort();
    if (decoder_.counts().samples != decoder_.counts().records[9]) std::abort();
  }

 private:
  void update_plan(const Metadata& metadata) {
    if (plan_ != nullptr && generation_ == metadata.generation) return;
    generation_ = metadata.generation;
    if (formats_ == nullptr && !metadata.tracing_data.empty()) {
      auto data = parse_tracing_data(metadata.tracing_data);
      if (data) formats_ = std::make_unique<FormatCache>(std::move(*data));
    }
    plan_ = DecodePlan::make(metadata, formats_.get(), need_everything(), diagnostics_);
  }
  void keep(const Event& event) {
    if (event.kind == EventKind::record_mmap) maps_.emplace_back(event.map.map);
    if ((event.flags & kEventDump) != 0) pools_.dumps.take(event.user_stack.value);
    // Ids must be those of the pools.
    if (event.stack.valid() && event.stack.value >= pools_.stacks.size()) std::abort();
  }

  Diagnostics diagnostics_;
  DecodePools pools_;
  Decoder decoder_{pools_};
  EventBuffers buffers_;
  std::unique_ptr<FormatCache> formats_;
  std::shared_ptr<const DecodePlan> plan_;
  uint32_t generation_ = 0;
  uint64_t decoded_ = 0;
  uint64_t handed_on_ = 0;
  std::vector<std::unique_ptr<MapRecord>> maps_;
  EventSorter sorter_{[this](const Event* const*, size_t count) { handed_on_ += count; },
                      diagnostics_, buffers_, kMaxPending};
};

}  // namespace perf_latency
