// SPDX-License-Identifier: GPL-2.0-only
// Turns batches of records into events. One Decoder for each thread that decodes.
//
// Only what the plan needs is looked at: of an unwanted sample the header and the time, of a wanted
// one its raw fields, and call chains where a sleep begins. Chains and names are interned in pools
// that all decoders share; each decoder remembers what it has seen, so the pools' locks are rarely
// taken. Input: whole records, sizes checked (RecordBatch). Output: in the order of the input.
#pragma once

#include <memory>
#include <vector>

#include "base/diagnostics.h"
#include "base/stack_pool.h"
#include "base/string_pool.h"
#include "perfdata/record_batch.h"
#include "tracepoint/decode_plan.h"
#include "tracepoint/dump_store.h"
#include "tracepoint/event.h"

namespace perf_latency {

// What all decoders of a run share.
struct DecodePools {
  StringPool strings;
  StackPool stacks;
  DumpStore dumps;
};

// What the decoders count; merged at the end.
struct DecodeCounts {
  RecordCounts records;
  std::vector<uint64_t> samples_of_event;  // by index into Metadata::events
  uint64_t samples = 0;
  uint64_t first_time_ns = UINT64_MAX;  // of samples
  uint64_t last_time_ns = 0;
  uint64_t lost_records = 0;  // sum of LOST
  uint64_t lost_samples = 0;  // sum of LOST_SAMPLES
  Diagnostics diagnostics;

  void merge(const DecodeCounts& other);
};

class Decoder {
 public:
  explicit Decoder(DecodePools& pools) : pools_(pools), comms_(kComms), chains_(kChains) {}

  // Appends the events of `batch` to `events`.
  void decode(const RecordBatch& batch, const DecodePlan& plan, std::vector<Event>& events);

  const DecodeCounts& counts() const { return counts_; }

 private:
  static constexpr size_t kComms = 4096;
  static constexpr size_t kChains = 16384;

  struct CommEntry {
    uint64_t low = 0;
    uint64_t high = 0;
    StringId id;
  };
  struct ChainEntry {
    uint64_t hash = 0;
    StackId id;
  };

  void decode_sample(std::span<const std::byte> record, uint16_t misc, const DecodePlan& plan,
                     std::vector<Event>& events);
  bool decode_tracepoint(const EventPlan& event_plan, const DecodePlan& plan,
                         const SampleView& view, Event& event);
  bool decode_switch(const EventPlan& event_plan, const DecodePlan& plan, const SampleView& view,
                     Event& event);
  void decode_wakeup(const EventPlan& event_plan, const DecodePlan& plan, const SampleView& view,
                     Event& event);
  void take_chain(const SampleView& view, const DecodePlan& plan, bool user, Event& event);
  void take_deferred_chain(std::span<const std::byte> frames, const DecodePlan& plan, Event& event);
  void take_dump(const SampleView& view, const EventPlan& event_plan, Event& event);
  void decode_other(std::span<const std::byte> record, uint32_t type, uint16_t misc,
                    const DecodePlan& plan, std::vector<Event>& events);
  bool decode_record(std::span<const std::byte> body, uint32_t type, uint16_t misc,
                     const DecodePlan& plan, Event& event);
  bool decode_map(std::span<const std::byte> body, uint32_t type, uint16_t misc,
                  const DecodePlan& plan, Event& event);
  StringId text(const FieldRef& field, std::span<const std::byte> raw, bool swap);
  StackId intern_chain(const std::byte* frames, size_t count, bool swap);

  DecodePools& pools_;
  DecodeCounts counts_;
  std::vector<CommEntry> comms_;    // direct-mapped
  std::vector<ChainEntry> chains_;  // direct-mapped
  std::vector<uint64_t> scratch_;
};

}  // namespace perf_latency
