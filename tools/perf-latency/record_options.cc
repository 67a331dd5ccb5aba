// SPDX-License-Identifier: GPL-2.0-only
#include "record_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include "base/range_list.h"
#include "base/time.h"
#include "nearest.h"

namespace perf_latency::tool {

namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kMaxStackDump =
    65528;  // kernel/events/core.c: a record has 16 bits for its size
constexpr int kMaxLevel = 22;

// The options as text; what they mean is worked out afterwards, so that each error is one sentence.
struct Texts {
  bool all_cpus = false;
  bool user_chains = false;
  bool no_cache = false;
  std::string pids, tids, cpus, pages, call_graph, delay, duration, level, max_size, switch_output;
  std::vector<std::string> events;
};

std::string unknown_option(const CLI::App& app, const std::string& option) {
  std::vector<std::string> known;
  for (const CLI::Option* each : app.get_options())
    for (const std::string& name : each->get_lnames()) known.push_back("--" + name);
  // A name that was not typed to its end is nearer than one with as many letters.
  const auto begun = std::find_if(known.begin(), known.end(), [&](const std::string& name) {
    return option.size() > 3 && name.starts_with(option);
  });
  const std::string meant = begun != known.end() ? *begun : nearest(option, known);
  return "unknown option '" + option + "'" +
         (meant.empty() ? "; 'perf latency record --help' lists them"
                        : "; did you mean '" + meant + "'?");
}

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// Splits argv where the command begins, and writes options with an optional value (-z, --switch-output)
// in one piece. The command's own options must not be looked at.
struct SplitArguments {
  std::vector<std::string> options;
  std::vector<std::string> command;
  std::string error;
};

class Splitter {
 public:
  Splitter(CLI::App& app, std::vector<std::string> arguments)
      : app_(app), arguments_(std::move(arguments)) {}

  SplitArguments split() {
    for (; at_ < arguments_.size() && result_.error.empty(); ++at_) {
      const std::string& argument = arguments_[at_];
      if (argument == "--") {
        ++at_;
        break;
      }
      if (argument.size() < 2 || argument[0] != '-') break;
      if (argument[1] == '-')
        take_long(argument);
      else
        take_short(argument);
    }
    result_.command.assign(
        arguments_.begin() + static_cast<ptrdiff_t>(std::min(at_, arguments_.size())),
        arguments_.end());
    return std::move(result_);
  }

 private:
  void take_next_as_value() {
    if (at_ + 1 < arguments_.size()) result_.options.push_back(arguments_[++at_]);
  }

  void take_long(const std::string& argument) {
    const std::string name = argument.substr(0, argument.find('='));
    const CLI::Option* option = app_.get_option_no_throw(name);
    if (option == nullptr) {
      result_.error = unknown_option(app_, name);
      return;
    }
    if (argument == "--switch-output" || argument == "--compression-level") {
      result_.options.push_back(argument + (argument == "--switch-output" ? "=signal" : "=1"));
      return;
    }
    result_.options.push_back(argument);
    if (argument.find('=') == std::string::npos && takes_value(*option)) take_next_as_value();
  }

  void take_level(std::string_view attached) {
    if (attached.starts_with('=')) attached.remove_prefix(1);
    std::string level(attached);
    // "-z 0": a number that stands alone is the level, not a command.
    if (level.empty() && at_ + 1 < arguments_.size() && all_digits(arguments_[at_ + 1]))
      level = arguments_[++at_];
    result_.options.push_back("--compression-level=" + (level.empty() ? "1" : level));
  }

  void take_short(const std::string& argument) {
    for (size_t i = 1; i < argument.size(); ++i) {
      const std::string name = std::string("-") + argument[i];
      if (name == "-z") return take_level(std::string_view(argument).substr(i + 1));
      const CLI::Option* option = app_.get_option_no_throw(name);
      if (option == nullptr) {
        result_.error = unknown_option(app_, name);
        return;
      }
      result_.options.push_back(name);
      if (!takes_value(*option)) continue;
      if (i + 1 < argument.size())
        result_.options.push_back(argument.substr(i + 1));
      else
        take_next_as_value();
      return;
    }
  }

