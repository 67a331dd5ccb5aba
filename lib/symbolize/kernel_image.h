// SPDX-License-Identifier: GPL-2.0-only
// Picks the symbols of the kernel that made a recording.
//
// In this order: --kallsyms; --vmlinux; the recording's own kallsyms (perf record --kcore); the
// build-id caches; /usr/lib/debug/.build-id; vmlinux and System.map of that release where
// distributions put them (below --symfs if given); the running kernel. Whatever can be checked
// against the recording's build id is, and is passed over when it differs; a file without a check
// is taken only where the recording has no build id and the release in the file's path is the
// recording's. The running kernel counts only if /sys/kernel/notes shows the recording's build id.
//
// KASLR: the recording's kernel map says at which address the reference symbol (`_text`, `_stext`)
// was; the file says where it was linked, or was in the boot that wrote it. The difference is the
// shift. Without a kernel map an explicit --kallsyms or --vmlinux is taken as it is (shift 0).
// Source: tools/perf/util/symbol.c dso__load_kernel_sym(), machine.c, 6.12; perf.data's kernel map
// as tools/perf/util/synthetic-events.c writes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "symbolize/build_id.h"
#include "symbolize/kernel_symbols.h"

namespace perf_latency {

// The first MMAP or MMAP2 record of the kernel with pid -1, named "[kernel.kallsyms]_text" or the
// like.
struct KernelMap {
  uint64_t start = 0;
  uint64_t length = 0;
  uint64_t pgoff = 0;            // the address of reference_symbol; 0: addresses were hidden
  std::string reference_symbol;  // what follows "[kernel.kallsyms]": "_text", "_stext"
};

// Takes a map record's name apart; nullopt when it is not that of the kernel proper.
std::optional<std::string_view> kernel_reference_symbol(std::string_view map_name);

// A module's map record, named "[ext4]" or by its path. Where `paths` of the result is empty,
// find_kernel_image() looks for the file. nullopt when the map is not that of a module.
std::optional<KernelModule> kernel_module_of_map(std::string_view map_name, uint64_t start,
                                                 uint64_t length, const BuildId& build_id);

struct KernelImageInput {
  std::optional<KernelMap> map;
  BuildId build_id;
  std::string os_release;
  std::string kcore_dir;  // DIR/kcore_dir of a `perf record --kcore` directory, or empty
  std::vector<KernelModule> modules;  // used where the symbols found do not include theirs

  // The user's options; empty: not given.
  std::string kallsyms;
  std::string vmlinux;
  std::string symfs;
  bool force = false;  // take an explicit --vmlinux in spite of another build id
  std::vector<std::string> build_id_dirs;

  // Where the running kernel shows itself.
  std::string running_kallsyms = "/proc/kallsyms";
  std::string running_notes = "/sys/kernel/notes";
};

struct KernelImage {
  KernelSymbols symbols;
  std::string source;  // for people: "build-id cache: /root/.debug/…/kallsyms (shifted by 0x…)"
};

// An Error says what was looked for, and why each candidate that exists was not taken.
Result<KernelImage> find_kernel_image(const KernelImageInput& input);

// $HOME/.debug, or what `buildid.dir` in ~/.perfconfig names.
std::vector<std::string> default_build_id_dirs();

// The build id of the kernel that runs here.
BuildId running_kernel_build_id(const std::string& notes_path = "/sys/kernel/notes");

}  // namespace perf_latency
