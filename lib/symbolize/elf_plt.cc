// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/elf_plt.h"

#include <elf.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace perf_latency {
namespace {

constexpr size_t kStubBytes = 16;
constexpr int kMaxRelocationTables = 8;  // linkers make two: .rela.dyn and .rela.plt

using SlotNames = std::unordered_map<uint64_t, std::string_view>;

std::vector<std::string_view> dynamic_names(const ElfFile& file, const ElfSection& table) {
  std::vector<std::string_view> names;
  if (table.link >= file.sections().size()) return names;
  const auto strings = file.section_bytes(file.sections()[table.link]);
  auto left = file.section_bytes(table);
  for (; left.size() >= sizeof(Elf64_Sym); left = left.subspan(sizeof(Elf64_Sym))) {
    const uint32_t at = ByteCursor(left, file.swapped()).u32();
    names.push_back(at < strings.size() ? ByteCursor::text_in(strings.subspan(at))
                                        : std::string_view());
  }
  return names;
}

// Which function's address each slot of the global offset table holds.
SlotNames read_slots(const ElfFile& file) {
  SlotNames slots;
  int tables = 0;
  for (const ElfSection& section : file.sections()) {
    if (tables == kMaxRelocationTables) break;
    if (section.type != SHT_RELA || section.link >= file.sections().size()) continue;
    const ElfSection& table = file.sections()[section.link];
    if (table.type != SHT_DYNSYM) continue;
    ++tables;
    const auto names = dynamic_names(file, table);
    auto left = file.section_bytes(section);
    for (; left.size() >= sizeof(Elf64_Rela); left = left.subspan(sizeof(Elf64_Rela))) {
      ByteCursor in(left, file.swapped());
      const uint64_t slot = in.u64();
      const uint64_t symbol = ELF64_R_SYM(in.u64());
      if (symbol != 0 && symbol < names.size() && !names[symbol].empty())
        slots.try_emplace(slot, names[symbol]);
    }
  }
  return slots;
}

// `jmp *slot(%rip)`, behind an endbr64 or a bnd prefix.
std::optional<uint64_t> x86_slot(std::span<const std::byte> stub, uint64_t address) {
  const auto byte = [&](size_t i) { return std::to_integer<unsigned>(stub[i]); };
  for (size_t i = 0; i + 6 <= stub.size() && i <= 5; ++i)
    if (byte(i) == 0xff && byte(i + 1) == 0x25)
      return address + i + 6 + static_cast<int64_t>(load_unchecked<int32_t>(stub.data() + i + 2));
  return std::nullopt;
}

// `adrp x16, page; ldr x17, [x16, #offset]`, behind an optional `bti c`.
std::optional<uint64_t> arm64_slot(std::span<const std::byte> stub, uint64_t address) {
  for (size_t i = 0; i + 8 <= stub.size(); i += 4) {
    const uint32_t adrp = load_unchecked<uint32_t>(stub.data() + i);
    const uint32_t ldr = load_unchecked<uint32_t>(stub.data() + i + 4);
    if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211) continue;
    const int64_t pages =
        static_cast<int32_t>(((adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3)) << 11) >> 11;
    const uint64_t page = ((address + i) & ~uint64_t{0xfff}) + static_cast<uint64_t>(pages * 4096);
    return page + (ldr >> 10 & 0xfff) * 8;
  }
  return std::nullopt;
}

}  // namespace

std::vector<PltStub> find_plt_stubs(const ElfFile& file) {
  const bool x86 = file.machine() == EM_X86_64;
  if (!file.is_64bit() || file.swapped() || (!x86 && file.machine() != EM_AARCH64)) return {};
  std::vector<PltStub> stubs;
  std::optional<SlotNames> slots;
  for (const ElfSection& section : file.sections()) {
    if (!section.name.starts_with(".plt") || (section.flags & SHF_EXECINSTR) == 0) continue;
    if (!slots) slots = read_slots(file);
    const size_t stub_bytes = x86 && section.entry_bytes == 8 ? 8 : kStubBytes;
    const auto bytes = file.section_bytes(section);
    for (size_t at = 0; at + stub_bytes <= bytes.size(); at += stub_bytes) {
      const uint64_t address = section.address + at;
      const auto stub = bytes.subspan(at, stub_bytes);
      const auto slot = x86 ? x86_slot(stub, address) : arm64_slot(stub, address);
      if (!slot) continue;
      const auto name = slots->find(*slot);
      if (name != slots->end()) stubs.push_back({address, stub_bytes, name->second});
    }
  }
  return stubs;
}

}  // namespace perf_latency
