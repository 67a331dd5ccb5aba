// SPDX-License-Identifier: GPL-2.0-only
// How paths of symbol files are put together.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "symbolize/build_id.h"

namespace perf_latency {

inline std::string concat(std::initializer_list<std::string_view> parts) {
  size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  std::string text;
  text.reserve(size);
  for (const std::string_view part : parts) text += part;
  return text;
}

// "/.build-id/ab/cdef…": where the file of a build stands below a cache or debug directory. Empty for
// ids too short to be split.
inline std::string build_id_path(const BuildId& id) {
  const std::string hex = id.hex();
  if (hex.size() < 4) return {};
  const std::string_view text = hex;
  return concat({"/.build-id/", text.substr(0, 2), "/", text.substr(2)});
}

}  // namespace perf_latency
