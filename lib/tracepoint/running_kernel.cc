// SPDX-License-Identifier: GPL-2.0-only
#include "tracepoint/running_kernel.h"

#include <sys/utsname.h>

#include <bit>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <system_error>

#include "base/byte_cursor.h"

namespace perf_latency {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What the recorder said about the kernel's text: the name of a symbol and its address. Address 0:
// hidden, or no such record.
struct KernelText {
  std::string symbol;
  uint64_t address = 0;
};

KernelText kernel_text_of(const RecordBatch& first) {
  constexpr std::string_view kKernelName = "[kernel.kallsyms]";
  size_t at = 0;
  while (first.bytes.size() - at >= kRecordHeaderBytes) {
    ByteCursor header(first.bytes.subspan(at));
    const uint32_t type = header.u32();
    const uint16_t misc = header.u16();
    const uint16_t size = header.u16();
    const auto record = first.bytes.subspan(at, size);
    at += size;
    const bool newer = type == static_cast<uint32_t>(RecordType::mmap2);
    if (type != static_cast<uint32_t>(RecordType::mmap) && !newer) continue;
    if ((misc & kMiscCpumodeMask) != kMiscKernel) continue;
    ByteCursor cursor(record);
    cursor.skip(kRecordHeaderBytes + 8 + 8 + 8);  // pid and tid, start, length
    const uint64_t page_offset = cursor.u64();
    if (newer) cursor.skip(24 + 8);  // device and inode or build id, protection and flags
    const std::string_view name = cursor.text(cursor.left());
    if (name.starts_with(kKernelName) && name.size() > kKernelName.size())
      return {std::string(name.substr(kKernelName.size())), page_offset};
  }
  return {};
}

uint64_t symbol_address(const std::string& kallsyms, const std::string& symbol) {
  std::ifstream file(kallsyms);
  const std::string end = " " + symbol;
  for (std::string line; std::getline(file, line);) {
    if (!line.ends_with(end)) continue;
    uint64_t address = 0;
    std::from_chars(line.data(), line.data() + line.size(), address, 16);
    return address;
  }
  return 0;
}

bool is_same_kernel(const RunningKernel& kernel, const Metadata& metadata,
                    const RecordBatch& first) {
  if (metadata.swapped) return false;
  if (!metadata.arch.empty() && metadata.arch != kernel.machine) return false;
  if (!metadata.os_release.empty()) return metadata.os_release == kernel.release;
  const KernelText text = kernel_text_of(first);
  return text.address != 0 && symbol_address(kernel.kallsyms, text.symbol) == text.address;
}

std::string child_name(const fs::path& path) { return path.filename().string(); }

// A recording that names its events must mean the same ones.
bool has_another_name(const Metadata& metadata, uint64_t id, const std::string& full_name) {
  for (const EventDescription& event : metadata.events)
    if (event.attr.type == kTypeTracepoint && event.attr.config == id && !event.name.empty() &&
        !event.name.starts_with(full_name))
      return true;
  return false;
}

}  // namespace

RunningKernel RunningKernel::of_this_machine() {
  RunningKernel kernel;
  struct utsname name {};
  if (::uname(&name) == 0) {
    kernel.release = name.release;
    kernel.machine = name.machine;
  }
  return kernel;
}

std::optional<TracingData> running_kernel_formats(const RunningKernel& kernel,
                                                  const Metadata& metadata,
                                                  const RecordBatch& first) {
  std::set<uint64_t> wanted;
  for (const EventDescription& event : metadata.events)
    if (event.attr.type == kTypeTracepoint) wanted.insert(event.attr.config);
  if (wanted.empty() || !is_same_kernel(kernel, metadata, first)) return std::nullopt;

  TracingData data;
  data.big_endian = std::endian::native == std::endian::big;
  data.long_bytes = sizeof(long);
  std::error_code error;
  for (const auto& system : fs::directory_iterator(kernel.tracefs + "/events", error)) {
    for (const auto& event : fs::directory_iterator(system.path(), error)) {
      const std::string text = content_of(event.path() / "id");
      uint64_t id = 0;
      std::from_chars(text.data(), text.data() + text.size(), id);
      if (id == 0 || wanted.erase(id) == 0) continue;
      const std::string system_name = child_name(system.path());
      if (has_another_name(metadata, id, system_name + ":" + child_name(event.path())))
        return std::nullopt;
      data.formats.push_back({system_name, content_of(event.path() / "format")});
    }
    if (wanted.empty()) break;
  }
  if (!wanted.empty()) return std::nullopt;
  return data;
}

}  // namespace perf_latency
