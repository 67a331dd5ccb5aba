// SPDX-License-Identifier: GPL-2.0-only
// A sorted list of kernel symbols of one kind (code or data), as the parsers fill it.
//
// Invariant after finish(): sorted by address; among equal addresses the one that names the address
// stands first, the others keep the order in which they were added.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace perf_latency {

struct SymbolEntry {
  uint64_t address = 0;
  const char* name_at = nullptr;  // in the file's bytes
  uint16_t name_size = 0;
  uint16_t module = 0;  // index into the module names; 0 is the kernel proper

  std::string_view name() const { return {name_at, name_size}; }
};

class SymbolList {
 public:
  void reserve(size_t n) { entries_.reserve(n); }
  void add(const SymbolEntry& entry) { entries_.push_back(entry); }
  void finish();
  void drop_modules();

  size_t size() const { return entries_.size(); }
  const std::vector<SymbolEntry>& entries() const { return entries_; }

  // The entry that names `address`: the first of the nearest group at or below it; nullptr if none.
  const SymbolEntry* below(uint64_t address) const;
  // The first entry of the next group; nullptr behind the last.
  const SymbolEntry* after(const SymbolEntry* entry) const;

 private:
  void sort();
  void put_markers_last();

  std::vector<SymbolEntry> entries_;
};

}  // namespace perf_latency
