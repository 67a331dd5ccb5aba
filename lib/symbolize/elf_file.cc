// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/elf_file.h"

#include <elf.h>

#include <algorithm>
#include <bit>

namespace perf_latency {
namespace {

constexpr bool kHostIsBig = std::endian::native == std::endian::big;

uint64_t align_up(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

}  // namespace

Result<ElfFile> ElfFile::parse(std::span<const std::byte> bytes) {
  if (bytes.size() < EI_NIDENT || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0)
    return make_error("not an ELF file");
  const auto ident = [&](size_t i) { return std::to_integer<unsigned>(bytes[i]); };
  const unsigned file_class = ident(EI_CLASS);
  const unsigned order = ident(EI_DATA);
  if ((file_class != ELFCLASS32 && file_class != ELFCLASS64) ||
      (order != ELFDATA2LSB && order != ELFDATA2MSB))
    return make_error("an ELF file of unknown class or byte order", EI_CLASS);
  ElfFile file(bytes, file_class == ELFCLASS64, (order == ELFDATA2MSB) != kHostIsBig);
  if (!file.read_header()) return make_error("an ELF file with a damaged header");
  return file;
}

std::span<const std::byte> ElfFile::part(uint64_t offset, uint64_t size) const {
  if (offset > bytes_.size() || size > bytes_.size() - offset) return {};
  return bytes_.subspan(offset, size);
}

bool ElfFile::read_header() {
  ByteCursor in(bytes_.subspan(EI_NIDENT), swap_);
  type_ = in.u16();
  machine_ = in.u16();
  in.skip(4);  // e_version
  word(in);    // e_entry
  const uint64_t segments_at = word(in);
  const uint64_t sections_at = word(in);
  in.skip(4 + 2);  // e_flags, e_ehsize
  const uint16_t segment_bytes = in.u16();
  uint32_t segment_count = in.u16();
  const uint16_t section_bytes = in.u16();
  uint32_t section_count = in.u16();
  uint32_t names = in.u16();
  if (!in.ok()) return false;

  // Counts that do not fit 16 bits stand in section 0 (gABI, "ELF Header").
  const auto first = part(sections_at, section_bytes);
  if (sections_at != 0 && !first.empty()) {
    uint32_t name_at = 0;
    const ElfSection zero = read_section(ByteCursor(first, swap_), name_at);
    if (section_count == 0 && zero.size_bytes <= bytes_.size())
      section_count = static_cast<uint32_t>(zero.size_bytes);
    if (names == SHN_XINDEX) names = zero.link;
  }
  if (sections_at != 0) read_sections(sections_at, section_bytes, section_count, names);
  if (segment_count != PN_XNUM) read_segments(segments_at, segment_bytes, segment_count);
  return true;
}

void ElfFile::read_segments(uint64_t offset, uint16_t entry_bytes, uint32_t count) {
  const size_t needed = is_64bit_ ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
  const auto table = part(offset, uint64_t{count} * entry_bytes);
  if (entry_bytes < needed || table.empty()) return;
  segments_.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    ByteCursor in(table.subspan(size_t{i} * entry_bytes, entry_bytes), swap_);
    ElfSegment segment;
    segment.type = in.u32();
    if (is_64bit_) segment.flags = in.u32();
    segment.offset = word(in);
    segment.address = word(in);
    word(in);  // p_paddr
    segment.file_bytes = word(in);
    segment.memory_bytes = word(in);
    if (!is_64bit_) segment.flags = in.u32();
    segments_.push_back(segment);
  }
}

ElfSection ElfFile::read_section(ByteCursor in, uint32_t& name_at) const {
  ElfSection section;
  name_at = in.u32();
  section.type = in.u32();
  section.flags = word(in);
  section.address = word(in);
  section.offset = word(in);
  section.size_bytes = word(in);
  section.link = in.u32();
  in.skip(4);  // sh_info
  section.align = word(in);
  section.entry_bytes = word(in);
  return in.ok() ? section : ElfSection{};
}

void ElfFile::read_sections(uint64_t offset, uint16_t entry_bytes, uint32_t count, uint32_t names) {
  const size_t needed = is_64bit_ ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
  const auto table = part(offset, uint64_t{count} * entry_bytes);
  if (entry_bytes < needed || table.empty()) return;
  std::vector<uint32_t> name_offsets(count);
  sections_.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    const ByteCursor in(table.subspan(size_t{i} * entry_bytes, entry_bytes), swap_);
    sections_.push_back(read_section(in, name_offsets[i]));
  }
  if (names >= count) return;
  const auto text = section_bytes(sections_[names]);
  for (uint32_t i = 0; i < count; ++i)
    if (name_offsets[i] < text.size())
      sections_[i].name = ByteCursor::text_in(text.subspan(name_offsets[i]));
}

