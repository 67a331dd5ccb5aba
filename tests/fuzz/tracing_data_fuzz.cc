// SPDX-License-Identifier: GPL-2.0-only
// Hostile tracing data: the section's layout, and the format of each tracepoint in it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "tracepoint/format_cache.h"
#include "tracepoint/tracing_data.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace perf_latency;  // NOLINT(google-build-using-namespace)
  auto parsed = parse_tracing_data(std::as_bytes(std::span(data, size)));
  if (!parsed) return 0;
  size_t text_bytes = parsed->kallsyms.size();
  for (const TracingData::Format& format : parsed->formats) text_bytes += format.text.size();
  if (text_bytes > size) std::abort();  // nothing is in it twice
  FormatCache cache(std::move(*parsed));
  for (uint64_t id = 0; id < 512; ++id) cache.find(id);
  return 0;
}
