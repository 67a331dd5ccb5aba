// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/elf_file.h"

#include <gtest/gtest.h>

#include <random>

#include "symbolize/elf_symbols.h"
#include "symbolize/kernel_elf.h"
#include "symbolize_elf_builder.h"

namespace perf_latency {
namespace {

const BuildId kId = BuildId::from_hex("00112233445566778899aabbccddeeff01020304");

std::vector<std::byte> small_program(bool is_64bit) {
  SymbolizeElfBuilder builder(ET_DYN, is_64bit ? EM_X86_64 : EM_PPC, is_64bit);
  const uint16_t text = builder.add_section(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
                                            0x1000, std::string(0x200, '\x90'), 16);
  builder.set_build_id(kId);
  builder.set_load(0x1000, 0x400);
  builder.add_symbol("one", 0x1000, 0x40, STT_FUNC, STB_GLOBAL, text);
  builder.add_symbol("__one", 0x1000, 0x40, STT_FUNC, STB_GLOBAL, text);
  builder.add_symbol("one_weak", 0x1000, 0x40, STT_FUNC, STB_WEAK, text);
  builder.add_symbol("label", 0x1050, 0, STT_NOTYPE, STB_LOCAL, text);
  builder.add_symbol("two@@V_2", 0x1080, 0x20, STT_FUNC, STB_GLOBAL, text);
  builder.add_symbol("imported", 0, 0, STT_FUNC, STB_GLOBAL, SHN_UNDEF);
  builder.add_symbol("$x", 0x1081, 0, STT_NOTYPE, STB_LOCAL, text);
  return builder.build();
}

std::string name_at(const ElfSymbols& symbols, uint64_t address) {
  const auto found = symbols.find(address);
  return found ? std::string(symbols[*found].name) : "-";
}

class SymbolizeElf : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(BothClasses, SymbolizeElf, testing::Bool());

TEST_P(SymbolizeElf, HeadersNotesAndSymbols) {
  const auto bytes = small_program(GetParam());
  const auto file = ElfFile::parse(bytes);
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->is_64bit(), GetParam());
  EXPECT_EQ(file->swapped(), !GetParam());
  EXPECT_EQ(file->type(), ET_DYN);
  EXPECT_EQ(file->build_id(), kId);
  EXPECT_EQ(file->address_of_offset(0x123), 0x1123u);
  EXPECT_EQ(file->address_of_offset(0x400), std::nullopt);

  ElfSymbols symbols;
  symbols.add(*file);
  symbols.add_plt(*file);
  symbols.finish();
  EXPECT_EQ(name_at(symbols, 0x0fff), "-");
  EXPECT_EQ(name_at(symbols, 0x1000), "one");
  EXPECT_EQ(name_at(symbols, 0x103f), "one");
  EXPECT_EQ(name_at(symbols, 0x1040), "-");
  EXPECT_EQ(name_at(symbols, 0x107f), "label");  // without a size: up to the next symbol
  EXPECT_EQ(name_at(symbols, 0x1080), "two");
  EXPECT_EQ(name_at(symbols, 0x10a0), "-");
}

TEST(SymbolizeElfBounds, EveryCutAndManyDamagedFilesCanBeRead) {
  for (const bool is_64bit : {false, true}) {
    const auto whole = small_program(is_64bit);
    const auto read = [](std::span<const std::byte> bytes) {
      const auto file = ElfFile::parse(bytes);
      if (!file) return;
      ElfSymbols symbols;
      symbols.add(*file);
      symbols.add_plt(*file);
      symbols.finish();
      symbols.find(0x1010);
      file->build_id();
      file->debug_link();
      file->debug_alt_link();
      read_vmlinux_symbols(*file);
      read_module_symbols(*file);
    };
    for (size_t size = 0; size < whole.size(); ++size) {
      const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<long>(size));
      read(cut);
    }
    std::mt19937 random(1);
    for (int round = 0; round < 3000; ++round) {
      std::vector<std::byte> damaged = whole;
      for (int i = 0; i < 4; ++i) damaged[random() % damaged.size()] = std::byte(random());
      read(damaged);
    }
  }
}

// nested  |outer----------------------|
//              |inner---|
TEST(SymbolizeElfSymbols, TheInnermostSymbolWins) {
  SymbolizeElfBuilder builder(ET_DYN, EM_X86_64);
  const uint16_t text = builder.add_section(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
                                            0x1000, std::string(0x200, '\x90'), 16);
  builder.add_symbol("outer", 0x1000, 0x100, STT_FUNC, STB_GLOBAL, text);
  builder.add_symbol("inner", 0x1010, 0x10, STT_FUNC, STB_LOCAL, text);
  const auto bytes = builder.build();
  const auto file = ElfFile::parse(bytes);
  ASSERT_TRUE(file.has_value());
  ElfSymbols symbols;
  symbols.add(*file);
  symbols.finish();
  EXPECT_EQ(name_at(symbols, 0x100f), "outer");
  EXPECT_EQ(name_at(symbols, 0x1010), "inner");
  EXPECT_EQ(name_at(symbols, 0x1020), "outer");
}

