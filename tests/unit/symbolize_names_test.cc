// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/names.h"

#include <gtest/gtest.h>

#include "symbolize/demangle.h"

namespace perf_latency {
namespace {

TEST(SymbolizeNames, StripsWhatCompilersAdd) {
  EXPECT_EQ(strip_compiler_suffixes("do_sys_poll"), "do_sys_poll");
  EXPECT_EQ(strip_compiler_suffixes("foo.isra.0"), "foo");
  EXPECT_EQ(strip_compiler_suffixes("foo.constprop.12"), "foo");
  EXPECT_EQ(strip_compiler_suffixes("foo.part.2"), "foo");
  EXPECT_EQ(strip_compiler_suffixes("foo.cold"), "foo");
  EXPECT_EQ(strip_compiler_suffixes("foo.cold.7"), "foo");
  EXPECT_EQ(strip_compiler_suffixes("foo.llvm.1234567890123"), "foo");
  EXPECT_EQ(strip_compiler_suffixes("foo.constprop.0.isra.0.cold"), "foo");
  EXPECT_EQ(strip_compiler_suffixes("foo.__uniq.99.llvm.5"), "foo");
  EXPECT_EQ(strip_compiler_suffixes("foo.cfi_jt"), "foo");
  EXPECT_EQ(strip_compiler_suffixes("foo.lto_priv.0"), "foo");
  EXPECT_EQ(strip_compiler_suffixes("foo.localalias"), "foo");
  EXPECT_EQ(strip_compiler_suffixes("foo.42"), "foo");
  EXPECT_EQ(strip_compiler_suffixes("foo.bar"), "foo.bar");
  EXPECT_EQ(strip_compiler_suffixes(".cold"), ".cold");
  EXPECT_EQ(strip_compiler_suffixes(""), "");
}

TEST(SymbolizeNames, FindsTheSystemCall) {
  for (const char* name :
       {"__x64_sys_read", "__ia32_sys_read", "__arm64_sys_read", "__se_sys_read", "__do_sys_read",
        "SyS_read", "SYSC_read", "sys_read", "compat_sys_read", "__ia32_compat_sys_read",
        "__do_compat_sys_read", "compat_SyS_read", "C_SYSC_read", "__x64_sys_read.isra.0"})
    EXPECT_EQ(syscall_name(name), "read") << name;
  EXPECT_EQ(syscall_name("__x64_sys_clock_nanosleep"), "clock_nanosleep");
  EXPECT_EQ(syscall_name("ksys_read"), std::nullopt);
  EXPECT_EQ(syscall_name("sys_"), std::nullopt);
  EXPECT_EQ(syscall_name("vfs_read"), std::nullopt);
}

TEST(SymbolizeNames, TellsSectionMarkers) {
  for (const char* name : {"_text", "_stext", "_etext", "__sched_text_start", "__lock_text_end",
                           "__start_rodata", "__stop___ex_table", "__end_rodata"})
    EXPECT_TRUE(is_section_marker(name)) << name;
  for (const char* name : {"io_schedule_timeout", "startup_64", "usb_start", "__schedule", ""})
    EXPECT_FALSE(is_section_marker(name)) << name;
}

TEST(SymbolizeNames, BaseName) {
  EXPECT_EQ(base_name("/usr/lib/libc.so.6"), "libc.so.6");
  EXPECT_EQ(base_name("[vdso]"), "[vdso]");
  EXPECT_EQ(base_name("dir/"), "");
}

TEST(SymbolizeDemangle, CppAndRust) {
  EXPECT_EQ(demangle("_ZNSt6vectorIiSaIiEE9push_backERKi"),
            "std::vector<int, std::allocator<int> >::push_back");
  EXPECT_EQ(demangle("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE"),
            "core::fmt::Formatter::pad");
  EXPECT_EQ(demangle("_RNvCskwGfYPst2Cb_3foo16example_function"), "foo::example_function");
  EXPECT_EQ(demangle("_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate"),
            "<std::path::PathBuf>::new");
  EXPECT_EQ(demangle("main"), std::nullopt);
  EXPECT_EQ(demangle("_Znot mangled"), std::nullopt);
}

// f<pair<int, int>, pair<S1, S1>, pair<S2, S2>, …>: each argument is twice as long as the one
// before.
TEST(SymbolizeDemangle, NamesThatGrowWithoutEndAreGivenUp) {
  const auto nested = [](int depth) {
    std::string name = "_Z1fI4pairIiiE";
    for (int i = 1; i <= depth; ++i) {
      const char digit = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i];
      for (const char part : {'S', '0', '_', 'I', 'S', digit, '_', 'S', digit, '_', 'E'})
        name += part;
    }
    return name + "Evv";
  };
  EXPECT_EQ(demangle(nested(1)), "f<pair<int, int>, pair<pair<int, int>, pair<int, int> > >");
  EXPECT_GT(demangle(nested(8)).value_or("").size(), 4096u);
  EXPECT_EQ(demangle(nested(12)), std::nullopt);
  EXPECT_EQ(demangle(nested(35)), std::nullopt);
}

}  // namespace
}  // namespace perf_latency
