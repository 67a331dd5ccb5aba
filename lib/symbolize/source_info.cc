// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/source_info.h"

#include <dwarf.h>

#include <algorithm>

namespace perf_latency {
namespace {

// Bounds for input that is not from a compiler.
constexpr size_t kMaxDepth = 64;  // namespaces around a function, inlined calls in one another
constexpr size_t kMaxRangesOfDie = 1 << 16;
constexpr size_t kMaxDies = 16u << 20;

Elf* elf_of(std::span<const std::byte> bytes) {
  if (bytes.empty()) return nullptr;
  elf_version(EV_CURRENT);
  // The bytes are a private copy (FileBytes), which libelf may change.
  return elf_memory(reinterpret_cast<char*>(const_cast<std::byte*>(bytes.data())), bytes.size());
}

std::string_view text_of(const char* text) { return text == nullptr ? "" : text; }

// A function's linkage name, or its plain one, also where another DIE declares it.
std::string_view function_name(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name})
    if (dwarf_attr_integrate(&die, name, &attribute) != nullptr)
      if (const char* text = dwarf_formstring(&attribute)) return text;
  return {};
}

SourceLine line_of_address(Dwarf_Die& unit, uint64_t address) {
  Dwarf_Line* line = dwarf_getsrc_die(&unit, address);
  int number = 0;
  if (line == nullptr || dwarf_lineno(line, &number) != 0) return {};
  return {text_of(dwarf_linesrc(line, nullptr, nullptr)), static_cast<uint32_t>(number)};
}

// Where the inlined function `die` was called.
SourceLine line_of_call(Dwarf_Die& unit, Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  Dwarf_Word file = 0;
  Dwarf_Word line = 0;
  if (dwarf_formudata(dwarf_attr(&die, DW_AT_call_line, &attribute), &line) != 0) return {};
  SourceLine source{{}, static_cast<uint32_t>(line)};
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (dwarf_formudata(dwarf_attr(&die, DW_AT_call_file, &attribute), &file) == 0 &&
      dwarf_getsrcfiles(&unit, &files, &count) == 0 && file < count)
    source.file = text_of(dwarf_filesrc(files, file, nullptr, nullptr));
  return source;
}

bool holds_functions(int tag) {
  switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:  // Rust
      return true;
    default:
      return false;
  }
}

// The block or inlined call right below `die` that holds the address.
bool find_child_with(Dwarf_Die& die, uint64_t address, Dwarf_Die& child) {
  int end = dwarf_child(&die, &child);
  for (size_t seen = 0; end == 0 && seen < kMaxDies; ++seen) {
    const int tag = dwarf_tag(&child);
    if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
        dwarf_haspc(&child, address) > 0)
      return true;
    end = dwarf_siblingof(&child, &child);
  }
  return false;
}

}  // namespace

std::unique_ptr<SourceInfo> SourceInfo::open(std::span<const std::byte> debug,
                                             std::span<const std::byte> alternate) {
  std::unique_ptr<SourceInfo> info(new SourceInfo);
  info->elf_ = elf_of(debug);
  if (info->elf_ == nullptr) return nullptr;
  info->dwarf_ = dwarf_begin_elf(info->elf_, DWARF_C_READ, nullptr);
  if (info->dwarf_ == nullptr) return nullptr;
  info->alternate_elf_ = elf_of(alternate);
  if (info->alternate_elf_ != nullptr)
    info->alternate_ = dwarf_begin_elf(info->alternate_elf_, DWARF_C_READ, nullptr);
  if (info->alternate_ != nullptr) dwarf_setalt(info->dwarf_, info->alternate_);
  return info;
}

SourceInfo::~SourceInfo() {
  if (dwarf_ != nullptr) dwarf_end(dwarf_);
  if (alternate_ != nullptr) dwarf_end(alternate_);
  if (alternate_elf_ != nullptr) elf_end(alternate_elf_);
  if (elf_ != nullptr) elf_end(elf_);
}

void SourceInfo::add_ranges(Dwarf_Die& die, Ranges& ranges) {
  ptrdiff_t at = 0;
  Dwarf_Addr base = 0;
  Dwarf_Addr start = 0;
  Dwarf_Addr end = 0;
  for (size_t i = 0; i < kMaxRangesOfDie; ++i) {
    at = dwarf_ranges(&die, at, &base, &start, &end);
    if (at <= 0) return;
    if (start < end) ranges.push_back({start, end, die});
  }
}

const SourceInfo::Range* SourceInfo::find(const Ranges& ranges, uint64_t address) {
  const auto above =
      std::upper_bound(ranges.begin(), ranges.end(), address,
                       [](uint64_t a, const Range& range) { return a < range.start; });
  if (above == ranges.begin() || address >= std::prev(above)->end) return nullptr;
  return &*std::prev(above);
}

void SourceInfo::index_units() {
  indexed_ = true;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  while (dwarf_get_units(dwarf_, unit, &unit, nullptr, nullptr, &die, nullptr) == 0)
    if (dwarf_tag(&die) == DW_TAG_compile_unit) add_ranges(die, units_);
  std::stable_sort(units_.begin(), units_.end(),
                   [](const Range& a, const Range& b) { return a.start < b.start; });
}

// The functions of a unit, which may stand in namespaces and types.
const SourceInfo::Ranges& SourceInfo::functions_of(Dwarf_Die& unit) {
  const auto [at, is_new] = functions_.try_emplace(dwarf_dieoffset(&unit));
  Ranges& ranges = at->second;
  if (!is_new) return ranges;
  std::vector<Dwarf_Die> path(1);  // the DIE whose siblings come next, at each depth
  if (dwarf_child(&unit, &path[0]) != 0) return ranges;
  for (size_t seen = 0; !path.empty() && seen < kMaxDies; ++seen) {
    Dwarf_Die die = path.back();
    const int tag = dwarf_tag(&die);
    if (tag == DW_TAG_subprogram) add_ranges(die, ranges);
    if (dwarf_siblingof(&path.back(), &path.back()) != 0) path.pop_back();
    Dwarf_Die child;
    if (holds_functions(tag) && path.size() < kMaxDepth && dwarf_child(&die, &child) == 0)
      path.push_back(child);
  }
  std::stable_sort(ranges.begin(), ranges.end(),
                   [](const Range& a, const Range& b) { return a.start < b.start; });
  return ranges;
}

std::vector<SourceInfo::Place> SourceInfo::describe(uint64_t address) {
  if (!indexed_) index_units();
  const Range* unit = find(units_, address);
  if (unit == nullptr) return {};
  Dwarf_Die unit_die = unit->die;
  SourceLine line = line_of_address(unit_die, address);
  const Range* function = find(functions_of(unit_die), address);
  if (function == nullptr)
    return line.line == 0 ? std::vector<Place>() : std::vector<Place>{{{}, line}};

  // Down from the function: at each level at most one child holds the address.
  Dwarf_Die outer = function->die;
  std::vector<Dwarf_Die> calls{outer};
  for (size_t depth = 0; depth < kMaxDepth; ++depth) {
    Dwarf_Die child;
    if (!find_child_with(outer, address, child)) break;
    if (dwarf_tag(&child) == DW_TAG_inlined_subroutine) calls.push_back(child);
    outer = child;
  }

  std::vector<Place> places;
  for (size_t i = calls.size(); i-- > 0;) {
    places.push_back({function_name(calls[i]), line});
    if (i > 0) line = line_of_call(unit_die, calls[i]);
  }
  return places;
}

}  // namespace perf_latency
