// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/symbol_files.h"

#include <elf.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "symbolize/debuginfod_client.h"
#include "symbolize/paths.h"

namespace perf_latency {
namespace {

constexpr size_t kMaxDebugdataBytes = 256u << 20;

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::optional<OpenElf> open_elf(const std::string& path) {
  auto file = FileBytes::open(path);
  if (!file) return std::nullopt;
  auto elf = ElfFile::parse(file->bytes());
  if (!elf) return std::nullopt;
  return OpenElf{path, std::move(*file), std::move(*elf)};
}

bool has_symbols(const ElfFile& elf) { return elf.section_of_type(SHT_SYMTAB) != nullptr; }

uint32_t crc_of(std::span<const std::byte> bytes) {
  constexpr size_t kPart = size_t{1} << 30;
  uLong crc = 0;
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(kPart, bytes.size())))
    crc = crc32(crc, reinterpret_cast<const Bytef*>(bytes.data()),
                static_cast<uInt>(std::min(kPart, bytes.size())));
  return static_cast<uint32_t>(crc);
}

// A copy of the vdso that the kernel gave this process: header to end of the section headers.
std::vector<std::byte> own_vdso() {
  const auto* at = std::bit_cast<const std::byte*>(getauxval(AT_SYSINFO_EHDR));
  if (at == nullptr) return {};
  const auto header = load_unchecked<Elf64_Ehdr>(at);
  if (sizeof(void*) != 8 || header.e_ident[EI_CLASS] != ELFCLASS64) return {};
  const size_t size = header.e_shoff + size_t{header.e_shnum} * header.e_shentsize;
  return {at, at + size};
}

}  // namespace

std::optional<OpenElf> SymbolFiles::open_checked(const std::string& path,
                                                 const std::vector<BuildId>& ids,
                                                 UnknownReason& reason) const {
  if (access(path.c_str(), F_OK) != 0) return std::nullopt;
  auto file = open_elf(path);
  if (!file) {
    reason = UnknownReason::file_unreadable;
    return std::nullopt;
  }
  if (!ids.empty() && std::find(ids.begin(), ids.end(), file->elf->build_id()) == ids.end()) {
    reason = UnknownReason::other_build;
    return std::nullopt;
  }
  return file;
}

std::optional<OpenElf> SymbolFiles::find_cached(const std::vector<BuildId>& ids,
                                                const char* name) const {
  UnknownReason ignored;
  for (const BuildId& id : ids) {
    const std::string place = build_id_path(id);
    if (place.empty()) continue;
    for (const std::string& dir : options_.build_id_dirs) {
      if (auto file = open_checked(concat({dir, place, "/", name}), {id}, ignored)) return file;
      // Before perf 4.10 the link led to the file itself.
      if (auto file = open_checked(dir + place, {id}, ignored)) return file;
    }
  }
  return std::nullopt;
}

std::optional<OpenElf> SymbolFiles::find_vdso(const std::vector<BuildId>& ids) const {
  if (ids.empty()) return std::nullopt;
  if (auto cached = find_cached(ids, "vdso")) return cached;
  FileBytes own = FileBytes::from_memory(own_vdso());
  auto elf = ElfFile::parse(own.bytes());
  if (!elf || std::find(ids.begin(), ids.end(), elf->build_id()) == ids.end()) return std::nullopt;
  return OpenElf{"[vdso]", std::move(own), std::move(*elf)};
}

