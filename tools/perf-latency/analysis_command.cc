// SPDX-License-Identifier: GPL-2.0-only
#include "analysis_command.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "analysis/fail_if.h"
#include "analysis/row_order.h"
#include "analysis/session.h"
#include "analysis/time_selection.h"
#include "base/range_list.h"
#include "base/time.h"
#include "causes_file.h"
#include "commands.h"
#include "progress.h"
#include "row_keys.h"
#include "stats.h"

namespace perf_latency::tool {
namespace {

constexpr uint64_t kTextRows = 40;
constexpr uint64_t kMillisecond = 1'000'000;

std::atomic<bool> interrupted{false};

// The first Ctrl-C asks for what was found so far, the second ends the program.
void on_interrupt(int) {
  if (interrupted.exchange(true)) ::_exit(130);
}

bool wants_color(const std::string& choice, const Output& output) {
  if (choice == "always") return true;
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return choice == "auto" && output.is_terminal() && !dumb;
}

// CLI11 takes the value of `-s -total` for an option: gives it as `--sort=-total`.
std::vector<std::string> join_sort_values(int argc, char** argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool sort = word == "-s" || word == "--sort" || word == "-k" || word == "--key";
    if (sort && i + 1 < argc && argv[i + 1][0] == '-')
      arguments.push_back((word.size() == 2 && word[1] == 'k' ? "--key=" : "--sort=") +
                          std::string(argv[++i]));
    else
      arguments.push_back(word);
  }
  return arguments;
}

// For output that has no place for them.
void complain_about_losses(const Diagnostics& diagnostics) {
  for (size_t i = 0; i < static_cast<size_t>(Diag::count_); ++i) {
    const auto diag = static_cast<Diag>(i);
    const DiagnosticKind& kind = diagnostic_kind(diag);
    if (diagnostics.count(diag) == 0 || kind.severity == Severity::info) continue;
    const uint64_t count = diagnostics.count(diag);
    complain((count > 1 ? std::to_string(count) + " x " : std::string()) + std::string(kind.id) +
             ": " + std::string(kind.text));
  }
}

}  // namespace

std::optional<CallchainMode> parse_callchain(const std::string& text) {
  if (text.empty() || text == "kernel") return CallchainMode::kernel;
  if (text == "user") return CallchainMode::user;
  if (text == "both") return CallchainMode::both;
  return std::nullopt;
}

AnalysisCommand::AnalysisCommand(const std::string& name, const std::string& help,
                                 std::vector<Format> formats)
    : app_(help, "perf latency " + name),
      formats_(std::move(formats)),
      format_name_(to_string(formats_.front())) {
  app_.add_option("-i,--input", inputs_, "Input file (default perf.data); - reads a pipe");
  app_.add_option("--time", time_, "Time range: START,STOP in seconds, 10%-20%, 10%/2");
  app_.add_option("--time-comm", time_comm_, "Time between renames of a task: FROM,TO");
  app_.add_option("-p,--pid", pids_, "Processes (a list)");
  app_.add_option("-t,--tid", tids_, "Threads (a list)");
  app_.add_option("-c,--comm", comms_, "Commands (a list)");
  app_.add_option("-C,--cpu", cpus_, "CPUs (a list such as 0-3,8)");
  app_.add_option("-s,--sort", sort_, "Sort keys; a leading - reverses");
  app_.add_option("-F,--fields", fields_, "Columns of the text output");
  app_.add_option("-E,--limit", limit_, "Rows at most; 0: all (default: 40 in text, else all)");
  app_.add_option("--by", by_, "What a row is");
  app_.add_option("--min-latency", min_latency_,
                  "Drop intervals shorter than this (ns, us, ms, s)");
  std::string names;
  for (const Format format : formats_)
    names.append(names.empty() ? "" : ", ").append(to_string(format));
  app_.add_option("--format", format_name_, "Output format: " + names);
  app_.add_option("-o,--output", output_path_, "Output file");
  app_.add_option("--symfs", options_.symfs, "Look for files with symbols below this directory");
  app_.add_option("--vmlinux", options_.vmlinux, "Kernel image with symbols");
  app_.add_option("--kallsyms", options_.kallsyms, "Kernel symbols, as /proc/kallsyms has them");
  app_.add_option("--max-stack", options_.max_stack, "Frames of a call chain at most");
  app_.add_flag("--kernel-threads", options_.kernel_threads, "Include kernel threads");
  app_.add_option("-I,--interval", interval_, "A table for each interval (bare: milliseconds)");
  app_.add_option("--fail-if", fail_if_, "Exit with 2 when it holds, e.g. 'p99(futex)>1ms'")
      ->allow_extra_args(false);
  app_.add_option("--causes", causes_file_, "Your own table of causes");
  app_.add_option("-j,--jobs", options_.jobs, "Threads that decode");
  app_.add_flag("-f,--force", options_.force, "Read files of other users");
  app_.add_flag("-q,--quiet", quiet_, "The tables and nothing else");
  app_.add_flag("-v,--verbose", verbose_, "More about the recording");
  app_.add_flag("--stats", stats_, "Counts of records and events, and the time of each stage");
  app_.add_option("--color", color_, "always, never or auto")->expected(0, 1);
}

