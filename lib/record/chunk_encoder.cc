// SPDX-License-Identifier: GPL-2.0-only
#include "record/chunk_encoder.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "base/result.h"
#include "perfdata/abi.h"

namespace perf_latency {

namespace {

// header.size has 16 bits.
constexpr size_t kMaxPayload = 0xfff8 - kRecordHeaderBytes;

}  // namespace

struct ChunkEncoder::Impl {
  ZSTD_CCtx* context = ZSTD_createCCtx();
};

ChunkEncoder::ChunkEncoder(int level)
    : impl_(std::make_unique<Impl>()), frame_(ZSTD_compressBound(kMaxChunkBytes)) {
  PL_CHECK(impl_->context != nullptr);
  ZSTD_CCtx_setParameter(impl_->context, ZSTD_c_compressionLevel, level);
}

ChunkEncoder::~ChunkEncoder() { ZSTD_freeCCtx(impl_->context); }

std::span<const std::byte> ChunkEncoder::encode(std::span<const std::byte> records) {
  PL_CHECK(records.size() <= kMaxChunkBytes);
  const size_t size =
      ZSTD_compress2(impl_->context, frame_.data(), frame_.size(), records.data(), records.size());
  records_.clear();
  if (ZSTD_isError(size)) return {};
  for (size_t at = 0; at < size;) {
    const size_t part = std::min(size - at, kMaxPayload);
    const uint32_t type = static_cast<uint32_t>(RecordType::compressed);
    const uint16_t misc = 0;
    const uint16_t record_bytes = static_cast<uint16_t>(part + kRecordHeaderBytes);
    const size_t begin = records_.size();
    records_.resize(begin + kRecordHeaderBytes);
    std::memcpy(records_.data() + begin, &type, sizeof type);
    std::memcpy(records_.data() + begin + 4, &misc, sizeof misc);
    std::memcpy(records_.data() + begin + 6, &record_bytes, sizeof record_bytes);
    records_.insert(records_.end(), frame_.begin() + static_cast<ptrdiff_t>(at),
                    frame_.begin() + static_cast<ptrdiff_t>(at + part));
    at += part;
  }
  return records_;
}

}  // namespace perf_latency