TEST(SymbolizeKernelElf, VmlinuxHasTheOrderOfKallsyms) {
  SymbolizeElfBuilder builder(ET_EXEC, EM_X86_64);
  constexpr uint64_t kBase = 0xffffffff81000000;
  const uint16_t text = builder.add_section(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, kBase,
                                            std::string(0x100, '\x90'), 16);
  const uint16_t data =
      builder.add_section(".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, kBase + 0x1000, "data", 16);
  const uint16_t percpu =
      builder.add_section(".data..percpu", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0, "percpu", 16);
  builder.add_symbol("weak_alias", kBase, 0, STT_FUNC, STB_WEAK, text);
  builder.add_symbol("__sched_text_start", kBase, 0, STT_NOTYPE, STB_GLOBAL, text);
  builder.add_symbol("__do_thing", kBase, 8, STT_FUNC, STB_GLOBAL, text);
  builder.add_symbol("do_thing", kBase, 8, STT_FUNC, STB_GLOBAL, text);
  builder.add_symbol("a_lock", kBase + 0x1000, 4, STT_OBJECT, STB_GLOBAL, data);
  builder.add_symbol("this_cpu_off", 0x10, 8, STT_OBJECT, STB_GLOBAL, percpu);
  const auto bytes = builder.build();
  const auto file = ElfFile::parse(bytes);
  ASSERT_TRUE(file.has_value());
  const KernelElfSymbols symbols = read_vmlinux_symbols(*file);
  std::vector<std::string_view> names;
  for (const SymbolEntry& entry : symbols.code.entries()) names.push_back(entry.name());
  EXPECT_EQ(names, (std::vector<std::string_view>{"do_thing", "__do_thing", "__sched_text_start",
                                                  "weak_alias"}));
  ASSERT_EQ(symbols.data.size(), 1u);
  EXPECT_EQ(symbols.data.entries()[0].name(), "a_lock");
}

// In memory:  .text 0…0x25 | (align 16) .text.unlikely 0x30… | .exit.text behind it; .init.text
// apart
TEST(SymbolizeKernelElf, ModulesAreLaidOutAsTheKernelDoes) {
  SymbolizeElfBuilder builder(ET_REL, EM_X86_64);
  constexpr uint64_t kCode = SHF_ALLOC | SHF_EXECINSTR;
  const uint16_t init =
      builder.add_section(".init.text", SHT_PROGBITS, kCode, 0, std::string(0x99, ' '), 16);
  const uint16_t text =
      builder.add_section(".text", SHT_PROGBITS, kCode, 0, std::string(0x25, ' '), 16);
  builder.add_section(".rodata", SHT_PROGBITS, SHF_ALLOC, 0, std::string(0x100, ' '), 32);
  const uint16_t unlikely =
      builder.add_section(".text.unlikely", SHT_PROGBITS, kCode, 0, std::string(0x11, ' '), 16);
  const uint16_t leave =
      builder.add_section(".exit.text", SHT_PROGBITS, kCode, 0, std::string(0x10, ' '), 1);
  builder.add_symbol("init_module", 0, 8, STT_FUNC, STB_GLOBAL, init);
  builder.add_symbol("first", 4, 8, STT_FUNC, STB_LOCAL, text);
  builder.add_symbol("cold", 0, 8, STT_FUNC, STB_LOCAL, unlikely);
  builder.add_symbol("cleanup_module", 2, 8, STT_FUNC, STB_GLOBAL, leave);
  const auto bytes = builder.build();
  const auto file = ElfFile::parse(bytes);
  ASSERT_TRUE(file.has_value());
  const SymbolList symbols = read_module_symbols(*file);
  ASSERT_EQ(symbols.size(), 3u);
  EXPECT_EQ(symbols.entries()[0].name(), "first");
  EXPECT_EQ(symbols.entries()[0].address, 0x4u);
  EXPECT_EQ(symbols.entries()[1].name(), "cold");
  EXPECT_EQ(symbols.entries()[1].address, 0x30u);
  EXPECT_EQ(symbols.entries()[2].name(), "cleanup_module");
  EXPECT_EQ(symbols.entries()[2].address, 0x43u);
}

}  // namespace
}  // namespace perf_latency
