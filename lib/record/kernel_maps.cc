// SPDX-License-Identifier: GPL-2.0-only
#include "record/kernel_maps.h"

#include <linux/perf_event.h>
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "perfdata/writer_records.h"
#include "record/event_sets.h"
#include "record/small_files.h"

namespace perf_latency {

namespace {

constexpr uint64_t kPageBytes = 4096;

uint64_t parse_number(std::string_view text, int base) {
  if (base == 16 && text.starts_with("0x")) text.remove_prefix(2);
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

// Calls visit(line) for each line of the text.
template <typename Visit>
void for_each_line(std::string_view text, Visit&& visit) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    visit(text.substr(at, end - at));
    at = end + 1;
  }
}

// The word that begins at `at`, which moves behind the space after it.
std::string_view next_word(std::string_view line, size_t& at) {
  const size_t end = std::min(line.find_first_of(" \t", at), line.size());
  const std::string_view word = line.substr(at, end - at);
  at = std::min(line.find_first_not_of(" \t", end), line.size());
  return word;
}

// Module names have '_' where file names may have '-'.
std::string module_name_of_path(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  name = name.substr(0, name.find(".ko"));
  std::string result(name);
  std::replace(result.begin(), result.end(), '-', '_');
  return result;
}

std::unordered_map<std::string, std::string> module_paths() {
  utsname names{};
  ::uname(&names);
  const std::string base = std::string("/lib/modules/") + names.release + "/";
  std::unordered_map<std::string, std::string> paths;
  // modules.dep has one line a module: "kernel/fs/ext4/ext4.ko.xz: needed modules".
  for_each_line(read_small_file(base + "modules.dep").value_or(""), [&](std::string_view line) {
    const std::string_view path = line.substr(0, line.find(':'));
    if (path.empty()) return;
    paths.emplace(module_name_of_path(path),
                  path.starts_with('/') ? std::string(path) : base + std::string(path));
  });
  return paths;
}

}  // namespace

std::string read_kallsyms() { return read_small_file("/proc/kallsyms").value_or(""); }

std::vector<KernelModule> loaded_modules() {
  std::vector<KernelModule> modules;
  const std::string text = read_small_file("/proc/modules").value_or("");
  if (text.empty()) return modules;
  const auto paths = module_paths();
  // "name size refcount users state address"
  for_each_line(text, [&](std::string_view line) {
    size_t at = 0;
    KernelModule module;
    module.name = next_word(line, at);
    module.size_bytes = parse_number(next_word(line, at), 10);
    next_word(line, at);
    next_word(line, at);
    next_word(line, at);
    module.start = parse_number(next_word(line, at), 16);
    if (module.start == 0) return;
    const auto path = paths.find(module.name);
    module.path = path != paths.end() ? path->second : "[" + module.name + "]";
    modules.push_back(std::move(module));
  });
  std::sort(modules.begin(), modules.end(),
            [](const KernelModule& a, const KernelModule& b) { return a.start < b.start; });
  return modules;
}

bool append_kernel_map(ByteWriter& out, std::string_view kallsyms) {
  for (const std::string_view name : {"_text", "_stext"}) {
    const std::optional<uint64_t> start = symbol_address(kallsyms, name);
    if (!start) continue;
    const uint64_t end = symbol_address(kallsyms, "_etext").value_or(0);
    const uint64_t size = end > *start ? end - *start : ~*start;
    append_kernel_mmap(out, *start, size, *start, "[kernel.kallsyms]" + std::string(name));
    return true;
  }
  return false;
}

void append_module_maps(ByteWriter& out, const std::vector<KernelModule>& modules) {
  for (const KernelModule& module : modules)
    append_kernel_mmap(out, module.start, module.size_bytes, 0, module.path);
}

void append_bpf_symbols(ByteWriter& out, std::string_view kallsyms) {
  constexpr std::string_view kMark = "\t[bpf]";
  if (kallsyms.find(kMark) == std::string_view::npos) return;
  std::vector<std::pair<uint64_t, std::string_view>> symbols;
  for_each_line(kallsyms, [&](std::string_view line) {
    if (!line.ends_with(kMark)) return;
    size_t at = 0;
    const uint64_t address = parse_number(next_word(line, at), 16);
    next_word(line, at);
    const std::string_view name = next_word(line, at);
    if (address != 0) symbols.emplace_back(address, name);
  });
  std::sort(symbols.begin(), symbols.end());
  for (size_t i = 0; i < symbols.size(); ++i) {
    // Programs lie in pages of their own or packed behind one another: the next one ends this one.
    const uint64_t page_end = (symbols[i].first / kPageBytes + 1) * kPageBytes;
    const uint64_t end =
        i + 1 < symbols.size() && symbols[i + 1].first < page_end ? symbols[i + 1].first : page_end;
    append_ksymbol(out, symbols[i].first, static_cast<uint32_t>(end - symbols[i].first),
                   PERF_RECORD_KSYMBOL_TYPE_BPF, symbols[i].second);
  }
}

}  // namespace perf_latency