int AnalysisCommand::usage_error(const std::string& what) {
  complain(what);
  return kExitUsage;
}

int AnalysisCommand::parse(int argc, char** argv) {
  std::vector<std::string> words = join_sort_values(argc, argv);
  std::vector<char*> pointers{argv[0]};
  for (std::string& word : words) pointers.push_back(word.data());
  const int status = parse_command_line(app_, static_cast<int>(pointers.size()), pointers.data());
  return status >= 0 ? status : check();
}

int AnalysisCommand::check() {
  if (inputs_.empty()) inputs_.emplace_back("perf.data");
  const auto format = parse_format(format_name_);
  if (!format)
    return usage_error("unknown format '" + format_name_ + "'; there are " + format_names());
  format_ = *format;
  if (std::find(formats_.begin(), formats_.end(), format_) == formats_.end())
    return usage_error("'" + app_.get_name() + "' does not print --format " + format_name_);
  const auto list = [&](const std::string& text, std::vector<uint32_t>& numbers) -> int {
    if (text.empty()) return -1;
    auto parsed = parse_range_list(text);
    if (!parsed) return usage_error(parsed.error().what);
    numbers = std::move(*parsed);
    return -1;
  };
  if (const int status = list(pids_, options_.pids); status >= 0) return status;
  if (const int status = list(tids_, options_.tids); status >= 0) return status;
  if (const int status = list(cpus_, options_.cpus); status >= 0) return status;
  options_.comms = split(comms_);
  options_.by = split(by_);
  options_.fields = split(fields_);
  for (const std::string& key : split(sort_))
    options_.sort.push_back({key.starts_with('-') ? key.substr(1) : key, key.starts_with('-')});
  if (!time_.empty()) {
    auto time = parse_time_selection(time_);
    if (!time) return usage_error("--time: " + time.error().what);
    options_.time = *time;
  }
  if (!time_comm_.empty()) {
    const std::vector<std::string> names = split(time_comm_);
    if (names.size() != 2) return usage_error("--time-comm needs two names: FROM,TO");
    options_.time_comm = {names[0], names[1]};
  }
  if (!min_latency_.empty()) {
    const auto ns = parse_duration_ns(min_latency_, 0);
    if (!ns) return usage_error("--min-latency: " + ns.error().what);
    options_.min_latency_ns = *ns;
  }
  if (!interval_.empty()) {
    const auto ns = parse_duration_ns(interval_, kMillisecond);
    if (!ns || *ns == 0) return usage_error("--interval: '" + interval_ + "' is no duration");
    options_.interval_ns = *ns;
  }
  for (const std::string& text : fail_if_) {
    const auto condition = FailCondition::parse(text);
    if (!condition) return usage_error("--fail-if: " + condition.error().what);
  }
  options_.limit = limit_.value_or(format_ == Format::text ? kTextRows : 0);
  options_.stacks = options_.stacks || needs_stacks(format_);
  if (app_.get_option_no_throw("--color") == nullptr || app_.count("--color") == 0)
    color_ = "auto";
  else if (color_.empty())
    color_ = "always";
  if (color_ != "always" && color_ != "never" && color_ != "auto")
    return usage_error("--color is always, never or auto, not '" + color_ + "'");
  return -1;
}

std::optional<CauseTable> AnalysisCommand::load_causes() {
  auto table = load_cause_table(causes_file_.empty() ? std::optional<std::string>()
                                                     : std::optional(causes_file_));
  if (!table) {
    complain(table.error().what);
    return std::nullopt;
  }
  return std::move(*table);
}

