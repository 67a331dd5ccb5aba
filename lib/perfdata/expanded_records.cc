// SPDX-License-Identifier: GPL-2.0-only
#include "perfdata/expanded_records.h"

#include <utility>

#include "base/result.h"

namespace perf_latency {

// Bytes that were handed on must not move: an unfinished record goes to a new buffer then. It is less
// than 64 KiB, since callers take all whole records first.
void ExpandedRecords::make_room() {
  if (buffer_.use_count() == 1 && at_ == 0) return;
  const auto rest = window();
  auto next = std::make_shared<std::vector<std::byte>>();
  next->reserve(rest.size() + piece_bytes_);
  next->assign(rest.begin(), rest.end());
  buffer_ = std::move(next);
  at_ = 0;
}

bool ExpandedRecords::add(std::span<const std::byte> payload,
                          std::shared_ptr<const void> payload_owner, uint64_t offset) {
  PL_CHECK(!more_);
  if (window().empty()) offset_ = offset;
  make_room();
  const size_t before = buffer_->size();
  compressed_ = payload;
  compressed_owner_ = std::move(payload_owner);
  if (refill() || buffer_->size() != before) return true;
  at_fault_ = false;
  return false;
}

bool ExpandedRecords::refill() {
  make_room();
  const auto status = zstd_.expand(compressed_, *buffer_, piece_bytes_);
  more_ = status == ZstdStream::Status::more;
  if (compressed_.empty()) compressed_owner_.reset();
  at_fault_ = status == ZstdStream::Status::bad;
  return !at_fault_;
}

void ExpandedRecords::add_plain(std::span<const std::byte> bytes) {
  make_room();
  buffer_->insert(buffer_->end(), bytes.begin(), bytes.end());
}

void ExpandedRecords::drop() {
  buffer_ = std::make_shared<std::vector<std::byte>>();
  at_ = 0;
  compressed_ = {};
  compressed_owner_.reset();
  more_ = false;
  at_fault_ = false;
}

}  // namespace perf_latency
