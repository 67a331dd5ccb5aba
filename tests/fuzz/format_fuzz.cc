// SPDX-License-Identifier: GPL-2.0-only
// A hostile format text of a tracepoint, and the task states in its print format; its fields are loaded
// from raw data that is just long enough.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "tracepoint/event_format.h"
#include "tracepoint/task_state.h"

using namespace perf_latency;  // NOLINT(google-build-using-namespace)

namespace {

void load_fields(const EventFormat& format) {
  for (const EventFormat::Field& field : format.fields) {
    const std::vector<std::byte> raw(field.ref.end(), std::byte{0x41});
    if (field.ref.kind == FieldRef::Kind::number) load_number(field.ref, raw, true);
    const std::string_view text = load_text(field.ref, raw, false);
    if (text.size() > raw.size()) std::abort();
  }
}

void decode_states(std::string_view print_format) {
  const auto table = TaskStateTable::parse(print_format);
  if (!table) return;
  for (uint64_t state = 1; state != 0; state <<= 1) {
    const TaskState decoded = table->decode(state);
    // Whoever was preempted is runnable; nothing else may be both.
    if (decoded.preempted && !decoded.runnable()) std::abort();
  }
  if (!table->decode(0).runnable()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  decode_states(text);
  const auto format = parse_event_format("sched", text);
  if (!format) return 0;
  load_fields(*format);
  decode_states(format->print_format);
  return 0;
}
