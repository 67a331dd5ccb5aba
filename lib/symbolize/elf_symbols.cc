// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/elf_symbols.h"

#include <elf.h>

#include <algorithm>
#include <tuple>

#include "symbolize/elf_plt.h"

namespace perf_latency {
namespace {

// How far find() goes back for a symbol that holds the address when the nearest one does not.
constexpr int kMaxNested = 16;

bool is_function(const ElfSymbol& symbol, const ElfSection& section) {
  if (symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC) return true;
  return symbol.type == STT_NOTYPE && (section.flags & SHF_EXECINSTR) != 0;
}

size_t leading_underscores(std::string_view name) {
  return std::min(name.find_first_not_of('_'), name.size());
}

// "name@@VERSION" and "name@VERSION" of a linked .symtab.
std::string_view without_version(std::string_view name) {
  const size_t at = name.find('@');
  return at == std::string_view::npos || at == 0 ? name : name.substr(0, at);
}

}  // namespace

void ElfSymbols::add_table(const ElfFile& file, const ElfSection& table) {
  const bool thumb = file.machine() == EM_ARM;
  file.for_each_symbol(table, [&](const ElfSymbol& symbol) {
    if (symbol.section == SHN_UNDEF || symbol.section >= file.sections().size()) return;
    const ElfSection& section = file.sections()[symbol.section];
    if (!is_function(symbol, section) || (section.flags & SHF_ALLOC) == 0) return;
    if (symbol.name[0] == '$' || symbol.name.starts_with(".L")) return;
    Candidate candidate;
    const uint64_t value = thumb ? symbol.value & ~uint64_t{1} : symbol.value;
    candidate.limit = section.address + section.size_bytes;
    candidate.sized = symbol.size_bytes != 0;
    candidate.weak = symbol.binding == STB_WEAK;
    candidate.global = symbol.binding == STB_GLOBAL;
    candidate.symbol = {value, value + symbol.size_bytes, without_version(symbol.name)};
    if (candidate.symbol.end < value) return;
    candidates_.push_back(candidate);
  });
}

void ElfSymbols::add(const ElfFile& file) {
  for (const ElfSection& section : file.sections())
    if (section.type == SHT_SYMTAB || section.type == SHT_DYNSYM) add_table(file, section);
}

void ElfSymbols::add_plt(const ElfFile& file) {
  for (const PltStub& stub : find_plt_stubs(file)) {
    Candidate candidate;
    candidate.sized = true;
    names_.push_back(std::string(without_version(stub.name)) + "@plt");
    candidate.symbol = {stub.address, stub.address + stub.size_bytes, names_.back()};
    candidates_.push_back(candidate);
  }
}

bool ElfSymbols::better(const Candidate& a, const Candidate& b) {
  const auto key = [](const Candidate& c) {
    return std::tuple(!c.sized, c.weak, !c.global, leading_underscores(c.symbol.name),
                      ~c.symbol.name.size());
  };
  return key(a) < key(b);
}

void ElfSymbols::finish() {
  std::stable_sort(candidates_.begin(), candidates_.end(),
                   [](const Candidate& a, const Candidate& b) {
                     if (a.symbol.start != b.symbol.start) return a.symbol.start < b.symbol.start;
                     return better(a, b);
                   });
  symbols_.reserve(candidates_.size());
  for (size_t i = 0; i < candidates_.size();) {
    const Candidate& best = candidates_[i];
    symbols_.push_back(best.symbol);
    while (i < candidates_.size() && candidates_[i].symbol.start == best.symbol.start) ++i;
    if (best.sized) continue;
    const uint64_t next = i < candidates_.size() ? candidates_[i].symbol.start
                                                 : std::max(best.limit, best.symbol.start);
    symbols_.back().end = best.limit > best.symbol.start ? std::min(next, best.limit) : next;
  }
  candidates_.clear();
  candidates_.shrink_to_fit();
}

std::optional<uint32_t> ElfSymbols::find(uint64_t address) const {
  auto at = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                             [](uint64_t a, const Symbol& s) { return a < s.start; });
  for (int i = 0; i < kMaxNested && at != symbols_.begin(); ++i) {
    --at;
    if (address < at->end) return static_cast<uint32_t>(at - symbols_.begin());
  }
  return std::nullopt;
}

}  // namespace perf_latency