std::optional<OpenElf> SymbolFiles::find_image(const Dso& dso, const std::vector<BuildId>& ids,
                                               UnknownReason& reason) const {
  reason = UnknownReason::file_not_found;
  if (dso.kind == DsoKind::vdso) return find_vdso(ids);
  // A deleted file's path can only hold another file, unless its build id shows that it is the
  // same.
  if (!dso.deleted || !ids.empty()) {
    if (auto file = open_checked(options_.symfs + dso.name, ids, reason)) return file;
  }
  if (options_.live && options_.symfs.empty() && dso.pid > 0) {
    const std::string root = "/proc/" + std::to_string(dso.pid) + "/root";
    // A process of today with a pid of then is the same only if the build id says so.
    if (!ids.empty())
      if (auto file = open_checked(root + dso.name, ids, reason)) return file;
  }
  if (auto file = find_cached(ids, "elf")) return file;
  UnknownReason ignored;
  for (const BuildId& id : ids) {
    const std::string place = build_id_path(id);
    if (place.empty()) continue;
    const std::string debug = concat({options_.symfs, options_.debug_dir, place, ".debug"});
    if (auto file = open_checked(debug, {id}, ignored)) return file;
    if (!options_.debuginfod) continue;
    if (const std::string path = debuginfod_executable(id); !path.empty())
      if (auto file = open_checked(path, {id}, ignored)) return file;
  }
  return std::nullopt;
}

std::optional<OpenElf> SymbolFiles::find_linked(const OpenElf& image) const {
  const auto link = image.elf->debug_link();
  if (!link || link->file_name.find('/') != std::string_view::npos) return std::nullopt;
  const std::string name(link->file_name);
  const std::string dir = directory_of(image.path);
  std::string_view recorded_dir = dir;
  if (recorded_dir.starts_with(options_.symfs)) recorded_dir.remove_prefix(options_.symfs.size());
  for (const std::string& path :
       {concat({dir, "/", name}), concat({dir, "/.debug/", name}),
        concat({options_.symfs, options_.debug_dir, recorded_dir, "/", name})}) {
    if (path == image.path) continue;
    auto file = open_elf(path);
    if (!file) continue;
    // Equal build ids say more than the checksum, which tools that edit the file do not renew.
    const BuildId id = file->elf->build_id();
    const bool same_build = !id.empty() && id == image.elf->build_id();
    if (same_build || crc_of(file->file.bytes()) == link->crc) return file;
  }
  return std::nullopt;
}

std::optional<OpenElf> SymbolFiles::find_debug(const OpenElf& image) const {
  const BuildId id = image.elf->build_id();
  if (!id.empty()) {
    UnknownReason ignored;
    const std::string place = build_id_path(id);
    if (!place.empty()) {
      const std::string path = concat({options_.debug_dir, place, ".debug"});
      for (const std::string& root : {options_.symfs, std::string()})
        if (auto file = open_checked(root + path, {id}, ignored)) return file;
    }
    if (auto file = find_cached({id}, "debug")) {
      if (has_symbols(*file->elf)) return file;
    }
  }
  if (auto file = find_linked(image)) return file;
  if (id.empty() || !options_.debuginfod) return std::nullopt;
  UnknownReason ignored;
  const std::string path = debuginfod_debug_file(id);
  return path.empty() ? std::nullopt : open_checked(path, {id}, ignored);
}

std::optional<OpenElf> SymbolFiles::unpack_debugdata(const OpenElf& image) {
  const ElfSection* section = image.elf->section(".gnu_debugdata");
  if (section == nullptr) return std::nullopt;
  auto bytes = unpack(image.elf->section_bytes(*section), kMaxDebugdataBytes);
  if (!bytes) return std::nullopt;
  FileBytes file = FileBytes::from_memory(std::move(*bytes));
  auto elf = ElfFile::parse(file.bytes());
  if (!elf) return std::nullopt;
  return OpenElf{image.path, std::move(file), std::move(*elf)};
}

std::optional<OpenElf> SymbolFiles::find_alternate(const OpenElf& debug) const {
  const auto link = debug.elf->debug_alt_link();
  if (!link) return std::nullopt;
  const std::string name(link->file_name);
  const std::string path = name[0] == '/' ? name : directory_of(debug.path) + "/" + name;
  UnknownReason ignored;
  const std::vector<BuildId> ids = {link->build_id};
  if (auto file = open_checked(options_.symfs + path, ids, ignored)) return file;
  const std::string place = build_id_path(link->build_id);
  if (place.empty()) return std::nullopt;
  return open_checked(concat({options_.debug_dir, place, ".debug"}), ids, ignored);
}

}  // namespace perf_latency
