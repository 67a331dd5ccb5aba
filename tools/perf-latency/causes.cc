// SPDX-License-Identifier: GPL-2.0-only
// `perf latency causes`: the table of causes, one cause in detail, or what a kernel lacks of it.
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "causes/cause_table.h"
#include "causes/kernel_functions.h"
#include "causes_file.h"
#include "cli.h"
#include "commands.h"
#include "nearest.h"
#include "symbolize/file_bytes.h"

namespace perf_latency::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kRunningKernel = "/proc/kallsyms";
constexpr unsigned kPlainWidth = 100;

struct CausesOptions {
  bool check = false;
  bool verbose = false;
  std::optional<std::string> causes_file;
  std::string kallsyms;
  std::vector<std::string> ids;
  std::string format = "text";
  std::string output;
};

void add_options(CLI::App& app, CausesOptions& options) {
  app.add_option("--id", options.ids, "Only these causes, with all that is known about them")
      ->delimiter(',');
  app.add_flag("--check", options.check,
               "List the patterns that match no function of the running kernel");
  app.add_option("--kallsyms", options.kallsyms,
                 "With --check: the kernel whose symbols this file has (a copy of /proc/kallsyms)");
  app.add_option("--causes", options.causes_file,
                 "Extend the table with this file instead of the one in ~/.config/perf-latency");
  app.add_option("--format", options.format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  app.add_option("-o,--output", options.output, "Write to this file");
  app.add_flag("-v,--verbose", options.verbose, "List the patterns of every cause");
}

// Words in lines of the given width, each line behind `indent` blanks; `first` stands before the
// first word, in the place of its blanks.
std::string wrapped(std::string first, const std::vector<std::string>& words, size_t indent,
                    size_t width) {
  std::string out = std::move(first);
  out.resize(std::max(out.size(), indent), ' ');
  size_t column = out.size();
  bool line_begins = true;
  for (const std::string& word : words) {
    if (!line_begins && column + 1 + word.size() > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
      line_begins = true;
    }
    if (!line_begins) out += ' ';
    out += word;
    column += word.size() + (line_begins ? 0 : 1);
    line_begins = false;
  }
  return out + '\n';
}

size_t text_width() {
  const unsigned width = terminal_width();
  return width == 0 ? kPlainWidth : std::max(width, 40u);
}

// ---- the table

std::vector<CauseId> wanted_causes(const CauseTable& table, const CausesOptions& options) {
  std::vector<CauseId> ids;
  ids.reserve(options.ids.size() + table.table_size());
  for (const std::string& id : options.ids) ids.push_back(*table.find(id));
  if (!options.ids.empty()) return ids;
  for (uint32_t i = 0; i < table.table_size(); ++i) ids.push_back(CauseId{i});
  return ids;
}

std::map<uint32_t, std::vector<std::string>, std::greater<>> patterns_by_rank(
    const CauseTable& table, CauseId id) {
  std::map<uint32_t, std::vector<std::string>, std::greater<>> ranks;
  for (const RankedPattern& ranked : table.patterns(id))
    ranks[ranked.rank].push_back(ranked.pattern.text());
  return ranks;
}

std::string cause_in_detail(const CauseTable& table, CauseId id, size_t width) {
  const Cause& cause = table.cause(id);
  std::string out = fmt::format("{} ({})\n    {}\n", cause.id, cause.cause_class, cause.sentence);
  const std::string_view lock = table.lock_name(id);
  if (!lock.empty()) out += fmt::format("    lock: {}\n", lock);
  for (const auto& [rank, patterns] : patterns_by_rank(table, id))
    out += wrapped(fmt::format("    rank {:2}: ", rank), patterns, 13, width);
  return out + '\n';
}

std::string table_as_text(const CauseTable& table, const std::vector<CauseId>& ids) {
  std::string out = fmt::format("{:<24}{:<12}{:>8}  {}\n", "ID", "CLASS", "PATTERNS", "SENTENCE");
  for (const CauseId id : ids) {
    const Cause& cause = table.cause(id);
    out += fmt::format("{:<23} {:<12}{:>8}  {}\n", cause.id, cause.cause_class,
                       table.patterns(id).size(), cause.sentence);
  }
  return out;
}

Json cause_as_json(const CauseTable& table, CauseId id) {
  const Cause& cause = table.cause(id);
  Json patterns = Json::array();
  for (const RankedPattern& ranked : table.patterns(id))
    patterns.push_back({{"pattern", ranked.pattern.text()}, {"rank", ranked.rank}});
  const std::string_view lock = table.lock_name(id);
  return {{"id", cause.id},
          {"class", cause.cause_class},
          {"sentence", cause.sentence},
          {"lock", lock.empty() ? Json(nullptr) : Json(lock)},
          {"patterns", std::move(patterns)}};
}

std::string json_text(const Json& json) {
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + '\n';
}

std::string list_causes(const CauseTable& table, const CausesOptions& options) {
  const std::vector<CauseId> ids = wanted_causes(table, options);
  if (options.format == "json") {
    Json rows = Json::array();
    for (const CauseId id : ids) rows.push_back(cause_as_json(table, id));
    return json_text({{"schema", "perf-latency.causes.v1"}, {"causes", std::move(rows)}});
  }
  if (options.ids.empty() && !options.verbose) return table_as_text(table, ids);
  std::string out;
  for (const CauseId id : ids) out += cause_in_detail(table, id, text_width());
  return out;
}

// ---- --check

struct CheckedKernel {
  std::string path;
  std::string release;  // "" where the file does not tell
};

std::string label_of(const CauseTable& table, const PatternCheck& check) {
  return check.cause.valid() ? table.cause(check.cause).id : "[functions " + check.group + "]";
}

Json check_as_json(const CauseTable& table, const std::vector<PatternCheck>& checks,
                   const CheckedKernel& kernel) {
  Json causes = Json::array();
  Json groups = Json::array();
  size_t patterns = 0;
  size_t missing = 0;
  for (const PatternCheck& check : checks) {
    patterns += check.patterns;
    missing += check.missing.size();
    Json row = {{check.cause.valid() ? "id" : "group",
                 check.cause.valid() ? table.cause(check.cause).id : check.group},
                {"patterns", check.patterns},
                {"missing", check.missing}};
    (check.cause.valid() ? causes : groups).push_back(std::move(row));
  }
  return {{"schema", "perf-latency.causes-check.v1"},
          {"kernel",
           {{"path", kernel.path},
            {"os_release", kernel.release.empty() ? Json(nullptr) : Json(kernel.release)}}},
          {"patterns", patterns},
          {"missing", missing},
          {"causes", std::move(causes)},
          {"groups", std::move(groups)}};
}

std::string check_as_text(const CauseTable& table, const std::vector<PatternCheck>& checks,
                          const CheckedKernel& kernel) {
  size_t patterns = 0;
  size_t missing = 0;
  std::vector<std::string> without;
  std::string rows;
  for (const PatternCheck& check : checks) {
    patterns += check.patterns;
    missing += check.missing.size();
    if (check.missing.empty()) continue;
    if (check.missing.size() == check.patterns) {
      without.push_back(label_of(table, check));
      continue;
    }
    rows += wrapped(
        fmt::format("{:<28}{:>9}  ", label_of(table, check),
                    fmt::format("{}/{}", check.patterns - check.missing.size(), check.patterns)),
        check.missing, 39, text_width());
  }
  std::string out = fmt::format(
      "{}{}: {} of {} patterns match a function of this kernel.\n", kernel.path,
      kernel.release.empty() ? "" : " (" + kernel.release + ")", patterns - missing, patterns);
  out +=
      "The others: the function has another name here, was put into its caller by the compiler,\n"
      "or is not built in or not loaded.\n";
  if (!without.empty())
    out += "\nNo pattern at all matches for:\n" + wrapped("", without, 4, text_width());
  if (!rows.empty())
    out += fmt::format("\n{:<28}{:>9}  {}\n", "CAUSE", "MATCH", "NO FUNCTION FOR") + rows;
  return out;
}

Result<std::string> check_kernel(const CauseTable& table, const CausesOptions& options) {
  CheckedKernel checked{options.kallsyms.empty() ? kRunningKernel : options.kallsyms, ""};
  utsname running{};
  if (options.kallsyms.empty() && uname(&running) == 0) checked.release = running.release;
  const auto bytes = FileBytes::open_trusted(checked.path);
  if (!bytes) return bytes.error();
  const KernelFunctions kernel(bytes->text());
  if (kernel.size() == 0) return make_error(checked.path + ": no kernel functions in it");
  const auto checks = check_patterns(table, kernel);
  if (options.format == "json") return json_text(check_as_json(table, checks, checked));
  return check_as_text(table, checks, checked);
}

// ---- the command

// Complains about the first id that the table does not have.
bool ids_are_known(const CauseTable& table, const CausesOptions& options) {
  for (const std::string& id : options.ids) {
    if (table.find(id)) continue;
    std::vector<std::string> known;
    for (uint32_t i = 0; i < table.table_size(); ++i) known.push_back(table.cause(CauseId{i}).id);
    const std::string meant = nearest(id, known);
    complain(
        "there is no cause '" + id + "'" +
        (meant.empty() ? "; 'perf latency causes' lists them" : "; did you mean '" + meant + "'?"));
    return false;
  }
  return true;
}

int print(const CausesOptions& options, std::string_view text) {
  Output output;
  Result<void> done = output.open(options.output);
  if (options.format == "text") output.page();
  if (done) done = output.write(text);
  if (done) done = output.close();
  if (done) return kExitDone;
  complain(done.error().what);
  return kExitFailed;
}

}  // namespace

int run_causes(int argc, char** argv) {
  CausesOptions options;
  CLI::App app("The table of causes that names sleeps", "perf latency causes");
  add_options(app, options);
  if (const int status = parse_command_line(app, argc, argv); status >= 0) return status;
  if (!options.kallsyms.empty() && !options.check) {
    complain("--kallsyms is for --check");
    return kExitUsage;
  }
  const auto table = load_cause_table(options.causes_file);
  if (!table) {
    complain(table.error().what);
    return kExitFailed;
  }
  if (!ids_are_known(*table, options)) return kExitUsage;
  if (!options.check) return print(options, list_causes(*table, options));
  const auto text = check_kernel(*table, options);
  if (text) return print(options, *text);
  complain(text.error().what);
  return kExitFailed;
}

}  // namespace perf_latency::tool
