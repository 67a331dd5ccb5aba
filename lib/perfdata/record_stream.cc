// SPDX-License-Identifier: GPL-2.0-only
#include "perfdata/record_stream.h"

#include <algorithm>
#include <string>

#include "perfdata/features.h"

namespace perf_latency {
namespace {

// Large enough that handing a batch over costs nothing, small enough to stay in a core's cache.
constexpr size_t kBatchBytes = 256u << 10;
// A COMPRESSED record of 64 KiB expands to what one ring held; this is far beyond any real one.
constexpr size_t kMaxExpandedBytes = 256u << 20;

constexpr uint32_t as_number(RecordType type) { return static_cast<uint32_t>(type); }
constexpr uint64_t round_up_8(uint64_t n) { return (n + 7) & ~uint64_t{7}; }

}  // namespace

RecordStream::Header RecordStream::load_header(const std::byte* at) const {
  const bool swap = metadata_.swapped;
  return {load_unchecked<uint32_t>(at, swap), load_unchecked<uint16_t>(at + 4, swap),
          load_unchecked<uint16_t>(at + 6, swap)};
}

bool RecordStream::whole_record_in_window(Header& header) {
  if (!input_->ensure(kRecordHeaderBytes)) return false;
  header = load_header(input_->window().data());
  // The size of a COMPRESSED2 record of exactly 64 KiB wraps to 0; its data size is the truth.
  if (header.type == as_number(RecordType::compressed2) && header.size < kRecordHeaderBytes &&
      input_->ensure(16)) {
    const auto data_bytes =
        load_unchecked<uint64_t>(input_->window().data() + 8, metadata_.swapped);
    if (data_bytes <= 0x10000) header.size = static_cast<uint32_t>(round_up_8(16 + data_bytes));
  }
  return header.size >= kRecordHeaderBytes && input_->ensure(header.size);
}

// Sizes are what leads from record to record: after a wrong one nothing behind it can be trusted.
void RecordStream::stop_at_bad_record(const Header& header) {
  ended_ = true;
  const std::string where = "at offset " + std::to_string(input_->position());
  if (!input_->read_error().empty()) {
    diagnostics_.add_detail(Diag::file_truncated, input_->read_error() + " " + where);
    metadata_.complete = false;
  } else if (header.size != 0 && header.size < kRecordHeaderBytes) {
    diagnostics_.add_detail(Diag::bad_record, "size " + std::to_string(header.size) + " " + where);
    metadata_.complete = false;
  } else if (!input_->window().empty()) {
    // A killed recorder leaves a cut record, or zeros where the file was grown but not written.
    diagnostics_.add_detail(Diag::file_truncated, "in a record " + where);
    metadata_.complete = false;
  }
}

bool RecordStream::next(RecordBatch& batch) {
  batch = RecordBatch{};
  batch.stream = stream_;
  if (take_expanded(batch)) return true;
  if (ended_) return false;
  // The window of a pipe moves when it is refilled: a batch lies within one window.
  size_t batch_bytes = 0;
  const auto close_batch = [&] {
    batch.bytes = input_->window().first(batch_bytes);
    batch.owner = input_->owner();
    batch.offset = input_->position();
    input_->advance(batch_bytes);
  };
  for (;;) {
    const auto window = input_->window();
    const size_t left = window.size() - batch_bytes;
    Header header{};
    bool whole = false;
    if (left >= kRecordHeaderBytes) {
      header = load_header(window.data() + batch_bytes);
      whole = header.type < as_number(RecordType::first_user) &&
              header.size >= kRecordHeaderBytes && header.size <= left;
    }
    if (whole) {
      batch_bytes += header.size;
      if (batch_bytes < kBatchBytes) continue;
      close_batch();
      return true;
    }
    if (batch_bytes != 0) {
      close_batch();
      // A round that ends right here belongs to this batch.
      Header mark{};
      if (input_->window().size() >= kRecordHeaderBytes) {
        mark = load_header(input_->window().data());
        if (mark.type == as_number(RecordType::finished_round) && whole_record_in_window(mark)) {
          counts_.add(mark.type);
          input_->advance(mark.size);
          batch.ends_round = true;
        }
      }
      return true;
    }
    if (!whole_record_in_window(header)) {
      stop_at_bad_record(header);
      return false;
    }
    if (header.type < as_number(RecordType::first_user)) continue;
    counts_.add(header.type);
    const Step step = take_user_record(header);
    if (step == Step::input_ends) {
      ended_ = true;
      return take_expanded(batch);
    }
    if (step == Step::round_ends) {
      batch.ends_round = true;
      return true;
    }
    if (step == Step::batch_ends && take_expanded(batch)) return true;
  }
}

RecordStream::Step RecordStream::take_user_record(const Header& header) {
  const auto record = input_->window().first(header.size);
  const auto type = static_cast<RecordType>(header.type);
  switch (type) {
    case RecordType::finished_round:
      input_->advance(header.size);
      return Step::round_ends;
    case RecordType::compressed:
    case RecordType::compressed2:
      return expand(header);
    case RecordType::auxtrace: {
      ByteCursor cursor(record.subspan(kRecordHeaderBytes), metadata_.swapped);
      return skip_payload(header, cursor.u64());
    }
    case RecordType::header_tracing_data:
      return read_tracing_data(header);
    case RecordType::header_attr:
      read_attr(record);
      break;
    case RecordType::header_feature:
      read_header_feature(record);
      break;
    case RecordType::event_update:
      read_event_update(record);
      break;
    case RecordType::header_build_id:
      if (auto entry = parse_build_id_record(record, metadata_.swapped))
        metadata_.build_ids.push_back(std::move(*entry));
      break;
    default:
      if (record_type_name(header.type) == nullptr) diagnostics_.add(Diag::unknown_record);
      break;
  }
  input_->advance(header.size);
  return Step::batch_goes_on;
}

RecordStream::Step RecordStream::expand(const Header& header) {
  auto payload = input_->window().subspan(kRecordHeaderBytes, header.size - kRecordHeaderBytes);
  if (header.type == as_number(RecordType::compressed2)) {
    ByteCursor cursor(payload, metadata_.swapped);
    const uint64_t data_bytes = cursor.u64();
    payload = cursor.bytes(std::min<uint64_t>(data_bytes, cursor.left()));
  }
  if (expanded_.empty()) expanded_offset_ = input_->position();
  const size_t before = expanded_.size();
  if (!zstd_.expand(payload, expanded_, before + kMaxExpandedBytes)) {
    // An old recorder that failed to compress stored the plain records instead.
    const bool plausible =
        payload.size() >= kRecordHeaderBytes && load_header(payload.data()).type < 64 &&
        load_header(payload.data()).size >= kRecordHeaderBytes;
    if (plausible && expanded_.size() == before) {
      expanded_.insert(expanded_.end(), payload.begin(), payload.end());
    } else {
      diagnostics_.add_detail(Diag::bad_compressed,
                              "at offset " + std::to_string(input_->position()));
    }
  }
  input_->advance(header.size);
  // Several small chunks make one batch.
  const bool more = input_->window().size() >= kRecordHeaderBytes &&
                    load_header(input_->window().data()).type == header.type;
  return expanded_.size() >= kBatchBytes || !more ? Step::batch_ends : Step::batch_goes_on;
}

// Hands the whole records of expanded_ on; a cut one's head stays for the next chunk.
bool RecordStream::take_expanded(RecordBatch& batch) {
  size_t whole = 0;
  bool round = false;
  size_t mark_bytes = 0;
  while (expanded_.size() - whole >= kRecordHeaderBytes) {
    const Header header = load_header(expanded_.data() + whole);
    if (header.size < kRecordHeaderBytes) {
      diagnostics_.add_detail(Diag::bad_record, "size " + std::to_string(header.size) +
                                                    " in the compressed record at offset " +
                                                    std::to_string(expanded_offset_));
      expanded_.resize(whole);
      break;
    }
    if (header.size > expanded_.size() - whole) break;
    if (header.type >= as_number(RecordType::first_user)) {
      counts_.add(header.type);
      round = header.type == as_number(RecordType::finished_round);
      mark_bytes = header.size;
      break;
    }
    whole += header.size;
  }
  if (whole == 0 && mark_bytes == 0) {
    if (ended_ && !expanded_.empty()) {
      diagnostics_.add_detail(Diag::file_truncated, "in a compressed record");
      metadata_.complete = false;
      expanded_.clear();
    }
    return false;
  }
  const size_t taken = whole + mark_bytes;
  auto rest = std::vector<std::byte>(expanded_.begin() + static_cast<ptrdiff_t>(taken),
                                     expanded_.end());
  auto owner = std::make_shared<std::vector<std::byte>>(std::move(expanded_));
  expanded_ = std::move(rest);
  batch.bytes = std::span(*owner).first(whole);
  batch.owner = std::move(owner);
  batch.offset = expanded_offset_;
  batch.ends_round = round;
  return true;
}

RecordStream::Step RecordStream::skip_payload(const Header& header, uint64_t payload_bytes) {
  input_->advance(header.size);
  if (input_->skip(payload_bytes)) return Step::batch_goes_on;
  diagnostics_.add_detail(Diag::file_truncated, "in an AUXTRACE payload");
  metadata_.complete = false;
  return Step::input_ends;
}

RecordStream::Step RecordStream::read_tracing_data(const Header& header) {
  ByteCursor cursor(input_->window().subspan(kRecordHeaderBytes,
                                             header.size - kRecordHeaderBytes),
                    metadata_.swapped);
  const uint64_t bytes = round_up_8(cursor.u32());
  input_->advance(header.size);
  if (!input_->ensure(bytes)) {
    diagnostics_.add_detail(Diag::file_truncated, "in the tracing data");
    metadata_.complete = false;
    return Step::input_ends;
  }
  const auto data = input_->window().first(bytes);
  read_feature(static_cast<uint32_t>(Feature::tracing_data), data, metadata_, diagnostics_);
  input_->advance(bytes);
  return Step::batch_goes_on;
}

// perf_event_attr (as long as its own size says), then ids up to the record's end.
void RecordStream::read_attr(std::span<const std::byte> record) {
  const auto body = record.subspan(kRecordHeaderBytes);
  const auto attr = parse_event_attr(body, metadata_.swapped);
  if (!attr) {
    diagnostics_.add_detail(Diag::bad_record, "HEADER_ATTR");
    return;
  }
  const size_t attr_bytes = attr->size == 0 ? kMinAttrBytes : attr->size;
  if (attr_bytes > body.size()) {
    diagnostics_.add_detail(Diag::bad_record, "HEADER_ATTR");
    return;
  }
  EventDescription event{*attr, {}, {}};
  ByteCursor ids(body.subspan(attr_bytes), metadata_.swapped);
  while (ids.left() >= 8) event.ids.push_back(ids.u64());
  metadata_.add_event(std::move(event));
}

void RecordStream::read_event_update(std::span<const std::byte> record) {
  constexpr uint64_t kUpdateName = 2;
  ByteCursor cursor(record.subspan(kRecordHeaderBytes), metadata_.swapped);
  const uint64_t what = cursor.u64();
  const uint64_t id = cursor.u64();
  if (cursor.ok() && what == kUpdateName) metadata_.name_event(id, cursor.text(cursor.left()));
}

void RecordStream::read_header_feature(std::span<const std::byte> record) {
  ByteCursor cursor(record.subspan(kRecordHeaderBytes), metadata_.swapped);
  const uint64_t bit = cursor.u64();
  if (!cursor.ok() || bit >= kFeatureBits) {
    diagnostics_.add_detail(Diag::bad_record, "HEADER_FEATURE");
    return;
  }
  read_feature(static_cast<uint32_t>(bit), cursor.bytes(cursor.left()), metadata_, diagnostics_);
}

}  // namespace perf_latency
