// SPDX-License-Identifier: GPL-2.0-only
// Kernel function names without what compilers and architectures add to them.
//
// Nothing is allocated: the results are parts of the argument.
#pragma once

#include <optional>
#include <string_view>

namespace perf_latency {

// The function as it stands in the source: without `.isra.0`, `.constprop.1`, `.part.2`, `.cold`,
// `.llvm.123`, `.lto_priv.0`, `.localalias`, `.cfi_jt` and the like, of which there can be several
// in a row. A name that begins with a dot is left alone.
std::string_view strip_compiler_suffixes(std::string_view name);

// "read" for `__x64_sys_read`, `__arm64_sys_read`, `__se_sys_read`, `__do_sys_read`, `SyS_read`,
// `sys_read`, `compat_sys_read` …: the system call that the function implements, compiler suffixes
// removed; nullopt for every other function.
std::optional<std::string_view> syscall_name(std::string_view name);

// The last part of a path.
std::string_view base_name(std::string_view path);

// A symbol that a linker script puts at the border of a section (`__sched_text_start`, `_etext`):
// it names no function, so it loses against every other symbol of the same address
// (scripts/kallsyms.c, compare_symbols(), 6.12).
bool is_section_marker(std::string_view name);

}  // namespace perf_latency
