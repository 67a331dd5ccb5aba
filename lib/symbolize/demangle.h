// SPDX-License-Identifier: GPL-2.0-only
// Source names of mangled symbols: C++ (Itanium ABI), Rust (v0 and the older scheme), by GNU
// libiberty.
//
// As perf prints them: without parameter types and without Rust's hash. libiberty rather than
// abi::__cxa_demangle, because it hands out the text in parts: mangled names can be built to grow
// without end, so the output is cut off at kMaxDemangledBytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace perf_latency {

inline constexpr size_t kMaxDemangledBytes = 16 * 1024;

// nullopt when the name is not mangled, not validly, or grows too long.
std::optional<std::string> demangle(std::string_view name);

}  // namespace perf_latency
