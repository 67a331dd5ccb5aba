// SPDX-License-Identifier: GPL-2.0-only
// What a row of a latency table adds up: counts, totals, the worst one, percentiles.
//
// Open intervals and those that began before the recording have no known length: they are in count,
// open, total and max, and not in mean and percentiles. total_low and total_high bound what lost
// events leave in doubt.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/histogram.h"
#include "base/ids.h"
#include "base/string_pool.h"

namespace perf_latency {

struct RowStats {
  uint64_t count = 0;
  uint64_t total_ns = 0;
  uint64_t max_ns = 0;
  uint64_t max_start_ns = 0;
  int32_t max_tid = -1;
  StringId max_comm = StringPool::kEmpty;
  uint64_t open = 0;
  uint64_t known_total_ns = 0;  // of the intervals with a known length: what mean is made of
  uint64_t uncertain_ns = 0;    // kept although events were lost inside
  uint64_t hidden_ns = 0;       // would be of this row, had no events been lost
  uint32_t states = 0;          // bit set: letter - '?' (63)
  Histogram histogram;

  void add(uint64_t length_ns, uint64_t start_ns, int32_t tid, StringId comm, bool known_length) {
    ++count;
    total_ns += length_ns;
    if (length_ns > max_ns || count == 1) {
      max_ns = length_ns;
      max_start_ns = start_ns;
      max_tid = tid;
      max_comm = comm;
    }
    if (!known_length) return;
    known_total_ns += length_ns;
    histogram.add(length_ns);
  }

  // Of equal maxima the earlier one, then the smaller tid: nothing depends on the order of merging.
  void merge(const RowStats& other) {
    count += other.count;
    total_ns += other.total_ns;
    if (other.count != 0 && (max_tid == -1 || other.max_ns > max_ns ||
                             (other.max_ns == max_ns &&
                              (other.max_start_ns < max_start_ns ||
                               (other.max_start_ns == max_start_ns && other.max_tid < max_tid))))) {
      max_ns = other.max_ns;
      max_start_ns = other.max_start_ns;
      max_tid = other.max_tid;
      max_comm = other.max_comm;
    }
    open += other.open;
    known_total_ns += other.known_total_ns;
    uncertain_ns += other.uncertain_ns;
    hidden_ns += other.hidden_ns;
    states |= other.states;
    histogram.merge(other.histogram);
  }

  void add_state(uint8_t letter) {
    if (letter >= '?' && letter <= '^')
      states |= 1u << (letter - '?');
    else if (letter >= 'a' && letter <= 'z')
      small_states |= 1u << (letter - 'a');
  }
  uint32_t small_states = 0;  // t, x
};

// "S", "D", "S,D": S and D first, as people expect them, then the rest in alphabetical order.
std::string state_letters(const RowStats& stats);

}  // namespace perf_latency
