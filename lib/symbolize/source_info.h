// SPDX-License-Identifier: GPL-2.0-only
// Source lines and inlined calls of an address, from DWARF by libdw.
//
// Addresses are those of the ELF file (p_vaddr). The ranges of units and functions are indexed when
// first needed: .debug_aranges is missing in what clang makes. Views live as long as the SourceInfo
// and the bytes it was opened on.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "symbolize/symbolizer.h"

namespace perf_latency {

class SourceInfo {
 public:
  struct Place {
    std::string_view function;  // linkage name where there is one; empty: unnamed
    SourceLine source;
  };

  // nullptr when there is no DWARF. `alternate` is what .gnu_debugaltlink names; may be empty.
  static std::unique_ptr<SourceInfo> open(std::span<const std::byte> debug,
                                          std::span<const std::byte> alternate);
  ~SourceInfo();

  // The innermost inlined function first, the function that holds the address last; empty when
  // nothing is known.
  std::vector<Place> describe(uint64_t address);

 private:
  struct Range {
    uint64_t start;
    uint64_t end;
    Dwarf_Die die;
  };
  using Ranges = std::vector<Range>;

  SourceInfo() = default;
  void index_units();
  const Ranges& functions_of(Dwarf_Die& unit);
  static void add_ranges(Dwarf_Die& die, Ranges& ranges);
  static const Range* find(const Ranges& ranges, uint64_t address);

  Elf* elf_ = nullptr;
  Elf* alternate_elf_ = nullptr;
  Dwarf* dwarf_ = nullptr;
  Dwarf* alternate_ = nullptr;
  bool indexed_ = false;
  Ranges units_;
  std::unordered_map<Dwarf_Off, Ranges> functions_;  // by unit
};

}  // namespace perf_latency
