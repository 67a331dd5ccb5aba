// SPDX-License-Identifier: GPL-2.0-only
// A log-linear histogram of durations: percentiles of any number of values in bounded memory.
//
// Each power of two is cut into 64 equal parts; a percentile is the middle of its part, so it is
// off by at most 1/128 (0.79 %). Values below 64 are exact. Histograms add up bucket by bucket, so
// those of several recordings can be merged. Buckets are allocated only as far as values reach.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace perf_latency {

class Histogram {
 public:
  static constexpr unsigned kSubBits = 6;
  static constexpr double kMaxRelativeError = 1.0 / (1 << (kSubBits + 1));

  void add(uint64_t value, uint64_t n = 1) {
    const size_t bucket = bucket_of(value);
    // The first value gets a few buckets only: most rows hold few values close together.
    if (counts_.empty()) {
      first_ = bucket;
      counts_.assign(1, 0);
    } else if (bucket < first_) {
      counts_.insert(counts_.begin(), first_ - bucket, 0);
      first_ = bucket;
    } else if (bucket >= first_ + counts_.size()) {
      counts_.resize(bucket - first_ + 1, 0);
    }
    counts_[bucket - first_] += n;
    total_ += n;
  }

  void merge(const Histogram& other) {
    for (size_t i = 0; i < other.counts_.size(); ++i)
      if (other.counts_[i] != 0) add(low(other.first_ + i), other.counts_[i]);
  }

  uint64_t count() const { return total_; }

  // The value that `percent` of the values do not exceed; 0 when there are none.
  uint64_t percentile(double percent) const;

  // Calls visit(low, high, count) for each bucket that is not empty; high is exclusive.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (size_t i = 0; i < counts_.size(); ++i)
      if (counts_[i] != 0) visit(low(first_ + i), low(first_ + i + 1), counts_[i]);
  }

  static size_t bucket_of(uint64_t value) {
    if (value < (uint64_t{1} << kSubBits)) return static_cast<size_t>(value);
    const unsigned top = static_cast<unsigned>(std::bit_width(value)) - 1;
    const uint64_t part = (value >> (top - kSubBits)) & ((1u << kSubBits) - 1);
    return (size_t{top - kSubBits + 1} << kSubBits) + static_cast<size_t>(part);
  }
  static uint64_t low(size_t bucket) {
    const size_t group = bucket >> kSubBits;
    const uint64_t part = bucket & ((1u << kSubBits) - 1);
    if (group == 0) return part;
    if (group > 58) return UINT64_MAX;
    return ((uint64_t{1} << kSubBits) + part) << (group - 1);
  }

 private:
  std::vector<uint64_t> counts_;  // of the buckets from first_ on
  size_t first_ = 0;
  uint64_t total_ = 0;
};

}  // namespace perf_latency
