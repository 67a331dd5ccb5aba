// SPDX-License-Identifier: GPL-2.0-only
// Mangled names of C++ and Rust, and what is stripped from kernel names.
#include <cstdint>
#include <string_view>

#include "symbolize/demangle.h"
#include "symbolize/names.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view name(reinterpret_cast<const char*>(data), size);
  perf_latency::demangle(name);
  perf_latency::strip_compiler_suffixes(name);
  perf_latency::syscall_name(name);
  perf_latency::is_section_marker(name);
  return 0;
}
