// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/perf_config.h"
#include "cli.h"
#include "commands.h"
#include "nearest.h"

namespace perf_latency::tool {
namespace {

constexpr size_t kMaxFileBytes = 1024 * 1024;

// What may stand in the section. `everywhere` false: only in [latency "CMD"], or for the reports whose
// columns have the same names.
struct Key {
  const char* name;
  bool everywhere;
  bool is_bool;
};
constexpr Key kKeys[] = {
    {"limit", true, false},        {"color", true, false},   {"kernel-threads", true, true},
    {"max-stack", true, false},    {"jobs", true, false},    {"causes", true, false},
    {"symfs", true, false},        {"vmlinux", true, false}, {"kallsyms", true, false},
    {"sort", false, false},        {"by", false, false},     {"fields", false, false},
    {"min-latency", false, false},
};

struct Setting {
  std::optional<std::string> value;
  std::string place;  // "FILE:LINE: latency.limit"
};

std::optional<std::string> pager_setting;

bool environment_is_true(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && parse_config_bool(std::string(value)).value_or(true);
}

std::vector<std::string> config_files() {
  if (const char* only = std::getenv("PERF_CONFIG")) return {only};
  std::vector<std::string> files;
  if (!environment_is_true("PERF_CONFIG_NOSYSTEM")) files.emplace_back(PL_ETC_PERFCONFIG);
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0' || environment_is_true("PERF_CONFIG_NOGLOBAL")) return files;
  const std::string own = std::string(home) + "/.perfconfig";
  struct stat status {};
  if (::stat(own.c_str(), &status) != 0) return files;
  if (status.st_uid != 0 && status.st_uid != ::geteuid())
    complain(own + ": not owned by this user or root, ignored");
  else
    files.push_back(own);
  return files;
}

// No such file: nothing is configured.
std::optional<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::string text(kMaxFileBytes, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  return text;
}

const Key* find_key(std::string_view name) {
  for (const Key& key : kKeys)
    if (name == key.name) return &key;
  return nullptr;
}

void warn_unknown(const std::string& place, std::string_view name) {
  std::vector<std::string> names{"pager"};
  for (const Key& key : kKeys) names.emplace_back(key.name);
  const std::string meant = nearest(name, names);
  complain(place + ": unknown, ignored" + (meant.empty() ? "" : "; did you mean '" + meant + "'?"));
}

bool is_command(std::string_view name) {
  for (const Command& command : commands())
    if (name == command.name) return true;
  return false;
}

// Columns have the same names in these.
bool takes_common_sort(std::string_view command) {
  return command == "report" || command == "contention" || command == "hold-time";
}

class Settings {
 public:
  explicit Settings(std::string command) : command_(std::move(command)) {}

  void take(const ConfigEntry& entry, const std::string& path) {
    const std::string place = path + ":" + std::to_string(entry.line) + ": " + entry.key;
    if (entry.key == "color.ui") {  // perf's own
      set(ui_color_, "color", entry, place);
      return;
    }
    constexpr std::string_view kSection = "latency.";
    if (!entry.key.starts_with(kSection)) return;
    std::string_view name = std::string_view(entry.key).substr(kSection.size());
    const size_t dot = name.rfind('.');
    const std::string_view of = dot == std::string_view::npos ? "" : name.substr(0, dot);
    if (!of.empty()) name.remove_prefix(dot + 1);
    if (name == "pager" && of.empty()) {
      take_pager(entry.value);
      return;
    }
    const Key* key = find_key(name);
    if (key == nullptr || (!of.empty() && !is_command(of))) {
      warn_unknown(place, name);
      return;
    }
    if (of == command_) {
      set(own_, name, entry, place);
    } else if (of.empty()) {
      if (key->everywhere || (name == "sort" && takes_common_sort(command_)))
        set(common_, name, entry, place);
      else if (name != "sort")
        complain(place + ": only in a section [latency \"COMMAND\"], ignored");
    }
  }

  // The most special one wins.
  const Setting* find(std::string_view name) const {
    for (const Named* all : {&own_, &common_, &ui_color_})
      for (auto entry = all->rbegin(); entry != all->rend(); ++entry)
        if (entry->first == name) return &entry->second;
    return nullptr;
  }

 private:
  using Named = std::vector<std::pair<std::string, Setting>>;

  static void set(Named& where, std::string_view name, const ConfigEntry& entry,
                  const std::string& place) {
    where.emplace_back(name, Setting{entry.value, place});
  }

  static void take_pager(const std::optional<std::string>& value) {
    const std::optional<bool> truth = parse_config_bool(value);
    if (!truth)
      pager_setting = value;
    else if (*truth)
      pager_setting.reset();
    else
      pager_setting = "";
  }

  std::string command_;
  Named own_, common_, ui_color_;
};

// Truth values as perf takes them for color.ui.
std::string color_value(const std::optional<std::string>& value) {
  const std::optional<bool> truth = parse_config_bool(value);
  if (!truth) return *value;
  return *truth ? "auto" : "never";
}

int apply(CLI::Option& option, const Key& key, const Setting& setting) {
  std::string value = setting.value.value_or("");
  if (key.is_bool) {
    const std::optional<bool> truth = parse_config_bool(setting.value);
    if (!truth) {
      complain(setting.place + ": '" + value + "' is neither true nor false");
      return kExitUsage;
    }
    if (!*truth) return -1;
    value = "true";
  }
  if (std::string_view(key.name) == "color") value = color_value(setting.value);
  if (value.empty()) {
    complain(setting.place + ": needs a value");
    return kExitUsage;
  }
  try {
    option.add_result(value);
    option.run_callback();
  } catch (const CLI::ParseError& error) {
    complain(setting.place + ": " + error.what());
    return kExitUsage;
  }
  return -1;
}

}  // namespace

int apply_config(CLI::App& app) {
  const std::string& name = app.get_name();
  Settings settings(name.substr(name.rfind(' ') + 1));
  for (const std::string& path : config_files()) {
    const auto text = read_file(path);
    if (!text) continue;
    const auto entries = parse_perf_config(*text);
    if (!entries) {
      complain(path + ": " + entries.error().what);
      return kExitUsage;
    }
    for (const ConfigEntry& entry : *entries) settings.take(entry, path);
  }
  for (const Key& key : kKeys) {
    const Setting* setting = settings.find(key.name);
    CLI::Option* option = app.get_option_no_throw(std::string("--") + key.name);
    if (setting == nullptr || option == nullptr || option->count() != 0) continue;
    if (const int status = apply(*option, key, *setting); status >= 0) return status;
  }
  return -1;
}

const std::optional<std::string>& configured_pager() { return pager_setting; }

}  // namespace perf_latency::tool