const ElfSection* ElfFile::section(std::string_view name) const {
  const auto found = std::find_if(sections_.begin(), sections_.end(),
                                  [&](const ElfSection& s) { return s.name == name; });
  return found == sections_.end() ? nullptr : &*found;
}

const ElfSection* ElfFile::section_of_type(uint32_t type) const {
  const auto found = std::find_if(sections_.begin(), sections_.end(),
                                  [&](const ElfSection& s) { return s.type == type; });
  return found == sections_.end() ? nullptr : &*found;
}

std::span<const std::byte> ElfFile::section_bytes(const ElfSection& section) const {
  if (section.type == SHT_NOBITS || section.type == SHT_NULL) return {};
  return part(section.offset, section.size_bytes);
}

ElfSymbol ElfFile::read_symbol(ByteCursor in, std::span<const std::byte> names) const {
  ElfSymbol symbol;
  const uint32_t name_at = in.u32();
  if (!is_64bit_) {
    symbol.value = in.u32();
    symbol.size_bytes = in.u32();
  }
  const uint8_t info = in.u8();
  in.skip(1);  // st_other
  symbol.section = in.u16();
  if (is_64bit_) {
    symbol.value = in.u64();
    symbol.size_bytes = in.u64();
  }
  symbol.type = info & 0xf;
  symbol.binding = info >> 4;
  if (in.ok() && name_at < names.size()) symbol.name = ByteCursor::text_in(names.subspan(name_at));
  return symbol;
}

BuildId build_id_of_notes(std::span<const std::byte> notes, bool swap, uint64_t align) {
  ByteCursor in(notes, swap);
  while (in.left() >= sizeof(Elf64_Nhdr)) {
    const uint64_t name_bytes = in.u32();
    const uint64_t content_bytes = in.u32();
    const uint32_t type = in.u32();
    const auto name = in.bytes(name_bytes);
    in.skip(std::min<uint64_t>(align_up(name_bytes, align) - name_bytes, in.left()));
    const auto content = in.bytes(content_bytes);
    in.skip(std::min<uint64_t>(align_up(content_bytes, align) - content_bytes, in.left()));
    if (in.ok() && type == NT_GNU_BUILD_ID && ByteCursor::text_in(name) == "GNU")
      return BuildId(content);
  }
  return {};
}

BuildId ElfFile::build_id() const {
  for (const ElfSection& section : sections_) {
    if (section.type != SHT_NOTE) continue;
    const BuildId id = build_id_of_notes(section_bytes(section), swap_, section.align == 8 ? 8 : 4);
    if (!id.empty()) return id;
  }
  for (const ElfSegment& segment : segments_) {
    if (segment.type != PT_NOTE) continue;
    const BuildId id = build_id_of_notes(part(segment.offset, segment.file_bytes), swap_);
    if (!id.empty()) return id;
  }
  return {};
}

std::optional<ElfDebugLink> ElfFile::debug_link() const {
  const ElfSection* section = this->section(".gnu_debuglink");
  if (section == nullptr) return std::nullopt;
  ByteCursor in(section_bytes(*section), swap_);
  ElfDebugLink link;
  link.file_name = in.c_string();
  in.skip(in.ok() ? align_up(in.position(), 4) - in.position() : 0);
  link.crc = in.u32();
  if (!in.ok() || link.file_name.empty()) return std::nullopt;
  return link;
}

std::optional<ElfAltLink> ElfFile::debug_alt_link() const {
  const ElfSection* section = this->section(".gnu_debugaltlink");
  if (section == nullptr) return std::nullopt;
  ByteCursor in(section_bytes(*section), swap_);
  ElfAltLink link;
  link.file_name = in.c_string();
  link.build_id = BuildId(in.bytes(in.left()));
  if (!in.ok() || link.file_name.empty()) return std::nullopt;
  return link;
}

std::optional<uint64_t> ElfFile::address_of_offset(uint64_t offset) const {
  for (const ElfSegment& segment : segments_)
    if (segment.type == PT_LOAD && offset >= segment.offset &&
        offset - segment.offset < segment.file_bytes)
      return offset - segment.offset + segment.address;
  return std::nullopt;
}

std::span<const std::byte> ElfFile::bytes_at(uint64_t address, size_t size) const {
  for (const ElfSegment& segment : segments_) {
    if (segment.type != PT_LOAD || address < segment.address) continue;
    const uint64_t into = address - segment.address;
    if (into >= segment.file_bytes || segment.offset > bytes_.size()) continue;
    const uint64_t in_file = std::min(segment.file_bytes, bytes_.size() - segment.offset);
    if (into >= in_file) continue;
    return bytes_.subspan(segment.offset + into, std::min<uint64_t>(size, in_file - into));
  }
  return {};
}

}  // namespace perf_latency
