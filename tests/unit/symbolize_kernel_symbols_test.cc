// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/kernel_symbols.h"

#include <gtest/gtest.h>

#include <cstring>

#include "symbolize/kallsyms_parser.h"

namespace perf_latency {
namespace {

FileBytes bytes_of(std::string_view text) {
  std::vector<std::byte> bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return FileBytes::from_memory(std::move(bytes));
}

KernelSymbols symbols_of(std::string_view text) {
  auto symbols = KernelSymbols::from_kallsyms(bytes_of(text));
  EXPECT_TRUE(symbols.has_value());
  return std::move(*symbols);
}

// "name+0xoffset [module]" or "-".
std::string named(const std::optional<KernelSymbol>& symbol) {
  if (!symbol) return "-";
  char offset[32];
  std::snprintf(offset, sizeof offset, "+0x%llx", static_cast<unsigned long long>(symbol->offset));
  std::string text(symbol->name);
  text += offset;
  if (!symbol->module.empty()) text += " [" + std::string(symbol->module) + "]";
  return text;
}

constexpr std::string_view kKallsyms =
    "0000000000000000 A fixed_percpu_data\n"
    "0000000000001000 A cpu_debug_store\n"
    "ffffffff81000000 T startup_64\n"
    "ffffffff81000000 T _stext\n"
    "ffffffff81000000 T _text\n"
    "ffffffff81000100 t $x\n"
    "ffffffff81001000 T __sched_text_start\n"
    "ffffffff81001000 T io_schedule_timeout\n"
    "ffffffff81002000 T __do_sys_vfork\n"
    "ffffffff81002000 T __x64_sys_vfork\n"
    "ffffffff81003000 T _etext\n"
    "ffffffff82000000 D init_task\n"
    "ffffffff82000100 d tasklist_lock\n"
    "ffffffff82001000 B _end\n"
    "ffffffffc0402000 t ext4_b\t[ext4]\n"
    "ffffffffc0401000 t ext4_a\t[ext4]\n"
    "ffffffffc0500000 t bpf_prog_1234_x\t[bpf]\n";

TEST(SymbolizeKernel, NearestSymbolBelow) {
  const KernelSymbols symbols = symbols_of(kKallsyms);
  EXPECT_EQ(named(symbols.lookup(0xffffffff80ffffff)), "-");
  EXPECT_EQ(named(symbols.lookup(0xffffffff81000000)), "startup_64+0x0");
  EXPECT_EQ(named(symbols.lookup(0xffffffff81000123)), "startup_64+0x123");
  EXPECT_EQ(named(symbols.lookup(0xffffffff81002fff)), "__do_sys_vfork+0xfff");
  EXPECT_EQ(named(symbols.lookup(0xffffffffc0401010)), "ext4_a+0x10 [ext4]");
  EXPECT_EQ(named(symbols.lookup(0xffffffffc0402010)), "ext4_b+0x10 [ext4]");
  EXPECT_EQ(named(symbols.lookup(0xffffffffc0500001)), "bpf_prog_1234_x+0x1 [bpf]");
}

TEST(SymbolizeKernel, SectionMarkersLoseAgainstFunctionsElseTheFirstWins) {
  const KernelSymbols symbols = symbols_of(kKallsyms);
  EXPECT_EQ(named(symbols.lookup(0xffffffff81001000)), "io_schedule_timeout+0x0");
  EXPECT_EQ(named(symbols.lookup(0xffffffff81002000)), "__do_sys_vfork+0x0");
}

TEST(SymbolizeKernel, NothingBehindTheEnds) {
  const KernelSymbols symbols = symbols_of(kKallsyms);
  EXPECT_EQ(named(symbols.lookup(0xffffffff81003000)), "-");
  EXPECT_EQ(named(symbols.lookup(0xffffffffc0400000)), "-");
  EXPECT_EQ(named(symbols.lookup(0xffffffffc0402000 + KernelSymbols::kMaxOpenBytes - 1)),
            "ext4_b+0xffff [ext4]");
  EXPECT_EQ(named(symbols.lookup(0xffffffffc0402000 + KernelSymbols::kMaxOpenBytes)), "-");
  EXPECT_EQ(named(symbols.lookup(0x1010)), "-");
}

TEST(SymbolizeKernel, DataIsApart) {
  const KernelSymbols symbols = symbols_of(kKallsyms);
  EXPECT_EQ(named(symbols.lookup(0xffffffff82000104)), "-");
  EXPECT_EQ(named(symbols.lookup_data(0xffffffff82000104)), "tasklist_lock+0x4");
  EXPECT_EQ(named(symbols.lookup_data(0xffffffff82001010)), "-");
  EXPECT_EQ(named(symbols.lookup_data(0xffffffff81000010)), "-");
}

TEST(SymbolizeKernel, WithoutAllSymbolsOnlyExactDataAddressesAreNamed) {
  std::string text;
  for (int i = 0; i < 64; ++i) {
    char line[64];
    std::snprintf(line, sizeof line, "ffffffff8100%02x00 T f%d\n", i, i);
    text += line;
  }
  text += "ffffffff82000000 D a\nffffffff82000100 D b\n";
  const KernelSymbols symbols = symbols_of(text);
  EXPECT_EQ(named(symbols.lookup_data(0xffffffff82000100)), "b+0x0");
  EXPECT_EQ(named(symbols.lookup_data(0xffffffff82000101)), "-");
}

TEST(SymbolizeKernel, AddressOfFindsAliasesCodeAndData) {
  const KernelSymbols symbols = symbols_of(kKallsyms);
  for (int round = 0; round < 10; ++round) {  // by search first, by index later
    EXPECT_EQ(symbols.address_of("_text"), 0xffffffff81000000);
    EXPECT_EQ(symbols.address_of("__sched_text_start"), 0xffffffff81001000);
    EXPECT_EQ(symbols.address_of("tasklist_lock"), 0xffffffff82000100);
    EXPECT_EQ(symbols.address_of("ext4_a"), std::nullopt);
    EXPECT_EQ(symbols.address_of("cpu_debug_store"), std::nullopt);
  }
}

TEST(SymbolizeKernel, ShiftMovesTheKernelAndDropsModules) {
  KernelSymbols symbols = symbols_of(kKallsyms);
  symbols.set_shift(0x10000000);
  EXPECT_EQ(named(symbols.lookup(0xffffffff91001010)), "io_schedule_timeout+0x10");
  EXPECT_EQ(symbols.lookup(0xffffffff91001010)->start, 0xffffffff91001000);
  EXPECT_EQ(symbols.address_of("_text"), 0xffffffff91000000);
  EXPECT_EQ(named(symbols.lookup(0xffffffffd0401010)), "-");
  KernelSymbols down = symbols_of(kKallsyms);
  down.set_shift(0 - uint64_t{0x1000000});
  EXPECT_EQ(named(down.lookup(0xffffffff80001010)), "io_schedule_timeout+0x10");
}

TEST(SymbolizeKernel, KsymbolsHaveEndsAndReplaceOlderOnes) {
  KernelSymbols symbols = symbols_of(kKallsyms);
  symbols.add_ksymbol(0xffffffffc0600000, 0x100, "bpf_prog_1_a");
  const auto first = symbols.lookup(0xffffffffc0600010);
  EXPECT_EQ(named(first), "bpf_prog_1_a+0x10 [bpf]");
  EXPECT_EQ(named(symbols.lookup(0xffffffffc0600100)), "-");
  symbols.add_ksymbol(0xffffffffc0600080, 0x100, "bpf_prog_2_b");
  EXPECT_EQ(named(symbols.lookup(0xffffffffc0600010)), "-");
  EXPECT_EQ(named(symbols.lookup(0xffffffffc0600090)), "bpf_prog_2_b+0x10 [bpf]");
  EXPECT_EQ(first->name, "bpf_prog_1_a");
  symbols.add_ksymbol(~uint64_t{0}, 2, "wraps");
  symbols.add_ksymbol(0xffffffffc0700000, 0, "empty");
  EXPECT_EQ(named(symbols.lookup(0xffffffffc0700000)), "-");
}

TEST(SymbolizeKernel, HiddenAddressesAreAnError) {
  const auto symbols = KernelSymbols::from_kallsyms(bytes_of(
      "0000000000000000 T _text\n0000000000000000 t foo\n0000000000000000 t bar\t[ext4]\n"));
  ASSERT_FALSE(symbols.has_value());
  EXPECT_EQ(symbols.error().what,
            "all addresses are zero (kernel.kptr_restrict hid them from its reader)");
}

TEST(SymbolizeKernel, OtherFilesAreAnError) {
  for (const std::string_view text :
       {"", "\n\n", "hello world\n", "ffffffff81000000\n", "zz T x\n"})
    EXPECT_FALSE(KernelSymbols::from_kallsyms(bytes_of(text)).has_value()) << text;
}

TEST(SymbolizeKernel, OddLinesAreSkipped) {
  const KallsymsText text = parse_kallsyms(
      "garbage\nffffffff81000000 T ok\r\n\n12 \nffffffff81000010 T\n ffffffff81000020 T lead\n"
      "ffffffff81000030 U undefined\nffffffff81000040 W weak [m\nffffffff81000050 T last");
  EXPECT_EQ(text.lines, 4u);
  ASSERT_EQ(text.code.size(), 3u);
  EXPECT_EQ(text.code.entries()[0].name(), "ok");
  EXPECT_EQ(text.code.entries()[1].name(), "weak");
  EXPECT_EQ(text.code.entries()[2].name(), "last");
}

TEST(SymbolizeKernel, EveryPrefixOfAFileCanBeRead) {
  for (size_t size = 0; size < kKallsyms.size(); ++size) {
    const std::string exact(kKallsyms.substr(0, size));
    const KallsymsText text = parse_kallsyms(exact);
    EXPECT_LE(text.code.size() + text.data.size(), 17u);
  }
}

}  // namespace
}  // namespace perf_latency
