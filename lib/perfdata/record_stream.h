// SPDX-License-Identifier: GPL-2.0-only
// Cuts one data stream (a file's data section, a pipe, a DIR/data.N) into batches of records.
//
// Records of perf itself (type >= 64) are handled here, in file order: they end rounds, expand into
// further records, or add to the metadata. Everything else is passed on in batches.
#pragma once

#include <memory>

#include "base/diagnostics.h"
#include "perfdata/input_stream.h"
#include "perfdata/metadata.h"
#include "perfdata/record_batch.h"
#include "perfdata/zstd_stream.h"

namespace perf_latency {

class RecordStream {
 public:
  // `metadata` and `diagnostics` outlive the stream.
  RecordStream(std::unique_ptr<InputStream> input, uint32_t stream, Metadata& metadata,
               Diagnostics& diagnostics, RecordCounts& counts)
      : input_(std::move(input)),
        stream_(stream),
        metadata_(metadata),
        diagnostics_(diagnostics),
        counts_(counts) {}

  // The next batch, which may be empty but for ends_round. False at the end.
  bool next(RecordBatch& batch);

  const InputStream& input() const { return *input_; }

 private:
  struct Header {
    uint32_t type;
    uint16_t misc;
    uint32_t size;
  };
  enum class Step { batch_goes_on, batch_ends, round_ends, input_ends };

  Header load_header(const std::byte* at) const;
  bool whole_record_in_window(Header& header);
  Step take_user_record(const Header& header);
  Step expand(const Header& header);
  bool take_expanded(RecordBatch& batch);
  Step skip_payload(const Header& header, uint64_t payload_bytes);
  Step read_tracing_data(const Header& header);
  void read_attr(std::span<const std::byte> record);
  void read_event_update(std::span<const std::byte> record);
  void read_header_feature(std::span<const std::byte> record);
  void stop_at_bad_record(const Header& header);

  std::unique_ptr<InputStream> input_;
  uint32_t stream_;
  Metadata& metadata_;
  Diagnostics& diagnostics_;
  RecordCounts& counts_;
  ZstdStream zstd_;
  std::vector<std::byte> expanded_;  // not yet handed on; starts with a whole record's header
  uint64_t expanded_offset_ = 0;
  bool ended_ = false;
};

}  // namespace perf_latency
