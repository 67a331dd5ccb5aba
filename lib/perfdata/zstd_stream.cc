// SPDX-License-Identifier: GPL-2.0-only
#include "perfdata/zstd_stream.h"

#include <zstd.h>

namespace perf_latency {

// A hostile frame may ask for a window of gigabytes; perf's levels need at most 2^27 bytes.
constexpr int kMaxWindowLog = 27;

struct ZstdStream::Impl {
  ZSTD_DStream* stream = nullptr;
};

ZstdStream::ZstdStream() : impl_(std::make_unique<Impl>()) {}
ZstdStream::~ZstdStream() { ZSTD_freeDStream(impl_->stream); }

ZstdStream::Status ZstdStream::expand(std::span<const std::byte>& compressed,
                                      std::vector<std::byte>& out, size_t enough) {
  if (impl_->stream == nullptr) {
    impl_->stream = ZSTD_createDStream();
    if (impl_->stream == nullptr) return Status::bad;
    ZSTD_DCtx_setParameter(impl_->stream, ZSTD_d_windowLogMax, kMaxWindowLog);
  }
  ZSTD_inBuffer input{compressed.data(), compressed.size(), 0};
  const size_t step = ZSTD_DStreamOutSize();
  const size_t start = out.size();
  for (;;) {
    const size_t before = out.size();
    if (before - start >= enough) {
      compressed = compressed.subspan(input.pos);
      return Status::more;
    }
    out.resize(before + step);
    ZSTD_outBuffer output{out.data() + before, step, 0};
    const size_t status = ZSTD_decompressStream(impl_->stream, &output, &input);
    out.resize(before + output.pos);
    if (ZSTD_isError(status) != 0) {
      // The state after an error is undefined: start anew, so that a later frame can be read.
      ZSTD_DCtx_reset(impl_->stream, ZSTD_reset_session_only);
      compressed = {};
      return Status::bad;
    }
    if (input.pos == input.size && output.pos < step) {
      compressed = {};
      return Status::all_taken;
    }
  }
}

}  // namespace perf_latency
