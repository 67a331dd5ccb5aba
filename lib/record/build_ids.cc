// SPDX-License-Identifier: GPL-2.0-only
#include "record/build_ids.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "perfdata/writer_records.h"
#include "record/small_files.h"
#include "symbolize/elf_file.h"
#include "symbolize/file_bytes.h"

namespace perf_latency {

namespace {

std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

BuildId build_id_of_file(const std::string& path) {
  const Result<FileBytes> file = FileBytes::open(path);
  if (!file) return {};
  const Result<ElfFile> elf = ElfFile::parse(file->bytes());
  return elf ? elf->build_id() : BuildId();
}

BuildId build_id_of_mapping(const std::string& path, uint32_t pid) {
  const BuildId seen_by_process = build_id_of_file("/proc/" + std::to_string(pid) + "/root" + path);
  return seen_by_process.empty() ? build_id_of_file(path) : seen_by_process;
}

// The vdso is no file: our own mapping is the one that every process of this kernel has.
BuildId build_id_of_vdso() {
  const unsigned long address = ::getauxval(AT_SYSINFO_EHDR);
  if (address == 0) return {};
  const size_t bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const Result<ElfFile> elf = ElfFile::parse({reinterpret_cast<const std::byte*>(address), bytes});
  return elf ? elf->build_id() : BuildId();
}

bool write_file(const std::string& path, std::string_view text) {
  // Written aside and renamed: two recorders may do this at once.
  const std::string aside = path + "." + std::to_string(::getpid());
  const int fd = ::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  const bool whole = ::close(fd) == 0 && done == text.size();
  if (whole && ::rename(aside.c_str(), path.c_str()) == 0) return true;
  ::unlink(aside.c_str());
  return false;
}

}  // namespace

BuildId running_kernel_build_id() {
  return build_id_of_notes(as_bytes(read_small_file("/sys/kernel/notes").value_or("")), false);
}

std::vector<std::byte> build_id_records(const std::vector<KernelModule>& modules,
                                        const std::map<std::string, uint32_t>& maps) {
  ByteWriter out;
  if (const BuildId id = running_kernel_build_id(); !id.empty())
    append_build_id(out, true, id.bytes(), "[kernel.kallsyms]");
  for (const KernelModule& module : modules) {
    const std::string notes =
        read_small_file("/sys/module/" + module.name + "/notes/.note.gnu.build-id").value_or("");
    if (const BuildId id = build_id_of_notes(as_bytes(notes), false); !id.empty())
      append_build_id(out, true, id.bytes(), module.path);
  }
  for (const auto& [path, pid] : maps) {
    const BuildId id = path == "[vdso]" ? build_id_of_vdso() : build_id_of_mapping(path, pid);
    if (!id.empty()) append_build_id(out, false, id.bytes(), path);
  }
  return out.take();
}

std::string build_id_cache_directory() {
  if (const char* directory = std::getenv("PERF_BUILDID_DIR"); directory && *directory)
    return directory;
  if (const char* home = std::getenv("HOME"); home && *home) return std::string(home) + "/.debug";
  return {};
}

bool cache_kernel_symbols(const std::string& directory, const BuildId& id,
                          std::string_view kallsyms) {
  if (directory.empty() || id.empty() || kallsyms.empty()) return false;
  const std::string hex = id.hex();
  const std::string folder = directory + "/[kernel.kallsyms]/" + hex;
  const std::string links = directory + "/.build-id/" + hex.substr(0, 2);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return false;
  std::filesystem::create_directories(links, error);
  if (error) return false;
  const std::string file = folder + "/kallsyms";
  if (::access(file.c_str(), F_OK) != 0 && !write_file(file, kallsyms)) return false;
  const std::string link = links + "/" + hex.substr(2);
  std::filesystem::create_symlink("../../[kernel.kallsyms]/" + hex, link, error);
  return !error || error == std::errc::file_exists;
}

}  // namespace perf_latency
