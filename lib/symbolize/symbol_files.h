// SPDX-License-Identifier: GPL-2.0-only
// Finds the files of a DSO: its image, and what holds its symbols and debug information.
//
// Image: symfs or the path itself, /proc/PID/root of a process that still runs, the build-id
// caches, debuginfod. Debug file: /usr/lib/debug/.build-id, the caches, .gnu_debuglink (of the same
// build id or CRC; beside the image, in .debug/, below /usr/lib/debug), debuginfod. Each is held
// against the recorded build ids if there are any; .gnu_debugdata (xz) is inside the image. The
// vdso comes from the caches, or is our own if its id is the recorded one. Layouts:
// perf-buildid-cache(1); GDB's manual, "Separate Debug Files"; the build-id cache's directories as
// in tools/perf/util/build-id.c, 6.12.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "symbolize/dso.h"
#include "symbolize/elf_file.h"
#include "symbolize/file_bytes.h"
#include "symbolize/symbolizer.h"

namespace perf_latency {

struct OpenElf {
  std::string path;
  FileBytes file;
  std::optional<ElfFile> elf;  // set in every OpenElf that the finder returns
};

class SymbolFiles {
 public:
  explicit SymbolFiles(const SymbolizerOptions& options) : options_(options) {}

  // nullopt: `reason` says why. The image may be a debug file alone (no code in it) where the
  // program itself is not here.
  std::optional<OpenElf> find_image(const Dso& dso, const std::vector<BuildId>& ids,
                                    UnknownReason& reason) const;
  std::optional<OpenElf> find_debug(const OpenElf& image) const;
  // The ELF file in an image's .gnu_debugdata.
  static std::optional<OpenElf> unpack_debugdata(const OpenElf& image);
  // The file that an image's .gnu_debugaltlink names (made by dwz).
  std::optional<OpenElf> find_alternate(const OpenElf& debug) const;

 private:
  std::optional<OpenElf> open_checked(const std::string& path, const std::vector<BuildId>& ids,
                                      UnknownReason& reason) const;
  std::optional<OpenElf> find_cached(const std::vector<BuildId>& ids, const char* name) const;
  std::optional<OpenElf> find_vdso(const std::vector<BuildId>& ids) const;
  std::optional<OpenElf> find_linked(const OpenElf& image) const;

  const SymbolizerOptions& options_;
};

}  // namespace perf_latency
