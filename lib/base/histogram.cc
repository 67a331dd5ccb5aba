// SPDX-License-Identifier: GPL-2.0-only
#include "base/histogram.h"

#include <algorithm>
#include <cmath>

namespace perf_latency {

uint64_t Histogram::percentile(double percent) const {
  if (total_ == 0) return 0;
  const double exact = percent / 100.0 * static_cast<double>(total_);
  const uint64_t rank = std::clamp<uint64_t>(static_cast<uint64_t>(std::ceil(exact)), 1, total_);
  uint64_t seen = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen < rank) continue;
    const uint64_t from = low(first_ + i);
    return from + (low(first_ + i + 1) - from) / 2;
  }
  return 0;
}

}  // namespace perf_latency
