// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/kernel_elf.h"

#include <elf.h>

#include <algorithm>
#include <optional>

#include "symbolize/names.h"

namespace perf_latency {
namespace {

// x86's per-cpu variables are linked at 0 up to 6.14: no addresses.
constexpr uint64_t kLowestX86Address = 0x40000000;

struct Candidate {
  SymbolEntry entry;
  bool weak = false;
  bool marker = false;
  uint8_t underscores = 0;
};

bool before(const Candidate& a, const Candidate& b) {
  if (a.entry.address != b.entry.address) return a.entry.address < b.entry.address;
  if (a.weak != b.weak) return b.weak;
  if (a.marker != b.marker) return b.marker;
  return a.underscores < b.underscores;
}

Candidate make_candidate(const ElfSymbol& symbol, uint64_t address) {
  const size_t size = std::min<size_t>(symbol.name.size(), 0xffff);
  const size_t underscores = std::min(symbol.name.find_first_not_of('_'), size);
  return {{address, symbol.name.data(), static_cast<uint16_t>(size), 0},
          symbol.binding == STB_WEAK,
          is_section_marker(symbol.name),
          static_cast<uint8_t>(std::min<size_t>(underscores, 0xff))};
}

bool is_mapping_symbol(std::string_view name) {
  return name.starts_with("$") || name.starts_with(".L");
}

SymbolList to_list(std::vector<Candidate>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(), before);
  SymbolList list;
  list.reserve(candidates.size());
  for (const Candidate& candidate : candidates) list.add(candidate.entry);
  list.finish();
  return list;
}

}  // namespace

KernelElfSymbols read_vmlinux_symbols(const ElfFile& file) {
  std::vector<Candidate> code;
  std::vector<Candidate> data;
  const ElfSection* table = file.section_of_type(SHT_SYMTAB);
  if (table == nullptr) return {};
  file.for_each_symbol(*table, [&](const ElfSymbol& symbol) {
    if (symbol.section == SHN_UNDEF || symbol.section >= file.sections().size()) return;
    if (symbol.type == STT_SECTION || symbol.type == STT_FILE || symbol.type == STT_TLS) return;
    if (is_mapping_symbol(symbol.name)) return;
    const ElfSection& section = file.sections()[symbol.section];
    if ((section.flags & SHF_ALLOC) == 0) return;
    const bool is_x86 = file.machine() == EM_X86_64 || file.machine() == EM_386;
    if (is_x86 && symbol.value < kLowestX86Address) return;
    auto& list = (section.flags & SHF_EXECINSTR) != 0 ? code : data;
    list.push_back(make_candidate(symbol, symbol.value));
  });
  return {to_list(code), to_list(data)};
}

SymbolList read_module_symbols(const ElfFile& file) {
  std::vector<std::optional<uint64_t>> starts(file.sections().size());
  uint64_t end = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const ElfSection& section = file.sections()[i];
    constexpr uint64_t kCode = SHF_ALLOC | SHF_EXECINSTR;
    if ((section.flags & kCode) != kCode || section.name.starts_with(".init")) continue;
    const uint64_t align = std::max<uint64_t>(section.align, 1);
    if (section.size_bytes > file.bytes().size() || align > file.bytes().size()) continue;
    starts[i] = (end + align - 1) / align * align;
    end = *starts[i] + section.size_bytes;
  }
  std::vector<Candidate> code;
  const ElfSection* table = file.section_of_type(SHT_SYMTAB);
  if (table == nullptr) return {};
  file.for_each_symbol(*table, [&](const ElfSymbol& symbol) {
    if (symbol.section >= starts.size() || !starts[symbol.section]) return;
    if (symbol.type != STT_FUNC && symbol.type != STT_NOTYPE && symbol.type != STT_GNU_IFUNC)
      return;
    if (is_mapping_symbol(symbol.name)) return;
    code.push_back(make_candidate(symbol, *starts[symbol.section] + symbol.value));
  });
  return to_list(code);
}

}  // namespace perf_latency
