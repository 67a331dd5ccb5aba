// SPDX-License-Identifier: GPL-2.0-only
#include "perfdata/record_stream.h"

#include <algorithm>
#include <string>

#include "perfdata/features.h"

namespace perf_latency {
namespace {

// Large enough that handing a batch over costs nothing, small enough to stay in a core's cache.
constexpr size_t kBatchBytes = 256u << 10;
// perf makes a few hundred events at most; each one costs a plan.
constexpr size_t kMaxEvents = 1u << 14;

constexpr uint32_t as_number(RecordType type) { return static_cast<uint32_t>(type); }
constexpr uint64_t round_up_8(uint64_t n) { return (n + 7) & ~uint64_t{7}; }
constexpr bool is_compressed(uint32_t type) {
  return type == as_number(RecordType::compressed) || type == as_number(RecordType::compressed2);
}

}  // namespace

RecordStream::RecordStream(std::unique_ptr<InputStream> input, uint32_t stream, Metadata& metadata,
                           Diagnostics& diagnostics, RecordCounts& counts)
    : input_(std::move(input)),
      stream_(stream),
      metadata_(metadata),
      diagnostics_(diagnostics),
      counts_(counts),
      expanded_(kBatchBytes) {}

RecordStream::Header RecordStream::load_header(const std::byte* at) const {
  const bool swap = metadata_.swapped;
  return {load_unchecked<uint32_t>(at, swap), load_unchecked<uint16_t>(at + 4, swap),
          load_unchecked<uint16_t>(at + 6, swap)};
}

// How many bytes at the window's start are whole records of the kernel; one batch's worth at most.
size_t RecordStream::kernel_records(std::span<const std::byte> window) const {
  size_t bytes = 0;
  while (bytes < kBatchBytes && window.size() - bytes >= kRecordHeaderBytes) {
    const Header header = load_header(window.data() + bytes);
    if (header.type >= as_number(RecordType::first_user) || header.size < kRecordHeaderBytes ||
        header.size > window.size() - bytes)
      break;
    bytes += header.size;
  }
  return bytes;
}

// True when the next record is a whole FINISHED_ROUND, which the caller then steps over.
bool RecordStream::round_ends_at(std::span<const std::byte> window) {
  if (window.size() < kRecordHeaderBytes) return false;
  const Header header = load_header(window.data());
  return header.type == as_number(RecordType::finished_round) && header.size == kRecordHeaderBytes;
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

void RecordStream::note_cut(const std::string& where) {
  diagnostics_.add_detail(Diag::file_truncated, where);
  metadata_.complete = false;
}

// Sizes are what leads from record to record: after a wrong one nothing behind it can be trusted.
void RecordStream::stop_at_bad_record(const Header& header) {
  ended_ = true;
  const std::string where = "at offset " + std::to_string(input_->position());
  if (!input_->read_error().empty()) {
    note_cut(input_->read_error() + " " + where);
  } else if (header.size != 0 && header.size < kRecordHeaderBytes) {
    diagnostics_.add_detail(Diag::bad_record, "size " + std::to_string(header.size) + " " + where);
    metadata_.complete = false;
  } else if (!input_->window().empty()) {
    // A killed recorder leaves a cut record, or zeros where the file was grown but not written.
    note_cut("in a record " + where);
  }
}

bool RecordStream::next(RecordBatch& batch) {
  for (;;) {
    batch = RecordBatch{};
    batch.stream = stream_;
    if (take_expanded(batch)) return true;
    if (ended_) return false;
    switch (take_plain(batch)) {
      case Step::batch_is_ready:
        return true;
      case Step::ended:
        ended_ = true;
        break;
      case Step::goes_on:
        break;
    }
  }
}

// Takes what stands next in the input itself: records of the kernel, or one record of perf.
RecordStream::Step RecordStream::take_plain(RecordBatch& batch) {
  Header header{};
  if (!whole_record_in_window(header)) {
    stop_at_bad_record(header);
    return Step::ended;
  }
  if (header.type >= as_number(RecordType::first_user)) {
    counts_.add(header.type);
    return take_user_record(header, batch);
  }
  // The window of a pipe moves when it is refilled: a batch lies within one window.
  const size_t bytes = kernel_records(input_->window());
  batch.bytes = input_->window().first(bytes);
  batch.owner = input_->owner();
  batch.offset = input_->position();
  input_->advance(bytes);
  if (round_ends_at(input_->window())) {
    counts_.add(as_number(RecordType::finished_round));
    input_->advance(kRecordHeaderBytes);
    batch.ends_round = true;
  }
  return Step::batch_is_ready;
}

RecordStream::Step RecordStream::take_user_record(const Header& header, RecordBatch& batch) {
  const auto record = input_->window().first(header.size);
  switch (static_cast<RecordType>(header.type)) {
    case RecordType::finished_round:
      input_->advance(header.size);
      batch.ends_round = true;
      return Step::batch_is_ready;
    case RecordType::compressed:
    case RecordType::compressed2:
      expand(header);
      return Step::goes_on;
    case RecordType::auxtrace: {
      ByteCursor cursor(record.subspan(kRecordHeaderBytes), metadata_.swapped);
      return skip_payload(header, cursor.u64());
    }
    case RecordType::header_tracing_data:
      return read_tracing_data(header);
    default:
      read_metadata_record(header.type, record);
      input_->advance(header.size);
      return Step::goes_on;
  }
}

// Records that are complete in themselves, compressed or not.
void RecordStream::read_metadata_record(uint32_t type, std::span<const std::byte> record) {
  switch (static_cast<RecordType>(type)) {
    case RecordType::header_attr:
      read_attr(record);
      break;
    case RecordType::header_feature:
      read_header_feature(record);
      break;
    case RecordType::event_update:
      read_event_update(record);
      break;
    case RecordType::id_index:
      read_id_index(record);
      break;
    case RecordType::header_build_id:
      if (auto entry = parse_build_id_record(record, metadata_.swapped))
        metadata_.build_ids.push_back(std::move(*entry));
      break;
    default:
      if (record_type_name(type) == nullptr) diagnostics_.add(Diag::unknown_record);
      break;
  }
}

std::span<const std::byte> RecordStream::compressed_payload(const Header& header) const {
  const auto payload =
      input_->window().subspan(kRecordHeaderBytes, header.size - kRecordHeaderBytes);
  if (header.type != as_number(RecordType::compressed2)) return payload;
  ByteCursor cursor(payload, metadata_.swapped);
  const uint64_t data_bytes = cursor.u64();
  return cursor.bytes(std::min<uint64_t>(data_bytes, cursor.left()));
}

// Expands this compressed record and those right behind it: several small ones make one batch.
void RecordStream::expand(const Header& first) {
  Header header = first;
  for (;;) {
    const auto payload = compressed_payload(header);
    if (!expanded_.add(payload, input_->owner(), input_->position())) {
      // An old recorder that failed to compress stored the plain records instead.
      const bool plausible = payload.size() >= kRecordHeaderBytes &&
                             load_header(payload.data()).type < 64 &&
                             load_header(payload.data()).size >= kRecordHeaderBytes;
      if (plausible) {
        expanded_.add_plain(payload);
      } else {
        diagnostics_.add_detail(Diag::bad_compressed,
                                "at offset " + std::to_string(input_->position()));
        // Whatever began in the last good record does not go on in the next one.
        if (kernel_records(expanded_.window()) == 0) expanded_.drop();
      }
    }
    input_->advance(header.size);
    if (expanded_.has_more() || expanded_.at_fault() || expanded_.window().size() >= kBatchBytes ||
        input_->window().size() < kRecordHeaderBytes ||
        !is_compressed(load_header(input_->window().data()).type) ||
        !whole_record_in_window(header))
      return;
    counts_.add(header.type);
  }
}

// Hands on what compressed records held, up to a record that is not yet complete.
bool RecordStream::take_expanded(RecordBatch& batch) {
  for (;;) {
    if (take_expanded_piece(batch)) return true;
    if (expanded_.at_fault()) {
      diagnostics_.add_detail(Diag::bad_compressed,
                              "at offset " + std::to_string(expanded_.offset()));
      expanded_.drop();
    }
    if (!expanded_.has_more()) break;
    expanded_.refill();
  }
  if (ended_ && !expanded_.window().empty()) {
    note_cut("in a compressed record");
    expanded_.drop();
  }
  return false;
}

bool RecordStream::take_expanded_piece(RecordBatch& batch) {
  for (;;) {
    const auto window = expanded_.window();
    const size_t bytes = kernel_records(window);
    if (bytes != 0) {
      batch.bytes = window.first(bytes);
      batch.owner = expanded_.owner();
      batch.offset = expanded_.offset();
      expanded_.advance(bytes);
    }
    if (round_ends_at(expanded_.window())) {
      counts_.add(as_number(RecordType::finished_round));
      expanded_.advance(kRecordHeaderBytes);
      batch.ends_round = true;
      return true;
    }
    if (bytes != 0) return true;
    if (window.size() < kRecordHeaderBytes) return false;
    const Header header = load_header(window.data());
    if (header.size < kRecordHeaderBytes) {
      diagnostics_.add_detail(Diag::bad_record, "size " + std::to_string(header.size) +
                                                    " in the compressed record at offset " +
                                                    std::to_string(expanded_.offset()));
      expanded_.drop();
      return false;
    }
    if (header.size > window.size()) return false;
    counts_.add(header.type);
    read_metadata_record(header.type, window.first(header.size));
    expanded_.advance(header.size);
  }
}

RecordStream::Step RecordStream::skip_payload(const Header& header, uint64_t payload_bytes) {
  input_->advance(header.size);
  if (input_->skip(payload_bytes)) return Step::goes_on;
  note_cut("in an AUXTRACE payload");
  return Step::ended;
}

RecordStream::Step RecordStream::read_tracing_data(const Header& header) {
  ByteCursor cursor(input_->window().subspan(kRecordHeaderBytes, header.size - kRecordHeaderBytes),
                    metadata_.swapped);
  const uint64_t bytes = round_up_8(cursor.u32());
  input_->advance(header.size);
  if (!input_->ensure(bytes)) {
    note_cut("in the tracing data");
    return Step::ended;
  }
  const auto data = input_->window().first(bytes);
  read_feature(static_cast<uint32_t>(Feature::tracing_data), data, metadata_, diagnostics_);
  input_->advance(bytes);
  return Step::goes_on;
}

// perf_event_attr (as long as its own size says), then ids up to the record's end.
void RecordStream::read_attr(std::span<const std::byte> record) {
  const auto body = record.subspan(kRecordHeaderBytes);
  const auto attr = parse_event_attr(body, metadata_.swapped);
  const size_t attr_bytes = attr && attr->size != 0 ? attr->size : kMinAttrBytes;
  if (!attr || attr_bytes > body.size() || metadata_.events.size() >= kMaxEvents) {
    diagnostics_.add_detail(Diag::bad_record, "HEADER_ATTR");
    return;
  }
  EventDescription event{*attr, {}, {}};
  ByteCursor ids(body.subspan(attr_bytes), metadata_.swapped);
  while (ids.left() >= 8) event.ids.push_back(ids.u64());
  // perf inject may repeat in records what the header says already.
  const bool known = !event.ids.empty() &&
                     std::all_of(event.ids.begin(), event.ids.end(),
                                 [&](uint64_t id) { return metadata_.event_of_id.contains(id); });
  if (!known) metadata_.add_event(std::move(event));
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

// u64 count, {id, index, cpu, tid} for each, and in recordings of guests {machine pid, vcpu} for each
// behind that (tools/lib/perf/include/perf/event.h, 6.12). Only who is a guest matters: pids and CPUs
// of its events are not this machine's.
void RecordStream::read_id_index(std::span<const std::byte> record) {
  constexpr size_t kEntryWords = 4;
  constexpr size_t kGuestEntryWords = 2;
  ByteCursor cursor(record.subspan(kRecordHeaderBytes), metadata_.swapped);
  const uint64_t count = cursor.u64();
  if (!cursor.ok() || count > cursor.left() / (8 * kEntryWords)) {
    diagnostics_.add_detail(Diag::bad_record, "ID_INDEX");
    return;
  }
  const auto entries = cursor.bytes(count * 8 * kEntryWords);
  if (cursor.left() < count * 8 * kGuestEntryWords) return;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t machine_pid = cursor.u64();
    cursor.u64();  // vcpu
    if (machine_pid == 0) continue;
    metadata_.guest_ids.insert(
        load_unchecked<uint64_t>(entries.data() + i * 8 * kEntryWords, metadata_.swapped));
    ++metadata_.generation;
  }
}

}  // namespace perf_latency
