// SPDX-License-Identifier: GPL-2.0-only
// Cuts one data stream (a file's data section, a pipe, a DIR/data.N) into batches of records.
//
// Records of perf itself (type >= 64) are handled here, in file order: they end rounds, expand into
// further records, or add to the metadata. Everything else is passed on in batches.
#pragma once

#include <memory>
#include <span>

#include "base/diagnostics.h"
#include "perfdata/expanded_records.h"
#include "perfdata/input_stream.h"
#include "perfdata/metadata.h"
#include "perfdata/record_batch.h"

namespace perf_latency {

class RecordStream {
 public:
  // `metadata`, `diagnostics` and `counts` outlive the stream.
  RecordStream(std::unique_ptr<InputStream> input, uint32_t stream, Metadata& metadata,
               Diagnostics& diagnostics, RecordCounts& counts);

  // The next batch, which may be empty but for ends_round. False at the end.
  bool next(RecordBatch& batch);

  const InputStream& input() const { return *input_; }

 private:
  struct Header {
    uint32_t type;
    uint16_t misc;
    uint32_t size;
  };
  enum class Step { goes_on, batch_is_ready, ended };

  Header load_header(const std::byte* at) const;
  size_t kernel_records(std::span<const std::byte> window) const;
  bool round_ends_at(std::span<const std::byte> window);
  bool whole_record_in_window(Header& header);
  Step take_plain(RecordBatch& batch);
  Step take_user_record(const Header& header, RecordBatch& batch);
  bool take_expanded(RecordBatch& batch);
  bool take_expanded_piece(RecordBatch& batch);
  void expand(const Header& header);
  std::span<const std::byte> compressed_payload(const Header& header) const;
  Step skip_payload(const Header& header, uint64_t payload_bytes);
  Step read_tracing_data(const Header& header);
  void read_metadata_record(uint32_t type, std::span<const std::byte> record);
  void read_attr(std::span<const std::byte> record);
  void read_event_update(std::span<const std::byte> record);
  void read_header_feature(std::span<const std::byte> record);
  void read_id_index(std::span<const std::byte> record);
  void stop_at_bad_record(const Header& header);
  void note_cut(const std::string& where);

  std::unique_ptr<InputStream> input_;
  uint32_t stream_;
  Metadata& metadata_;
  Diagnostics& diagnostics_;
  RecordCounts& counts_;
  ExpandedRecords expanded_;
  bool ended_ = false;
};

}  // namespace perf_latency
