// SPDX-License-Identifier: GPL-2.0-only
#include "tracepoint/format_cache.h"

#include <charconv>
#include <utility>

namespace perf_latency {

FormatCache::FormatCache(TracingData data) : data_(std::move(data)) {
  constexpr std::string_view kIdLine = "\nID: ";
  for (size_t i = 0; i < data_.formats.size(); ++i) {
    const std::string& text = data_.formats[i].text;
    const size_t at = text.find(kIdLine);
    // ftrace's own events have formats too, but no id that perf can open.
    if (at == std::string::npos || data_.formats[i].system == "ftrace") continue;
    uint64_t id = 0;
    const auto [end, error] =
        std::from_chars(text.data() + at + kIdLine.size(), text.data() + text.size(), id);
    if (error == std::errc()) text_of_id_.emplace(id, i);
  }
}

const EventFormat* FormatCache::find(uint64_t id) {
  const auto [known, is_new] = parsed_.try_emplace(id);
  if (is_new) {
    if (const auto text = text_of_id_.find(id); text != text_of_id_.end()) {
      const TracingData::Format& format = data_.formats[text->second];
      auto parsed = parse_event_format(format.system, format.text);
      if (parsed) known->second = std::move(*parsed);
    }
  }
  return known->second ? &*known->second : nullptr;
}

}  // namespace perf_latency
