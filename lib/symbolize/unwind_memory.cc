// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/unwind_memory.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>

#include <algorithm>

namespace perf_latency {
namespace {

// A chain of 127 frames takes some fifty thousand reads when nothing is cached.
constexpr uint64_t kMaxReads = 1 << 17;
// How far above the copy the stack can be thought to go on (the default limit of a stack's size).
constexpr uint64_t kMaxStackBytes = 8u << 20;

constexpr uint8_t kTableVersion = 1;

Elf* libelf_of(const OpenElf& file) {
  elf_version(EV_CURRENT);
  const auto bytes = file.file.bytes();
  return elf_memory(reinterpret_cast<char*>(const_cast<std::byte*>(bytes.data())), bytes.size());
}

uint64_t load_number(const std::byte* at, size_t size, bool swap) {
  switch (size) {
    case 8:
      return load_unchecked<uint64_t>(at, swap);
    case 4:
      return load_unchecked<uint32_t>(at, swap);
    case 2:
      return load_unchecked<uint16_t>(at, swap);
    default:
      return load_unchecked<uint8_t>(at);
  }
}

}  // namespace

UnwindImage::UnwindImage(const SymbolFiles& files, const Dso& dso, const std::vector<BuildId>& ids)
    : files_(files) {
  UnknownReason reason;
  if (dso.kind == DsoKind::file || dso.kind == DsoKind::vdso)
    image_ = files.find_image(dso, ids, reason);
  if (image_) table_ = read_table();
}

UnwindImage::~UnwindImage() {
  if (eh_frame_ != nullptr) dwarf_cfi_end(eh_frame_);
  if (dwarf_ != nullptr) dwarf_end(dwarf_);  // debug_frame_ is part of it
  if (debug_libelf_ != nullptr) elf_end(debug_libelf_);
  if (libelf_ != nullptr) elf_end(libelf_);
}

// .eh_frame_hdr: version, three encodings, the address of .eh_frame, the number of entries, the
// table (Linux Standard Base Core, "The .eh_frame_hdr section").
std::optional<UnwindImage::Table> UnwindImage::read_table() const {
  for (const ElfSegment& segment : image_->elf->segments()) {
    if (segment.type != PT_GNU_EH_FRAME) continue;
    ByteCursor in(image_->elf->bytes_at(segment.address, segment.file_bytes),
                  image_->elf->swapped());
    const uint8_t version = in.u8();
    const uint8_t frame_encoding = in.u8();
    const uint8_t count_encoding = in.u8();
    const uint8_t table_encoding = in.u8();
    if (version != kTableVersion || count_encoding != DW_EH_PE_udata4 ||
        table_encoding != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
      return std::nullopt;
    if ((frame_encoding & 0xf) != DW_EH_PE_sdata4 && (frame_encoding & 0xf) != DW_EH_PE_udata4)
      return std::nullopt;
    in.skip(4);
    const uint64_t count = in.u32();
    if (!in.ok() || count == 0 || count > in.left() / 8) return std::nullopt;
    return Table{segment.address + in.position(), segment.address, count};
  }
  return std::nullopt;
}

void UnwindImage::open_libdw() {
  libdw_tried_ = true;
  if (!image_) return;
  libelf_ = libelf_of(*image_);
  if (libelf_ == nullptr) return;
  eh_frame_ = dwarf_getcfi_elf(libelf_);
  if (image_->elf->section(".debug_frame") != nullptr) {
    dwarf_ = dwarf_begin_elf(libelf_, DWARF_C_READ, nullptr);
  } else if (eh_frame_ == nullptr && (debug_ = files_.find_debug(*image_))) {
    debug_libelf_ = libelf_of(*debug_);
    if (debug_libelf_ != nullptr) dwarf_ = dwarf_begin_elf(debug_libelf_, DWARF_C_READ, nullptr);
  }
  if (dwarf_ != nullptr) debug_frame_ = dwarf_getcfi(dwarf_);
}

Dwarf_CFI_s* UnwindImage::eh_frame() {
  if (!libdw_tried_) open_libdw();
  return eh_frame_;
}

Dwarf_CFI_s* UnwindImage::debug_frame() {
  if (!libdw_tried_) open_libdw();
  return debug_frame_;
}

void UnwindMemory::set(const UnwindInput& input, int32_t pid, uint64_t stack_pointer) {
  pid_ = pid;
  stack_start_ = stack_pointer;
  stack_ = input.stack;
  swap_ = input.swap;
  ran_off_the_stack_ = false;
  reads_left_ = kMaxReads;
  last_place_.reset();
  code_.reset();
}

void UnwindMemory::enter(uint64_t ip) {
  const auto place = this->place(ip);
  if (place && place->image != nullptr) code_ = place;
}

UnwindImage& UnwindMemory::image(DsoId dso) {
  std::unique_ptr<UnwindImage>& image = images_[dso];
  if (!image)
    image =
        std::make_unique<UnwindImage>(files_, spaces_.dsos()[dso], spaces_.dsos().build_ids(dso));
  return *image;
}

std::optional<UnwindMemory::Place> UnwindMemory::place(uint64_t address) {
  if (last_place_ && address >= last_place_->start && address < last_place_->end)
    return last_place_;
  const auto map = spaces_.map_at(pid_, address);
  if (!map) return std::nullopt;
  Place place{nullptr, 0, map->start, map->end};
  UnwindImage& image = this->image(map->dso);
  if (const ElfFile* elf = image.elf()) {
    if (const auto in_file = elf->address_of_offset(map->pgoff + (address - map->start))) {
      place.image = &image;
      place.bias = address - *in_file;
    }
  }
  return last_place_ = place;
}

std::optional<uint64_t> UnwindMemory::read_stack(uint64_t address, size_t size) {
  const uint64_t into = address - stack_start_;
  if (into >= stack_.size() || size > stack_.size() - into) return std::nullopt;
  return load_number(stack_.data() + into, size, swap_);
}

void UnwindMemory::note_missing(uint64_t address) {
  if (address >= stack_start_ && address - stack_start_ < kMaxStackBytes) ran_off_the_stack_ = true;
}

// Tables are read for the code that is unwound. Recordings often have the maps of code alone, so
// its own file is asked before the maps.
std::span<const std::byte> UnwindMemory::file_bytes(uint64_t address, size_t size, bool& swap) {
  if (code_) {
    swap = code_->image->elf()->swapped();
    const auto bytes = code_->image->elf()->bytes_at(address - code_->bias, size);
    if (!bytes.empty()) return bytes;
  }
  const auto place = this->place(address);
  if (!place || place->image == nullptr) return {};
  swap = place->image->elf()->swapped();
  return place->image->elf()->bytes_at(address - place->bias, size);
}

std::optional<uint64_t> UnwindMemory::read(uint64_t address, size_t size) {
  if (reads_left_ == 0) return std::nullopt;
  --reads_left_;
  if (const auto value = read_stack(address, size)) return value;
  bool swap = false;
  const auto bytes = file_bytes(address, size, swap);
  if (bytes.size() >= size) return load_number(bytes.data(), size, swap);
  note_missing(address);
  return std::nullopt;
}

std::optional<uint64_t> UnwindMemory::read_word(uint64_t address) {
  if (reads_left_ == 0) return std::nullopt;
  --reads_left_;
  if (const auto value = read_stack(address, sizeof(uint64_t))) return value;
  bool swap = false;
  const auto bytes = file_bytes(address, sizeof(uint64_t), swap);
  if (bytes.empty()) {
    note_missing(address);
    return std::nullopt;
  }
  std::array<std::byte, sizeof(uint64_t)> word{};
  std::copy(bytes.begin(), bytes.end(), word.begin());
  return load_unchecked<uint64_t>(word.data(), swap);
}

}  // namespace perf_latency