  CLI::App& app_;
  std::vector<std::string> arguments_;
  size_t at_ = 0;
  SplitArguments result_;
};

void add_options(CLI::App& app, Texts& texts, RecordCommandLine& line) {
  RecordOptions& options = line.options;
  app.add_flag("-a,--all-cpus", texts.all_cpus, "Record the whole system (the default)");
  app.add_option("-p,--pid", texts.pids, "Keep these processes, all their threads and children")
      ->type_name("PID,...");
  app.add_option("-t,--tid", texts.tids, "Keep these threads and their children")
      ->type_name("TID,...");
  app.add_option("-C,--cpu", texts.cpus, "Record these CPUs alone (0-3,8)")->type_name("CPUS");
  app.add_option("-G,--cgroup", options.cgroup, "Keep the tasks of this cgroup")
      ->type_name("CGROUP");
  app.add_flag("--only-command", options.only_command, "Keep the command and its children");
  app.add_option("-o,--output", options.output, "File to write; - is a pipe-mode stream to stdout")
      ->type_name("FILE");
  app.add_option("-m,--mmap-pages", texts.pages,
                 "Ring buffer of each CPU: a size (8M) or a number of pages")
      ->type_name("SIZE");
  app.add_flag("-g", texts.user_chains, "Record user call chains too (by frame pointer)");
  app.add_option("--call-graph", texts.call_graph, "How to record user call chains")
      ->type_name("fp|dwarf[,SIZE]");
  app.add_option("-e,--event", texts.events,
                 "Event sets (see --list) or tracepoints SYSTEM:NAME; default sched,lock")
      ->type_name("SET,...")
      ->allow_extra_args(false);
  app.add_option("-D,--delay", texts.delay, "Start recording after so many milliseconds")
      ->type_name("MS");
  app.add_option("--duration", texts.duration, "Stop after this time (10s, 500ms, 2m)")
      ->type_name("T");
  app.add_option("-z,--compression-level", texts.level,
                 "zstd level 1 to 22, 0 for no compression; default 1")
      ->type_name("LEVEL");
  app.add_option("--max-size", texts.max_size, "Stop when the data is this large (100M)")
      ->type_name("SIZE");
  app.add_option("--switch-output", texts.switch_output,
                 "Start a new file at this size (100M) or time (30s, 5m), or on SIGUSR2")
      ->type_name("SIZE|T");
  app.add_option(
         "-k,--clockid", options.clock,
         "Clock of the time stamps: monotonic, monotonic_raw, realtime, boottime, tai, perf")
      ->type_name("CLOCK");
  app.add_flag("-B,--no-buildid-cache", texts.no_cache, "Leave perf's build-id cache alone");
  app.add_flag("--list", line.list, "Print the event sets and what this kernel has of them");
  app.add_flag("-q,--quiet", line.quiet, "Print nothing at the end");
}

std::optional<std::string> read_numbers(const std::string& text, const char* option,
                                        std::vector<pid_t>& numbers) {
  if (text.empty()) return std::nullopt;
  const auto list = parse_range_list(text);
  if (!list) return std::string(option) + ": " + list.error().what;
  for (const uint32_t number : *list) numbers.push_back(static_cast<pid_t>(number));
  return std::nullopt;
}

std::optional<std::string> read_call_graph(const Texts& texts, RecordOptions& options) {
  if (texts.user_chains) options.call_graph = CallGraph::frame_pointer;
  if (texts.call_graph.empty()) return std::nullopt;
  const std::string kind = texts.call_graph.substr(0, texts.call_graph.find(','));
  if (kind == "fp" && kind == texts.call_graph) {
    options.call_graph = CallGraph::frame_pointer;
    return std::nullopt;
  }
  if (kind != "dwarf") return "--call-graph: fp or dwarf[,SIZE], not \"" + texts.call_graph + "\"";
  options.call_graph = CallGraph::dwarf;
  if (kind == texts.call_graph) return std::nullopt;
  const auto size = parse_size(texts.call_graph.substr(kind.size() + 1), 1);
  if (!size) return "--call-graph: " + size.error().what;
  if (*size > kMaxStackDump)
    return "--call-graph: a stack dump has at most " + std::to_string(kMaxStackDump) + " bytes";
  options.stack_dump_bytes = static_cast<uint32_t>((*size + 7) / 8 * 8);
  return std::nullopt;
}

std::optional<std::string> read_switch_output(const std::string& text, RecordOptions& options) {
  if (text.empty()) return std::nullopt;
  options.switch_output = true;
  if (text == "signal") return std::nullopt;
  // As in perf: 5m is five minutes, 5M five megabytes.
  if (const auto time = parse_duration_ns(text, 0)) {
    options.switch_ns = *time;
    return std::nullopt;
  }
  const auto size = parse_size(text, 0);
  if (!size) return "--switch-output: a size (100M) or a time (30s), not \"" + text + "\"";
  options.switch_bytes = *size;
  return std::nullopt;
}

std::optional<std::string> read_level(const std::string& text, RecordOptions& options) {
  if (text.empty()) return std::nullopt;
  int level = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), level);
  if (error != std::errc() || end != text.data() + text.size() || level < 0 || level > kMaxLevel)
    return "-z: a level from 0 (no compression) to 22, not \"" + text + "\"";
  options.level = level;
  return std::nullopt;
}

