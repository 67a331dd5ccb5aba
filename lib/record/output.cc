// SPDX-License-Identifier: GPL-2.0-only
#include "record/output.h"

#include <algorithm>

#include "perfdata/writer_records.h"

namespace perf_latency {

void OutputTotals::add(const OutputTotals& other) {
  samples += other.samples;
  switches += other.switches;
  raw_bytes += other.raw_bytes;
  lost += other.lost;
  lost_cpus.insert(other.lost_cpus.begin(), other.lost_cpus.end());
  first_time_ns = std::min(first_time_ns, other.first_time_ns);
  last_time_ns = std::max(last_time_ns, other.last_time_ns);
}

Output::Finished Output::exchange(std::unique_ptr<PerfDataWriter> writer) {
  const std::lock_guard lock(mutex_);
  std::swap(writer_, writer);
  Finished finished{std::move(writer), std::move(totals_)};
  totals_ = {};
  return finished;
}

void Output::count(uint64_t raw_bytes, uint32_t cpu, const RecordTally& tally) {
  const std::lock_guard lock(mutex_);
  totals_.samples += tally.samples;
  totals_.switches += tally.switches;
  totals_.raw_bytes += raw_bytes;
  totals_.lost += tally.lost;
  if (tally.lost != 0) totals_.lost_cpus.insert(cpu);
  totals_.first_time_ns = std::min(totals_.first_time_ns, tally.first_time_ns);
  totals_.last_time_ns = std::max(totals_.last_time_ns, tally.last_time_ns);
}

Result<void> Output::append(std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes.empty()) return {};
  appended_ = true;
  return writer_->write(bytes);
}

Result<void> Output::flush() {
  const std::lock_guard lock(mutex_);
  return writer_->flush();
}

uint64_t Output::round() const {
  const std::lock_guard lock(mutex_);
  return round_;
}

Result<void> Output::report(size_t reader, uint64_t round) {
  const std::lock_guard lock(mutex_);
  if (round != round_) return {};
  reported_[reader] = true;
  if (std::find(reported_.begin(), reported_.end(), false) != reported_.end()) return {};
  return write_mark();
}

Result<void> Output::last_round() {
  const std::lock_guard lock(mutex_);
  return write_mark();
}

Result<void> Output::write_mark() {
  ++round_;
  std::fill(reported_.begin(), reported_.end(), false);
  if (!appended_) return {};
  appended_ = false;
  ByteWriter mark;
  append_finished_round(mark);
  return writer_->write(mark.bytes());
}

uint64_t Output::file_bytes() const {
  const std::lock_guard lock(mutex_);
  return writer_ ? writer_->data_bytes() : 0;
}

OutputTotals Output::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

}  // namespace perf_latency