void AnalysisCommand::write(std::string_view text) {
  constexpr size_t kFlushBytes = 64 * 1024;
  buffer_ += text;
  if (buffer_.size() < kFlushBytes) return;
  if (format_ == Format::timehist) output_.page();
  // After a failed write the rest has nowhere to go: the analysis ends early and run() says why.
  if (!output_.write(buffer_)) interrupted = write_failed_ = true;
  buffer_.clear();
}

int AnalysisCommand::open_output() {
  std::signal(SIGINT, on_interrupt);
  // A database is written by its own library.
  if (format_ == Format::sqlite) return -1;
  if (auto opened = output_.open(output_path_); !opened) {
    complain(opened.error().what);
    return kExitFailed;
  }
  if (is_binary(format_) && output_.is_terminal())
    return usage_error("--format " + format_name_ + " is binary: give a file with -o");
  return -1;
}

bool AnalysisCommand::feed(const std::string& input, Analysis& analysis, DecodePools& pools,
                           Diagnostics& diagnostics) {
  Progress progress(input, !quiet_);
  SessionOptions session;
  session.force = options_.force;
  session.jobs = options_.jobs;
  session.interrupted = &interrupted;
  session.progress = [&](uint64_t done, uint64_t all) { progress.update(done, all); };
  auto result = run_session(input, session, analysis, pools, diagnostics);
  if (!result) {
    complain_about_file(input, result.error());
    return false;
  }
  if (stats_) print_stats(input, *result);
  return true;
}

void AnalysisCommand::add_filters(Report& report) const {
  static const std::vector<std::string> kFilters{"time", "time-comm", "pid",         "tid",
                                                 "comm", "cpu",       "min-latency", "state"};
  for (const auto* option : app_.get_options())
    for (const std::string& name : option->get_lnames())
      if (option->count() != 0 &&
          std::find(kFilters.begin(), kFilters.end(), name) != kFilters.end())
        report.filters.emplace_back(name, option->results().front());
}

std::optional<Report> AnalysisCommand::analyse(const std::vector<std::string>& inputs,
                                               Analysis& analysis) {
  Diagnostics diagnostics;
  DecodePools pools;
  for (const std::string& input : inputs)
    if (!feed(input, analysis, pools, diagnostics)) return std::nullopt;
  Report report = analysis.make_report();
  report.diagnostics.merge(diagnostics);
  add_filters(report);
  return report;
}

int AnalysisCommand::check_conditions(const Report& report) {
  int status = kExitDone;
  for (const std::string& condition_text : fail_if_) {
    const auto condition = FailCondition::parse(condition_text);
    for (const Table& table : report.tables) {
      const auto match = condition->first_match(table);
      if (!match) return usage_error("--fail-if: " + match.error().what);
      if (!*match) continue;
      complain("--fail-if " + condition_text + ": " + **match);
      status = kExitConditionHeld;
    }
  }
  return status;
}

int AnalysisCommand::print(Report report) {
  const int status = check_conditions(report);
  if (status == kExitUsage) return status;
  for (Table& table : report.tables) limit_rows(table, options_.limit);
  RenderOptions render_options;
  render_options.color = wants_color(color_, output_);
  render_options.width = output_path_.empty() ? terminal_width() : 0;
  render_options.quiet = quiet_;
  render_options.verbose = verbose_ != 0;
  std::string text = std::move(buffer_);
  if (streams_) {
    // A report with a schema has told them itself.
    if (!quiet_ && report.schema.empty()) complain_about_losses(report.diagnostics);
    if (report.partial && !write_failed_) complain("interrupted: this is what was found so far");
  } else if (is_rendered(format_)) {
    if (auto rendered = render(report, format_, render_options, text); !rendered) {
      complain(rendered.error().what);
      return kExitFailed;
    }
  }
  if (format_ == Format::text || format_ == Format::timehist) output_.page();
  auto written = output_.write(text);
  if (written) written = output_.close();
  if (!written) {
    complain(written.error().what);
    return kExitFailed;
  }
  return status;
}

int AnalysisCommand::run(Analysis& analysis) {
  if (const int status = open_output(); status >= 0) return status;
  auto report = analyse(inputs_, analysis);
  return report ? print(std::move(*report)) : kExitFailed;
}

}  // namespace perf_latency::tool