std::optional<std::string> read_times(const Texts& texts, RecordOptions& options) {
  if (!texts.delay.empty()) {
    const auto delay = parse_duration_ns(texts.delay, kMillisecond);
    if (!delay) return "-D: " + delay.error().what;
    options.delay_ns = *delay;
  }
  if (!texts.duration.empty()) {
    const auto duration = parse_duration_ns(texts.duration, kSecond);
    if (!duration) return "--duration: " + duration.error().what;
    if (*duration == 0) return std::string("--duration: must be more than 0");
    options.duration_ns = *duration;
  }
  return std::nullopt;
}

std::optional<std::string> read_sizes(const Texts& texts, RecordOptions& options) {
  if (!texts.pages.empty()) {
    const auto size = parse_size(texts.pages, kPage);
    if (!size) return "-m: " + size.error().what;
    if (*size < 4 * kPage || *size > (uint64_t{1} << 30))
      return std::string("-m: from 16K to 1G per CPU");
    options.ring_bytes = *size;
  }
  if (!texts.max_size.empty()) {
    const auto size = parse_size(texts.max_size, 1);
    if (!size) return "--max-size: " + size.error().what;
    options.max_bytes = *size;
  }
  return std::nullopt;
}

std::optional<std::string> read_texts(const Texts& texts, RecordCommandLine& line) {
  RecordOptions& options = line.options;
  options.all_cpus = texts.all_cpus;
  options.cache_build_ids = !texts.no_cache;
  for (const std::string& list : texts.events) {
    std::istringstream in(list);
    for (std::string name; std::getline(in, name, ',');)
      if (!name.empty()) options.sets.push_back(name);
  }
  if (!texts.events.empty() && options.sets.empty()) return std::string("-e: names no event set");
  if (!texts.cpus.empty()) {
    const auto cpus = parse_range_list(texts.cpus);
    if (!cpus) return "-C: " + cpus.error().what;
    options.cpus = *cpus;
  }
  if (auto e = read_numbers(texts.pids, "-p", options.pids)) return e;
  if (auto e = read_numbers(texts.tids, "-t", options.tids)) return e;
  if (auto e = read_call_graph(texts, options)) return e;
  if (auto e = read_switch_output(texts.switch_output, options)) return e;
  if (auto e = read_level(texts.level, options)) return e;
  if (auto e = read_times(texts, options)) return e;
  if (auto e = read_sizes(texts, options)) return e;
  if (!options.clock.empty())
    if (const auto clock = parse_clock(options.clock); !clock) return "-k: " + clock.error().what;
  if (options.only_command && line.command.empty())
    return std::string("--only-command needs a command");
  if (options.switch_output && options.output == "-")
    return std::string("--switch-output needs a file (-o), not a pipe");
  if (options.all_cpus && options.restricted_to_tasks())
    return std::string(
        "-a records all tasks: leave it out together with -p, -t, -G, --only-command");
  return std::nullopt;
}

}  // namespace

std::variant<RecordCommandLine, RecordUsage> parse_record_command_line(int argc, char** argv) {
  CLI::App app(
      "Records why tasks sleep and what they wait for, into a perf.data that perf reads too.",
      "perf latency record");
  app.footer(
      "Everything behind the options is the command to run and record. Without one, recording\n"
      "goes on until Ctrl-C or --duration. 'man perf-latency-record' tells more.");
  Texts texts;
  RecordCommandLine line;
  add_options(app, texts, line);

  SplitArguments split = Splitter(app, {argv + 1, argv + argc}).split();
  if (!split.error.empty()) return RecordUsage{split.error, true};
  line.command = std::move(split.command);
  std::reverse(split.options.begin(), split.options.end());  // as CLI11 takes a vector
  try {
    app.parse(split.options);
  } catch (const CLI::CallForHelp&) {
    std::string help = app.help();
    const std::string_view options = "[OPTIONS]";
    if (const size_t at = help.find(options); at != std::string::npos)
      help.insert(at + options.size(), " [--] [COMMAND...]");
    return RecordUsage{help + "\n", false};
  } catch (const CLI::ParseError& error) {
    return RecordUsage{error.what(), true};
  }
  if (auto error = read_texts(texts, line)) return RecordUsage{*error, true};
  return line;
}

}  // namespace perf_latency::tool
