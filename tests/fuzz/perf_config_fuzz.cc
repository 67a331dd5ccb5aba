// SPDX-License-Identifier: GPL-2.0-only
// perf's configuration file from hostile text: it is refused with a line number, or its entries lie within
// the limits that perf has.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/perf_config.h"

using namespace perf_latency;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto entries = parse_perf_config(text);
  if (!entries) {
    if (!entries.error().what.starts_with("bad config file line ")) std::abort();
    return 0;
  }
  const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  for (const ConfigEntry& entry : *entries) {
    if (entry.key.empty() || entry.key.size() > 256 || entry.line == 0 || entry.line > lines)
      std::abort();
    if (entry.value && entry.value->size() > 1024) std::abort();
    parse_config_bool(entry.value);
  }
  return 0;
}
