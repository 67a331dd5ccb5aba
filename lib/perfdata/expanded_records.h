// SPDX-License-Identifier: GPL-2.0-only
// The record stream inside the COMPRESSED records of one data stream.
//
// Invariant: window() starts at a record's header (once it holds one). Memory is bounded by what one
// batch needs, whatever the compressed bytes promise: they are expanded piece by piece, and what has
// been handed on is kept alive by whoever holds owner().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "perfdata/zstd_stream.h"

namespace perf_latency {

class ExpandedRecords {
 public:
  explicit ExpandedRecords(size_t piece_bytes) : piece_bytes_(piece_bytes) {}

  // Expanded bytes that were not yet taken. Ends anywhere: a record may go on in the next piece.
  std::span<const std::byte> window() const { return std::span(*buffer_).subspan(at_); }
  std::shared_ptr<const std::vector<std::byte>> owner() const { return buffer_; }
  uint64_t offset() const { return offset_; }  // of the compressed record that window() came from
  void advance(size_t bytes) { at_ += bytes; }

  // True while refill() can expand more: compressed bytes are left, or zstd holds output back.
  bool has_more() const { return more_; }

  // Takes the payload of a compressed record, which `payload_owner` keeps alive, and expands a piece of
  // it. Only when has_more() is false. False when nothing of it is valid zstd: it was not taken.
  bool add(std::span<const std::byte> payload, std::shared_ptr<const void> payload_owner,
           uint64_t offset);

  // Expands another piece. False when a fault was met: the rest of the payload is gone, and once
  // the whole records before it are taken drop() is to be called, since nothing tells where in later
  // bytes a record starts.
  bool refill();
  bool at_fault() const { return at_fault_; }

  // Appends bytes as they are.
  void add_plain(std::span<const std::byte> bytes);

  // Gives up everything.
  void drop();

 private:
  void make_room();

  size_t piece_bytes_;
  ZstdStream zstd_;
  std::shared_ptr<std::vector<std::byte>> buffer_ = std::make_shared<std::vector<std::byte>>();
  size_t at_ = 0;
  std::span<const std::byte> compressed_;
  std::shared_ptr<const void> compressed_owner_;
  uint64_t offset_ = 0;
  bool more_ = false;
  bool at_fault_ = false;
};

}  // namespace perf_latency
