// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/kernel_image.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "symbolize/elf_file.h"
#include "symbolize/file_bytes.h"
#include "symbolize/names.h"
#include "symbolize/paths.h"

namespace perf_latency {
namespace {

constexpr std::string_view kKernelMapName = "[kernel.kallsyms]";

std::string hex_text(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

// "nf-tables.ko.xz" and "nf_tables" are one module.
std::string module_name(std::string_view file_name) {
  std::string name(file_name.substr(0, file_name.find(".ko")));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// Lines of modules.dep: "kernel/fs/ext4/ext4.ko.xz: other modules".
std::string path_in_modules_dep(const std::string& dir, const std::string& name) {
  std::ifstream list(dir + "/modules.dep");
  for (std::string line; std::getline(list, line);) {
    line.resize(std::min(line.find(':'), line.size()));
    if (module_name(base_name(line)) == name)
      return line[0] == '/' ? line : concat({dir, "/", line});
  }
  return {};
}

// Where the file of a module can be, best first.
std::vector<std::string> module_paths(const KernelImageInput& input, const KernelModule& module) {
  std::vector<std::string> paths;
  paths.reserve(module.paths.size() + input.build_id_dirs.size() + 1);
  for (const std::string& path : module.paths) paths.push_back(input.symfs + path);
  const std::string place = build_id_path(module.build_id);
  if (!place.empty())
    for (const std::string& dir : input.build_id_dirs)
      paths.push_back(concat({dir, place, "/elf"}));
  const bool usable = !input.os_release.empty() && input.os_release.find('/') == std::string::npos;
  if (!usable) return paths;
  for (const char* base : {"/lib/modules/", "/usr/lib/modules/"}) {
    const std::string dir = input.symfs + base + input.os_release;
    if (auto path = path_in_modules_dep(dir, module.name); !path.empty()) {
      paths.push_back(std::move(path));
      break;
    }
  }
  return paths;
}

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

class Search {
 public:
  explicit Search(const KernelImageInput& input) : input_(input) {}
  Result<KernelImage> run();

 private:
  enum class Format : uint8_t { kallsyms, elf };
  enum class Check : uint8_t {
    none,        // the user named it, or its path holds the build id
    by_id,       // its own build id must be the recording's
    by_release,  // the path holds the release: good enough where there is no build id
  };

  Result<KernelImage> explicit_file(const std::string& path, Format format);
  std::optional<KernelImage> try_file(const std::string& path, Format format, Check check,
                                      std::string_view what);
  Result<uint64_t> shift_of(const KernelSymbols& symbols) const;
  KernelImage finish(KernelSymbols symbols, uint64_t shift, std::string source) const;

  std::optional<KernelImage> build_id_cache(const std::string& dir);
  std::optional<KernelImage> debug_directory();
  std::optional<KernelImage> release_paths();
  std::optional<KernelImage> running_kernel();
  void refuse(std::string_view reason) {
    if (!refused_.empty()) refused_ += "; ";
    refused_ += reason;
  }

  const KernelImageInput& input_;
  std::string refused_;
};

Result<uint64_t> Search::shift_of(const KernelSymbols& symbols) const {
  if (!input_.map) return uint64_t{0};
  if (input_.map->pgoff == 0)
    return make_error("the recording hides kernel addresses (kernel.kptr_restrict)");
  const std::string& reference = input_.map->reference_symbol;
  const auto in_file = symbols.address_of(reference.empty() ? "_text" : reference);
  if (!in_file) return make_error("has no symbol " + reference);
  return input_.map->pgoff - *in_file;
}

KernelImage Search::finish(KernelSymbols symbols, uint64_t shift, std::string source) const {
  symbols.set_shift(shift);
  if (shift != 0) source += " (moved by " + hex_text(shift) + ")";
  for (KernelModule module : input_.modules) {
    if (symbols.has_module(module.name)) continue;
    module.paths = module_paths(input_, module);
    if (!module.paths.empty()) symbols.add_module(std::move(module));
  }
  return {std::move(symbols), std::move(source)};
}

Result<KernelImage> Search::explicit_file(const std::string& path, Format format) {
  auto symbols =
      format == Format::elf ? KernelSymbols::from_elf(path) : KernelSymbols::from_kallsyms(path);
  if (!symbols) return symbols.error();
  const BuildId id = symbols->build_id();
  if (!input_.force && !id.empty() && !input_.build_id.empty() && !(id == input_.build_id))
    return make_error(path + ": its build id is " + id.hex() + ", the recorded kernel's is " +
                      input_.build_id.hex());
  const auto shift = shift_of(*symbols);
  if (!shift) return make_error(path + ": " + shift.error().what);
  return finish(std::move(*symbols), *shift, path);
}

std::optional<KernelImage> Search::try_file(const std::string& path, Format format, Check check,
                                            std::string_view what) {
  if (!exists(path)) return std::nullopt;
  auto symbols =
      format == Format::elf ? KernelSymbols::from_elf(path) : KernelSymbols::from_kallsyms(path);
  if (!symbols) {
    refuse(symbols.error().what);
    return std::nullopt;
  }
  const BuildId id = symbols->build_id();
  const bool both_known = !id.empty() && !input_.build_id.empty();
  const bool accepted =
      both_known ? id == input_.build_id
                 : check == Check::none || (check == Check::by_release && input_.build_id.empty());
  if (!accepted) {
    refuse(path + (both_known ? " is of another build" : " has no build id to check"));
    return std::nullopt;
  }
  const auto shift = shift_of(*symbols);
  if (!shift) {
    refuse(path + ": " + shift.error().what);
    return std::nullopt;
  }
  return finish(std::move(*symbols), *shift, std::string(what) + " " + path);
}

// Layouts: DIR/.build-id/ab/cdef… is a link to DIR/[kernel.kallsyms]/ID, a directory that holds
// `kallsyms`, `elf` or `vmlinux` (perf 4.10 and later), or is the file itself (earlier).
std::optional<KernelImage> Search::build_id_cache(const std::string& dir) {
  const std::string place_of_id = build_id_path(input_.build_id);
  if (place_of_id.empty()) return std::nullopt;
  const std::array<std::string, 2> places = {
      dir + place_of_id, concat({dir, "/", kKernelMapName, "/", input_.build_id.hex()})};
  constexpr std::string_view kWhat = "build-id cache";
  for (const std::string& place : places) {
    if (auto image = try_file(place + "/kallsyms", Format::kallsyms, Check::none, kWhat))
      return image;
    for (const char* name : {"/vmlinux", "/elf", "/debug"})
      if (auto image = try_file(place + name, Format::elf, Check::by_id, kWhat)) return image;
    if (!exists(place + "/.")) {  // not a directory
      if (auto image = try_file(place, Format::kallsyms, Check::none, kWhat)) return image;
    }
  }
  return std::nullopt;
}

std::optional<KernelImage> Search::debug_directory() {
  const std::string place = build_id_path(input_.build_id);
  if (place.empty()) return std::nullopt;
  return try_file(concat({input_.symfs, "/usr/lib/debug", place, ".debug"}), Format::elf,
                  Check::by_id, "debug file");
}

std::optional<KernelImage> Search::release_paths() {
  const std::string& release = input_.os_release;
  if (release.empty() || release.find('/') != std::string::npos) return std::nullopt;
  const std::array<std::string, 7> vmlinuxes = {
      "/boot/vmlinux-" + release,
      "/usr/lib/debug/boot/vmlinux-" + release,
      "/usr/lib/debug/lib/modules/" + release + "/vmlinux",
      "/usr/lib/debug/boot/vmlinux-" + release + ".debug",
      "/lib/modules/" + release + "/build/vmlinux",
      "/lib/modules/" + release + "/vmlinux",
      "/usr/lib/debug/usr/lib/modules/" + release + "/vmlinux"};
  for (const std::string& path : vmlinuxes)
    if (auto image = try_file(input_.symfs + path, Format::elf, Check::by_release, "vmlinux"))
      return image;
  return try_file(input_.symfs + "/boot/System.map-" + release, Format::kallsyms, Check::by_release,
                  "System.map");
}

std::optional<KernelImage> Search::running_kernel() {
  if (input_.build_id.empty()) {
    refuse("the recording has no kernel build id, so the running kernel cannot be compared");
    return std::nullopt;
  }
  if (!(running_kernel_build_id(input_.running_notes) == input_.build_id)) {
    refuse("the running kernel is another build");
    return std::nullopt;
  }
  return try_file(input_.running_kallsyms, Format::kallsyms, Check::none, "running kernel:");
}

Result<KernelImage> Search::run() {
  if (!input_.kallsyms.empty()) return explicit_file(input_.kallsyms, Format::kallsyms);
  if (!input_.vmlinux.empty()) return explicit_file(input_.vmlinux, Format::elf);
  if (input_.map && input_.map->pgoff == 0)
    return make_error(
        "the recording hides kernel addresses: record as root or with kernel.kptr_restrict=0");
  if (!input_.kcore_dir.empty())
    if (auto image = try_file(input_.kcore_dir + "/kallsyms", Format::kallsyms, Check::none,
                              "recorded with --kcore:"))
      return std::move(*image);
  for (const std::string& dir : input_.build_id_dirs)
    if (auto image = build_id_cache(dir)) return std::move(*image);
  if (auto image = debug_directory()) return std::move(*image);
  if (auto image = release_paths()) return std::move(*image);
  if (auto image = running_kernel()) return std::move(*image);
  const std::string which =
      input_.build_id.empty()
          ? "kernel " + input_.os_release
          : "kernel " + input_.os_release + " (build id " + input_.build_id.hex() + ")";
  return make_error("no symbols of " + which + " here: " + refused_ +
                    "; name a file with --kallsyms or --vmlinux");
}

}  // namespace

std::optional<std::string_view> kernel_reference_symbol(std::string_view map_name) {
  if (!map_name.starts_with(kKernelMapName)) return std::nullopt;
  return map_name.substr(kKernelMapName.size());
}

std::optional<KernelModule> kernel_module_of_map(std::string_view map_name, uint64_t start,
                                                 uint64_t length, const BuildId& build_id) {
  KernelModule module;
  module.start = start;
  module.end = start + length;
  module.build_id = build_id;
  if (map_name.starts_with("[") && map_name.ends_with("]")) {
    if (map_name.starts_with("[kernel") || map_name.starts_with("[guest")) return std::nullopt;
    module.name = module_name(map_name.substr(1, map_name.size() - 2));
  } else if (base_name(map_name).find(".ko") != std::string_view::npos) {
    module.name = module_name(base_name(map_name));
    module.paths.emplace_back(map_name);
  }
  if (module.name.empty() || module.end <= start) return std::nullopt;
  return module;
}

Result<KernelImage> find_kernel_image(const KernelImageInput& input) { return Search(input).run(); }

BuildId running_kernel_build_id(const std::string& notes_path) {
  const auto notes = FileBytes::open_trusted(notes_path);
  return notes ? build_id_of_notes(notes->bytes(), false) : BuildId();
}

std::vector<std::string> default_build_id_dirs() {
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return {};
  std::vector<std::string> dirs;
  // ~/.perfconfig: [buildid] dir = PATH, with ~/ for the home directory (perf-config(1)).
  std::ifstream config(std::string(home) + "/.perfconfig");
  std::string section;
  for (std::string line; std::getline(config, line);) {
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos) continue;
    line.erase(0, first);
    if (line[0] == '[') section = line.substr(0, line.find(']'));
    const size_t equals = line.find('=');
    if (section != "[buildid" || equals == std::string::npos || !line.starts_with("dir")) continue;
    if (line.find_first_not_of(" \t", 3) != equals) continue;
    std::string value = line.substr(line.find_first_not_of(" \t\"", equals + 1));
    value.erase(value.find_last_not_of(" \t\"") + 1);
    if (value.starts_with("~/")) value.replace(0, 1, home);
    if (!value.empty()) dirs.push_back(value);
  }
  dirs.push_back(std::string(home) + "/.debug");
  return dirs;
}

}  // namespace perf_latency
