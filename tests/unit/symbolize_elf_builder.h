// SPDX-License-Identifier: GPL-2.0-only
// Writes small ELF files for the tests of symbolize: 64-bit little-endian or 32-bit big-endian.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "symbolize/build_id.h"
#include "symbolize/file_bytes.h"

namespace perf_latency {

class SymbolizeElfBuilder {
 public:
  SymbolizeElfBuilder(uint16_t type, uint16_t machine, bool is_64bit = true)
      : type_(type), machine_(machine), is_64bit_(is_64bit) {
    add_section("", SHT_NULL, 0, 0, {}, 0);
  }

  // Returns the section's index. `address` is also where its bytes are mapped.
  uint16_t add_section(std::string name, uint32_t type, uint64_t flags, uint64_t address,
                       std::string content, uint64_t align = 1) {
    sections_.push_back({std::move(name), type, flags, address, std::move(content), align, 0, 0});
    return static_cast<uint16_t>(sections_.size() - 1);
  }

  void add_symbol(std::string_view name, uint64_t value, uint64_t size, uint8_t type,
                  uint8_t binding, uint16_t section) {
    if (names_.empty()) names_ += '\0';
    const auto at = static_cast<uint32_t>(names_.size());
    names_ += name;
    names_ += '\0';
    put32(symbols_, at);
    const uint8_t info = static_cast<uint8_t>(binding << 4 | type);
    if (is_64bit_) {
      symbols_ += {static_cast<char>(info), 0};
      put16(symbols_, section);
      put64(symbols_, value);
      put64(symbols_, size);
    } else {
      put32(symbols_, static_cast<uint32_t>(value));
      put32(symbols_, static_cast<uint32_t>(size));
      symbols_ += {static_cast<char>(info), 0};
      put16(symbols_, section);
    }
  }

