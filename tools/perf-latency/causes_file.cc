// SPDX-License-Identifier: GPL-2.0-only
#include "causes_file.h"

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "causes/shipped_table.h"
#include "symbolize/file_bytes.h"

namespace perf_latency::tool {
namespace {

Error about_file(const std::string& path, const Error& error) {
  if (error.what.starts_with(path)) return error;
  return Error{path + ": " + error.what, error.offset};
}

}  // namespace

std::optional<std::string> user_causes_path() {
  // The XDG base directory specification: a relative path counts as not set.
  const char* const config = std::getenv("XDG_CONFIG_HOME");
  if (config && config[0] == '/') return std::string(config) + "/perf-latency/causes.conf";
  const char* const home = std::getenv("HOME");
  if (!home || home[0] == '\0') return std::nullopt;
  return std::string(home) + "/.config/perf-latency/causes.conf";
}

Result<CauseTable> load_cause_table(const std::optional<std::string>& causes_option) {
  std::optional<std::string> path = causes_option;
  if (!path) {
    path = user_causes_path();
    std::error_code error;
    if (path && !std::filesystem::exists(*path, error)) path.reset();
  }
  if (!path) return CauseTable::load(shipped_cause_table());
  const auto bytes = FileBytes::open_trusted(*path);
  if (!bytes) return about_file(*path, bytes.error());
  auto table = CauseTable::load(shipped_cause_table(), bytes->text());
  if (!table) return about_file(*path, table.error());
  return table;
}

}  // namespace perf_latency::tool
