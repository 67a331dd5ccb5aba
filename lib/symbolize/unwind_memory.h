// SPDX-License-Identifier: GPL-2.0-only
// What an unwinder can see of a process at the time of a sample: its maps, the mapped files, the
// stack copy.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>

#include "symbolize/address_spaces.h"
#include "symbolize/symbol_files.h"
#include "symbolize/unwinder.h"

struct Dwarf_CFI_s;
struct Elf;
struct Dwarf;

namespace perf_latency {

// The unwind information of one file.
class UnwindImage {
 public:
  UnwindImage(const SymbolFiles& files, const Dso& dso, const std::vector<BuildId>& ids);
  UnwindImage(const UnwindImage&) = delete;
  UnwindImage& operator=(const UnwindImage&) = delete;
  ~UnwindImage();

  const ElfFile* elf() const { return image_ ? &*image_->elf : nullptr; }

  // The sorted table in .eh_frame_hdr: its address in the file, the address that its entries are
  // relative to, and its length. Only the encoding that linkers write (4 bytes, relative to the
  // section) is taken.
  struct Table {
    uint64_t address = 0;
    uint64_t base = 0;
    uint64_t entries = 0;
  };
  const std::optional<Table>& table() const { return table_; }

  // libdw's readers for .eh_frame and .debug_frame; nullptr where there is none.
  Dwarf_CFI_s* eh_frame();
  Dwarf_CFI_s* debug_frame();

 private:
  std::optional<Table> read_table() const;
  void open_libdw();

  const SymbolFiles& files_;
  std::optional<OpenElf> image_;
  std::optional<OpenElf> debug_;
  std::optional<Table> table_;
  bool libdw_tried_ = false;
  Elf* libelf_ = nullptr;
  Elf* debug_libelf_ = nullptr;
  Dwarf* dwarf_ = nullptr;
  Dwarf_CFI_s* eh_frame_ = nullptr;
  Dwarf_CFI_s* debug_frame_ = nullptr;
};

class UnwindMemory {
 public:
  UnwindMemory(const AddressSpaces& spaces, const SymbolizerOptions& options)
      : spaces_(spaces), files_(options) {}

  // A new sample.
  void set(const UnwindInput& input, int32_t pid, uint64_t stack_pointer);

  struct Place {
    UnwindImage* image = nullptr;  // nullptr: not a file, or it is not here
    uint64_t bias = 0;             // run-time address - address in the file
    uint64_t start = 0;            // of the map
    uint64_t end = 0;
  };
  // nullopt: no map there.
  std::optional<Place> place(uint64_t address);

  // The code that is unwound next is at `ip`: tables are read from its file.
  void enter(uint64_t ip);

  // `size` is 1, 2, 4 or 8. nullopt: not available.
  std::optional<uint64_t> read(uint64_t address, size_t size);
  // As read() of 8 bytes, but what stands behind the end of a file's segment reads as zero, since
  // libunwind reads tables in aligned words.
  std::optional<uint64_t> read_word(uint64_t address);

  // Reads that this sample may still make.
  bool exhausted() const { return reads_left_ == 0; }
  // A read was refused because the stack copy ends before it.
  bool ran_off_the_stack() const { return ran_off_the_stack_; }

 private:
  std::optional<uint64_t> read_stack(uint64_t address, size_t size);
  void note_missing(uint64_t address);
  std::span<const std::byte> file_bytes(uint64_t address, size_t size, bool& swap);
  UnwindImage& image(DsoId dso);

  const AddressSpaces& spaces_;
  SymbolFiles files_;
  std::unordered_map<DsoId, std::unique_ptr<UnwindImage>> images_;
  int32_t pid_ = -1;
  uint64_t stack_start_ = 0;
  std::span<const std::byte> stack_;
  bool swap_ = false;
  bool ran_off_the_stack_ = false;
  uint64_t reads_left_ = 0;
  std::optional<Place> last_place_;
  std::optional<Place> code_;
};

}  // namespace perf_latency
