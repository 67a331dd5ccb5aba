// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/runtime_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "symbolize/file_bytes.h"
#include "symbolize/paths.h"

namespace perf_latency {
namespace {

bool belongs_to_us_or_root(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return false;
  return status.st_uid == 0 || status.st_uid == geteuid();
}

std::optional<FileBytes> open_owned(const std::string& path) {
  if (!belongs_to_us_or_root(path)) return std::nullopt;
  auto file = FileBytes::open(path);
  if (!file) return std::nullopt;
  return std::move(*file);
}

// The number that a running process has in its own pid namespace: the last of NSpid's.
std::string number_inside(int32_t pid) {
  const auto status = FileBytes::open_trusted("/proc/" + std::to_string(pid) + "/status");
  if (!status) return {};
  const std::string_view text = status->text();
  const size_t at = text.find("\nNSpid:");
  if (at == std::string_view::npos) return {};
  const std::string_view line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  return std::string(line.substr(line.find_last_of(" \t:") + 1));
}

}  // namespace

std::vector<OpenCode> open_runtime_code(const SymbolizerOptions& options, int32_t pid,
                                        std::string_view jitdump) {
  std::vector<OpenCode> found;
  std::vector<std::string> roots = {options.symfs};
  if (options.live && options.symfs.empty() && pid > 0)
    roots.push_back("/proc/" + std::to_string(pid) + "/root");

  for (const std::string& root : roots) {
    if (jitdump.empty() || !found.empty()) break;
    const std::string path = root + std::string(jitdump);
    auto file = open_owned(path);
    if (!file) continue;
    auto functions = RuntimeCode::from_jitdump(std::move(*file));
    if (functions) found.push_back({path, std::move(*functions)});
  }
  if (pid <= 0) return found;
  std::string number = std::to_string(pid);
  for (const std::string& root : roots) {
    if (&root != &roots.front()) number = number_inside(pid);
    const std::string path = concat({root, options.perf_map_dir, "/perf-", number, ".map"});
    auto file = open_owned(path);
    if (!file) continue;
    found.push_back({path, RuntimeCode::from_perf_map(std::move(*file))});
    break;
  }
  return found;
}

}  // namespace perf_latency
