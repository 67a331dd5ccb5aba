// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/symbol_list.h"

#include <algorithm>

#include "symbolize/names.h"

namespace perf_latency {
namespace {

bool by_address(const SymbolEntry& a, const SymbolEntry& b) { return a.address < b.address; }

}  // namespace

// kallsyms is sorted but for the modules at its end: sort those alone and merge.
void SymbolList::sort() {
  const auto unsorted = std::is_sorted_until(entries_.begin(), entries_.end(), by_address);
  if (unsorted == entries_.end()) return;
  std::stable_sort(unsorted, entries_.end(), by_address);
  std::inplace_merge(entries_.begin(), unsorted, entries_.end(), by_address);
}

void SymbolList::put_markers_last() {
  auto group = entries_.begin();
  while (group != entries_.end()) {
    auto end = group + 1;
    while (end != entries_.end() && end->address == group->address) ++end;
    if (end - group > 1 && is_section_marker(group->name())) {
      const auto best = std::find_if_not(
          group, end, [](const SymbolEntry& e) { return is_section_marker(e.name()); });
      if (best != end) std::rotate(group, best, best + 1);
    }
    group = end;
  }
}

void SymbolList::finish() {
  sort();
  put_markers_last();
}

void SymbolList::drop_modules() {
  std::erase_if(entries_, [](const SymbolEntry& e) { return e.module != 0; });
}

const SymbolEntry* SymbolList::below(uint64_t address) const {
  const auto above = std::upper_bound(entries_.begin(), entries_.end(),
                                      SymbolEntry{address, nullptr, 0, 0}, by_address);
  if (above == entries_.begin()) return nullptr;
  return &*std::lower_bound(entries_.begin(), above, *(above - 1), by_address);
}

const SymbolEntry* SymbolList::after(const SymbolEntry* entry) const {
  const auto above = std::upper_bound(entries_.begin(), entries_.end(), *entry, by_address);
  return above == entries_.end() ? nullptr : &*above;
}

}  // namespace perf_latency