  void set_build_id(const BuildId& id) {
    std::string note;
    put32(note, 4);
    put32(note, static_cast<uint32_t>(id.bytes().size()));
    put32(note, NT_GNU_BUILD_ID);
    note.append("GNU\0", 4);
    note.append(reinterpret_cast<const char*>(id.bytes().data()), id.bytes().size());
    add_section(".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0, note, 4);
  }

  // A PT_LOAD of the whole file's first `size` bytes at `address`.
  void set_load(uint64_t address, uint64_t size) {
    load_address_ = address;
    load_size_ = size;
  }

  std::vector<std::byte> build() const {
    std::vector<Section> sections = sections_;
    const auto table = static_cast<uint32_t>(sections.size());
    std::string symbols(is_64bit_ ? 24 : 16, '\0');
    symbols += symbols_;
    sections.push_back({".symtab", SHT_SYMTAB, 0, 0, symbols, 8, table + 1, is_64bit_ ? 24u : 16u});
    sections.push_back({".strtab", SHT_STRTAB, 0, 0, names_, 1, 0, 0});
    std::string section_names;
    std::vector<uint32_t> name_at;
    for (const Section& section : sections) {
      name_at.push_back(static_cast<uint32_t>(section_names.size()));
      section_names += section.name;
      section_names += '\0';
    }
    name_at.push_back(static_cast<uint32_t>(section_names.size()));
    section_names += ".shstrtab";
    section_names += '\0';
    sections.push_back({".shstrtab", SHT_STRTAB, 0, 0, section_names, 1, 0, 0});

    std::string file(header_bytes() + (load_size_ != 0 ? segment_bytes() : 0), '\0');
    std::vector<uint64_t> offsets;
    for (const Section& section : sections) {
      file.resize((file.size() + 7) / 8 * 8);
      offsets.push_back(file.size());
      file += section.content;
    }
    file.resize((file.size() + 7) / 8 * 8);
    const uint64_t sections_at = file.size();
    for (size_t i = 0; i < sections.size(); ++i)
      put_section(file, sections[i], name_at[i], offsets[i]);
    std::string head = header(sections_at, static_cast<uint16_t>(sections.size()));
    if (load_size_ != 0) put_load(head);
    file.replace(0, head.size(), head);
    std::vector<std::byte> bytes(file.size());
    std::memcpy(bytes.data(), file.data(), file.size());
    return bytes;
  }

 private:
  struct Section {
    std::string name;
    uint32_t type;
    uint64_t flags;
    uint64_t address;
    std::string content;
    uint64_t align;
    uint32_t link;
    uint64_t entry_bytes;
  };

  size_t header_bytes() const { return is_64bit_ ? 64 : 52; }
  size_t segment_bytes() const { return is_64bit_ ? 56 : 32; }

  void put(std::string& out, uint64_t value, int bytes) const {
    for (int i = 0; i < bytes; ++i)
      out += static_cast<char>(value >> 8 * (is_64bit_ ? i : bytes - 1 - i));
  }
  void put16(std::string& out, uint16_t value) const { put(out, value, 2); }
  void put32(std::string& out, uint32_t value) const { put(out, value, 4); }
  void put64(std::string& out, uint64_t value) const { put(out, value, 8); }
  void word(std::string& out, uint64_t value) const { put(out, value, is_64bit_ ? 8 : 4); }

  std::string header(uint64_t sections_at, uint16_t section_count) const {
    std::string out =
        "\x7f"
        "ELF";
    out += {static_cast<char>(is_64bit_ ? ELFCLASS64 : ELFCLASS32),
            static_cast<char>(is_64bit_ ? ELFDATA2LSB : ELFDATA2MSB), 1};
    out.resize(EI_NIDENT);
    put16(out, type_);
    put16(out, machine_);
    put32(out, 1);
    word(out, 0);
    word(out, load_size_ != 0 ? header_bytes() : 0);
    word(out, sections_at);
    put32(out, 0);
    put16(out, static_cast<uint16_t>(header_bytes()));
    put16(out, static_cast<uint16_t>(segment_bytes()));
    put16(out, load_size_ != 0 ? 1 : 0);
    put16(out, is_64bit_ ? 64 : 40);
    put16(out, section_count);
    put16(out, static_cast<uint16_t>(section_count - 1));
    return out;
  }

  void put_load(std::string& out) const {
    put32(out, PT_LOAD);
    if (is_64bit_) put32(out, PF_R | PF_X);
    word(out, 0);
    word(out, load_address_);
    word(out, load_address_);
    word(out, load_size_);
    word(out, load_size_);
    if (!is_64bit_) put32(out, PF_R | PF_X);
    word(out, 0x1000);
  }

  void put_section(std::string& out, const Section& section, uint32_t name, uint64_t at) const {
    put32(out, name);
    put32(out, section.type);
    word(out, section.flags);
    word(out, section.address);
    word(out, at);
    word(out, section.content.size());
    put32(out, section.link);
    put32(out, 0);
    word(out, section.align);
    word(out, section.entry_bytes);
  }

  uint16_t type_;
  uint16_t machine_;
  bool is_64bit_;
  uint64_t load_address_ = 0;
  uint64_t load_size_ = 0;
  std::vector<Section> sections_;
  std::string names_;
  std::string symbols_;
};

// A directory that is removed at the end of the test.
class SymbolizeTempDir {
 public:
  SymbolizeTempDir() {
    char path[] = "/tmp/pl-symbolize-XXXXXX";
    path_ = mkdtemp(path) == nullptr ? "" : path;
  }
  SymbolizeTempDir(const SymbolizeTempDir&) = delete;
  SymbolizeTempDir& operator=(const SymbolizeTempDir&) = delete;
  ~SymbolizeTempDir() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  // Makes the folders too; returns the whole path.
  std::string write(const std::string& name, std::string_view content) const {
    const std::string path = path_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  std::string write(const std::string& name, const std::vector<std::byte>& content) const {
    return write(name,
                 std::string_view(reinterpret_cast<const char*>(content.data()), content.size()));
  }

 private:
  std::string path_;
};

}  // namespace perf_latency
