// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/names.h"

#include <algorithm>
#include <array>

namespace perf_latency {
namespace {

// GCC's IPA clones, LTO and hot/cold splitting; LLVM's ThinLTO promotion, unique internal names and
// control flow integrity. Each can be followed by a number.
constexpr std::array<std::string_view, 16> kSuffixes = {
    "isra", "constprop", "part", "cold",   "llvm", "lto_priv", "localalias", "clone",
    "lto",  "__uniq",    "cfi",  "cfi_jt", "warm", "hot",      "unlikely",   "ipa"};

constexpr std::array<std::string_view, 21> kSyscallPrefixes = {"__x64_sys_",
                                                               "__ia32_sys_",
                                                               "__arm64_sys_",
                                                               "__se_sys_",
                                                               "__do_sys_",
                                                               "__x32_compat_sys_",
                                                               "__ia32_compat_sys_",
                                                               "__arm64_compat_sys_",
                                                               "__se_compat_sys_",
                                                               "__do_compat_sys_",
                                                               "__s390x_sys_",
                                                               "__s390_sys_",
                                                               "__s390_compat_sys_",
                                                               "__riscv_sys_",
                                                               "__riscv_compat_sys_",
                                                               "compat_SyS_",
                                                               "C_SYSC_",
                                                               "SyS_",
                                                               "SYSC_",
                                                               "compat_sys_",
                                                               "sys_"};

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_suffix(std::string_view text) {
  return std::find(kSuffixes.begin(), kSuffixes.end(), text) != kSuffixes.end();
}

}  // namespace

std::string_view strip_compiler_suffixes(std::string_view name) {
  while (true) {
    const size_t dot = name.rfind('.');
    if (dot == std::string_view::npos || dot == 0) return name;
    const std::string_view last = name.substr(dot + 1);
    // A number alone is what GCC gives to nested functions and LLVM to equal static ones.
    if (!is_number(last) && !is_suffix(last)) return name;
    name = name.substr(0, dot);
  }
}

std::optional<std::string_view> syscall_name(std::string_view name) {
  for (const std::string_view prefix : kSyscallPrefixes) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view rest = strip_compiler_suffixes(name.substr(prefix.size()));
    if (rest.empty()) return std::nullopt;
    return rest;
  }
  return std::nullopt;
}

std::string_view base_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_section_marker(std::string_view name) {
  if (name == "_text" || name == "_stext" || name == "_etext" || name == "_sinittext" ||
      name == "_einittext" || name == "_sdata" || name == "_edata" || name == "_end")
    return true;
  if (!name.starts_with("__")) return false;
  return name.starts_with("__start_") || name.starts_with("__stop_") ||
         name.starts_with("__end_") || name.ends_with("_start") || name.ends_with("_end");
}

}  // namespace perf_latency
