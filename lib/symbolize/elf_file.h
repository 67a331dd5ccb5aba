// SPDX-License-Identifier: GPL-2.0-only
// The headers, symbols and notes of an ELF file of either class and byte order.
//
// Our own reader, because the files come from anywhere and elfutils trusts their headers: every
// offset, size and index is checked against the bytes that are there, and what does not fit reads
// as absent. All views point into the bytes given to parse(), which must outlive the ElfFile.
// Layout: ELF gABI; .gnu_debuglink and .gnu_debugaltlink as in GDB's manual, "Separate Debug
// Files".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/byte_cursor.h"
#include "base/result.h"
#include "symbolize/build_id.h"

namespace perf_latency {

struct ElfSection {
  std::string_view name;
  uint32_t type = 0;
  uint32_t link = 0;
  uint64_t flags = 0;
  uint64_t address = 0;
  uint64_t offset = 0;
  uint64_t size_bytes = 0;
  uint64_t align = 0;
  uint64_t entry_bytes = 0;
};

struct ElfSegment {
  uint32_t type = 0;
  uint32_t flags = 0;
  uint64_t offset = 0;
  uint64_t address = 0;
  uint64_t file_bytes = 0;
  uint64_t memory_bytes = 0;
};

struct ElfSymbol {
  std::string_view name;
  uint64_t value = 0;
  uint64_t size_bytes = 0;
  uint32_t section = 0;  // 0: undefined; kElfAbsolute: not relative to a section
  uint8_t type = 0;      // STT_*
  uint8_t binding = 0;   // STB_*
};

inline constexpr uint32_t kElfAbsolute = 0xfff1;

struct ElfDebugLink {
  std::string_view file_name;
  uint32_t crc = 0;
};

struct ElfAltLink {
  std::string_view file_name;
  BuildId build_id;
};

class ElfFile {
 public:
  static Result<ElfFile> parse(std::span<const std::byte> bytes);

  bool is_64bit() const { return is_64bit_; }
  bool swapped() const { return swap_; }
  uint16_t type() const { return type_; }        // ET_*
  uint16_t machine() const { return machine_; }  // EM_*
  std::span<const std::byte> bytes() const { return bytes_; }
  const std::vector<ElfSection>& sections() const { return sections_; }
  const std::vector<ElfSegment>& segments() const { return segments_; }

  const ElfSection* section(std::string_view name) const;
  const ElfSection* section_of_type(uint32_t type) const;
  // Empty for sections without bytes in the file and for those that do not fit it.
  std::span<const std::byte> section_bytes(const ElfSection& section) const;

  // Calls visit(const ElfSymbol&) for each named symbol of a SHT_SYMTAB or SHT_DYNSYM section.
  template <typename Visit>
  void for_each_symbol(const ElfSection& table, Visit&& visit) const;

  BuildId build_id() const;
  std::optional<ElfDebugLink> debug_link() const;
  std::optional<ElfAltLink> debug_alt_link() const;

  // The address (p_vaddr space) of the byte at a file offset, by the PT_LOAD that holds it; for
  // files without such a segment (ET_REL) nullopt.
  std::optional<uint64_t> address_of_offset(uint64_t offset) const;
  // Up to `size` bytes of the image at an address, as far as the file holds them.
  std::span<const std::byte> bytes_at(uint64_t address, size_t size) const;

 private:
  ElfFile(std::span<const std::byte> bytes, bool is_64bit, bool swap)
      : bytes_(bytes), is_64bit_(is_64bit), swap_(swap) {}

  std::span<const std::byte> part(uint64_t offset, uint64_t size) const;
  bool read_header();
  void read_segments(uint64_t offset, uint16_t entry_bytes, uint32_t count);
  void read_sections(uint64_t offset, uint16_t entry_bytes, uint32_t count, uint32_t names);
  ElfSection read_section(ByteCursor in, uint32_t& name_at) const;
  uint64_t word(ByteCursor& in) const { return is_64bit_ ? in.u64() : in.u32(); }
  ElfSymbol read_symbol(ByteCursor in, std::span<const std::byte> names) const;
  size_t symbol_bytes() const { return is_64bit_ ? 24 : 16; }

  std::span<const std::byte> bytes_;
  bool is_64bit_;
  bool swap_;
  uint16_t type_ = 0;
  uint16_t machine_ = 0;
  std::vector<ElfSection> sections_;
  std::vector<ElfSegment> segments_;
};

// The build id in a notes image as /sys/kernel/notes gives it (this machine's byte order).
BuildId build_id_of_notes(std::span<const std::byte> notes, bool swap, uint64_t align = 4);

template <typename Visit>
void ElfFile::for_each_symbol(const ElfSection& table, Visit&& visit) const {
  if (table.link >= sections_.size()) return;
  const std::span<const std::byte> names = section_bytes(sections_[table.link]);
  std::span<const std::byte> left = section_bytes(table);
  for (; left.size() >= symbol_bytes(); left = left.subspan(symbol_bytes())) {
    const ElfSymbol symbol = read_symbol(ByteCursor(left, swap_), names);
    if (!symbol.name.empty()) visit(symbol);
  }
}

}  // namespace perf_latency
