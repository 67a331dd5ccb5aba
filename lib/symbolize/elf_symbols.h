// SPDX-License-Identifier: GPL-2.0-only
// The functions of a user ELF file, by address.
//
// Sources are .symtab, .dynsym and the procedure linkage table. Of several symbols at one address
// one is kept, chosen as perf chooses it (tools/perf/util/symbol.c choose_best_symbol(), 6.12):
// with a size, not weak, global, fewer leading underscores, the longer name. Symbols without a size
// (from assembler) reach to the next symbol or the end of their section.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbolize/elf_file.h"

namespace perf_latency {

class ElfSymbols {
 public:
  struct Symbol {
    uint64_t start = 0;
    uint64_t end = 0;
    std::string_view name;  // in the ELF file's bytes, or in names_
  };

  // Reads a file's tables. Several files of one build (its debug file, its .gnu_debugdata) may be
  // added; call finish() once behind the last. Their bytes must stay.
  void add(const ElfFile& file);
  void add_plt(const ElfFile& file);
  void finish();

  bool empty() const { return symbols_.empty(); }
  const Symbol& operator[](uint32_t index) const { return symbols_[index]; }
  // The symbol that holds the address; of nested ones the innermost.
  std::optional<uint32_t> find(uint64_t address) const;

 private:
  struct Candidate {
    Symbol symbol;
    uint64_t limit = 0;  // the end of its section
    bool sized = false;
    bool weak = false;
    bool global = false;
  };
  static bool better(const Candidate& a, const Candidate& b);
  void add_table(const ElfFile& file, const ElfSection& table);

  std::vector<Candidate> candidates_;
  std::vector<Symbol> symbols_;
  std::deque<std::string> names_;  // of PLT stubs
};

}  // namespace perf_latency
