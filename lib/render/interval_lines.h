// SPDX-License-Identifier: GPL-2.0-only
// Intervals as JSON lines or CSV, written while they come: the formats of `script`.
//
// The fields of a kind of interval are always there, null where the recording cannot tell. Both forms
// are made by one description of the fields, so that they cannot differ. What a call chain looks like is
// put together once for each chain.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/interval_row.h"

namespace perf_latency {

// In the order of the CSV's columns.
enum class IntervalField : uint8_t {
  type,
  recording,
  start_ns,
  end_ns,
  duration_ns,
  full_ns,
  cpu,
  pid,
  tid,
  comm,
  state,
  cause,
  cause_id,
  cause_class,
  waker,
  preempted,
  preempted_by,
  lock,
  lock_addr,
  lock_type,
  caller,
  holder,
  holder_ns,
  spin_ns,
  sleep_ns,
  failed,
  contended,
  function,
  queued_ns,
  behind,
  behind_ns,
  open,
  began_before,
  uncertain,
  includes_waiting,
  cgroup,
  stack,
  user_stack,
  count_
};
inline constexpr size_t kIntervalFields = static_cast<size_t>(IntervalField::count_);

struct IntervalLineOptions {
  bool csv = false;
  std::array<bool, kIntervalFields> shown;  // set by the constructor: all but those below
  IntervalLineOptions();

  // --fields: these alone, or, with a leading +, beside what is shown. An error names what is no field.
  Result<void> select(const std::vector<std::string>& names);
  bool shows(IntervalField field) const { return shown[static_cast<size_t>(field)]; }
  void show(IntervalField field, bool yes) { shown[static_cast<size_t>(field)] = yes; }
};

class IntervalLines final : public IntervalTaker {
 public:
  using Write = std::function<void(std::string_view)>;

  // `write` gets whole lines, many at a time; the rest comes with flush().
  IntervalLines(const IntervalLineOptions& options, Write write);

  void begin_recording(uint32_t number) override;
  void take(const IntervalRow& row) override;
  void end_recording(const RecordingInfo&) override { flush(); }
  void flush();

 private:
  void write_json(const IntervalRow& row);
  void write_csv(const IntervalRow& row);
  void write_csv_header();

  IntervalLineOptions options_;
  Write write_;
  uint32_t number_ = 0;
  std::string buffer_;
  std::vector<std::string> places_;  // by PlaceText::id: its fields, ready
  std::array<std::string, 2 * kIntervalFields> cells_;
};

}  // namespace perf_latency
