// SPDX-License-Identifier: GPL-2.0-only
// perf latency diff: recordings before and after a change, side by side. Each input is a recording or
// a report of ours in JSON.
#include "analysis/diff.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <memory>

#include "analysis/causes_report.h"
#include "analysis/contention_report.h"
#include "analysis/fail_if.h"
#include "analysis/hold_time_report.h"
#include "analysis/row_order.h"
#include "analysis/spin_report.h"
#include "analysis_command.h"
#include "commands.h"
#include "render/parse_json.h"
#include "row_keys.h"

namespace perf_latency::tool {
namespace {

constexpr const char* kReports[] = {"report", "contention", "hold-time", "spin"};
constexpr uint64_t kMaxJsonBytes = 256 * 1024 * 1024;

// `--per event NAME` in one word, so that NAME is not taken for a recording.
std::vector<std::string> join_event_name(int argc, char** argv) {
  std::vector<std::string> words;
  for (int i = 0; i < argc; ++i) {
    const std::string word = argv[i];
    const bool per = word == "--per" && i + 2 < argc && std::string_view(argv[i + 1]) == "event";
    const bool joined = word == "--per=event" && i + 1 < argc;
    if (!per && !joined) {
      words.push_back(word);
      continue;
    }
    i += per ? 2 : 1;
    words.push_back(std::string("--per=event:") + argv[i]);
  }
  return words;
}

bool parse_per(const std::string& text, DiffOptions& options) {
  constexpr std::string_view kEvent = "event:";
  if (text == "run") {
    options.per = DiffPer::run;
  } else if (text == "second") {
    options.per = DiffPer::second;
  } else if (text.starts_with(kEvent) && text.size() > kEvent.size()) {
    options.per = DiffPer::event;
    options.event = text.substr(kEvent.size());
  } else {
    return false;
  }
  return true;
}

// A report of ours begins with '{', a recording never does.
bool is_json(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  std::ifstream in(path, std::ios::binary);
  char first = '\0';
  return in >> std::ws && in.get(first) && first == '{';
}

Result<Report> read_json(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const auto size = in.tellg();
  if (!in || size < 0) return make_error("cannot be read");
  if (static_cast<uint64_t>(size) > kMaxJsonBytes) return make_error("is too large for a report");
  std::string text(static_cast<size_t>(size), '\0');
  in.seekg(0);
  if (!in.read(text.data(), size)) return make_error("cannot be read");
  auto report = parse_json_report(text);
  if (report && report->recordings.size() == 1) report->recordings[0].path = path;
  return report;
}

class DiffCommand {
 public:
  DiffCommand();
  int run(int argc, char** argv);

 private:
  int read_options();
  int read_inputs();
  int choose_report();
  int check_keys();
  std::optional<Report> report_of(const std::string& input);
  std::unique_ptr<Analysis> make_analysis();
  int add(Diff& diff, bool after, const std::vector<std::string>& inputs);
  int check_names(const Diff& diff);
  void name_measures(const std::string& shown);
  void complain_about_filters() const;

  AnalysisCommand command_;
  DiffOptions diff_options_;
  std::string of_;
  std::string per_ = "run";
  std::string types_;
  std::vector<std::string> positional_, before_, after_;
  AnalysisOptions inner_;  // of the reports that are compared
  LockOptions lock_options_;
  std::optional<CauseTable> causes_;
};

DiffCommand::DiffCommand()
    : command_("diff", "Recordings before and after a change, side by side",
               {Format::text, Format::json, Format::csv, Format::lkp}) {
  CLI::App& app = command_.app();
  for (const char* name : {"--input", "--interval"}) app.remove_option(app.get_option(name));
  app.add_option("recordings", positional_, "Before and after: two recordings or JSON reports");
  app.add_option("--before", before_, "Recordings or JSON reports before the change");
  app.add_option("--after", after_, "Recordings or JSON reports after it");
  app.add_option("--of", of_, "Which report: report, contention, hold-time, spin");
  app.add_option("--per", per_, "Divide counts and totals: run, second, or event NAME");
  app.add_option("--measure", diff_options_.measure,
                 "What is shown: total (default), count, mean, max, p50, p95, p99, ...");
  app.add_flag("--marked", diff_options_.marked_only, "Only rows that changed beyond the noise");
  app.add_option("--state", command_.options().states,
                 "States of sleeps (default S,D), or all: for --of report");
  app.add_option("--type", types_, "Lock types (a list): for --of contention and hold-time");
}

int DiffCommand::read_inputs() {
  const bool named = !before_.empty() || !after_.empty();
  if (!named && positional_.size() == 2) {
    before_ = {positional_[0]};
    after_ = {positional_[1]};
    return -1;
  }
  if (named && positional_.empty() && !before_.empty() && !after_.empty()) return -1;
  complain("diff needs two recordings, A B, or --before A... --after B...");
  return kExitUsage;
}

// --of, or what the first JSON report is.
int DiffCommand::choose_report() {
  for (const std::string* input : {before_.data(), after_.data()})
    if (of_.empty() && is_json(*input)) {
      const auto report = read_json(*input);
      if (!report) break;  // said when it is its turn
      for (const char* name : kReports)
        if (report->schema == "perf-latency." + std::string(name) + ".v1") of_ = name;
    }
  if (of_.empty()) of_ = "report";
  if (std::find(std::begin(kReports), std::end(kReports), of_) != std::end(kReports)) return -1;
  complain("--of is report, contention, hold-time or spin, not '" + of_ + "'");
  return kExitUsage;
}

int DiffCommand::check_keys() {
  inner_ = command_.options();
  inner_.sort.clear();
  inner_.fields.clear();
  inner_.limit = 0;
  if (of_ == "report") return check_report_keys(inner_);
  if (const int status = read_lock_types(types_, lock_options_.types); status >= 0) return status;
  return read_lock_keys(of_, inner_, lock_options_);
}

int DiffCommand::read_options() {
  if (!parse_per(per_, diff_options_)) {
    complain("--per is run, second or event NAME, not '" + per_ + "'");
    return kExitUsage;
  }
  if (const int status = read_inputs(); status >= 0) return status;
  if (const int status = choose_report(); status >= 0) return status;
  diff_options_.sort = command_.options().sort;
  diff_options_.fields = command_.options().fields;
  return check_keys();
}

std::unique_ptr<Analysis> DiffCommand::make_analysis() {
  if (of_ == "contention")
    return std::make_unique<ContentionReport>(inner_, lock_options_, *causes_);
  if (of_ == "hold-time") return std::make_unique<HoldTimeReport>(inner_, lock_options_, *causes_);
  if (of_ == "spin") return std::make_unique<SpinReport>(inner_, lock_options_, *causes_);
  return std::make_unique<CausesReport>(inner_, *causes_);
}

std::optional<Report> DiffCommand::report_of(const std::string& input) {
  if (!is_json(input)) return command_.analyse({input}, *make_analysis());
  auto report = read_json(input);
  if (report) return std::move(*report);
  complain_about_file(input, report.error());
  return std::nullopt;
}

int DiffCommand::add(Diff& diff, bool after, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    const auto report = report_of(input);
    if (!report) return kExitFailed;
    const std::string schema = "perf-latency." + of_ + ".v1";
    if (report->schema != schema) {
      complain_about_file(input,
                          make_error("is a '" + report->schema + "', not a '" + schema + "'"));
      return kExitFailed;
    }
    if (const auto added = diff.add(after, *report); !added) {
      complain_about_file(input, added.error());
      return kExitFailed;
    }
  }
  return -1;
}

// After the first report: only then is it known which columns there are.
int DiffCommand::check_names(const Diff& diff) {
  const auto shown = diff.shown_measure();
  if (!shown) {
    complain("--measure: " + shown.error().what);
    return kExitUsage;
  }
  AnalysisOptions names;
  names.sort = diff_options_.sort;
  names.fields = diff_options_.fields;
  if (const auto checked = check_column_names(diff.columns(), names); !checked) {
    complain(checked.error().what);
    return kExitUsage;
  }
  name_measures(*shown);
  return -1;
}

// --fail-if 'change(ROW)>10%' is about the measure that is shown, 'count.change(ROW)' about another.
void DiffCommand::name_measures(const std::string& shown) {
  for (std::string& condition : command_.conditions()) {
    const size_t open = condition.find('(');
    const std::string name = condition.substr(0, open);
    const size_t dot = name.find('.');
    std::string measure = dot == std::string::npos ? shown : name.substr(0, dot);
    std::string part = dot == std::string::npos ? name : name.substr(dot + 1);
    if (part == "change") part = "change_percent";
    for (const char* known :
         {"total", "mean", "max", "p50", "p95", "p99", "wait_total", "wait_max"})
      if (measure == known) measure += "_ns";
    if (part == "change_percent" || part == "before" || part == "after")
      condition = measure + '.' + part + condition.substr(open);
  }
}

void DiffCommand::complain_about_filters() const {
  std::string given;
  for (const char* name : {"--time", "--time-comm", "--pid", "--tid", "--comm", "--cpu",
                           "--min-latency", "--state", "--type", "--kernel-threads", "--by"})
    if (const CLI::Option* option = command_.app().get_option_no_throw(name);
        option != nullptr && option->count() != 0)
      given.append(given.empty() ? "" : ", ").append(name);
  if (given.empty()) return;
  for (const auto* inputs : {&before_, &after_})
    for (const std::string& input : *inputs)
      if (is_json(input)) complain(input + " is a report already: no effect of " + given);
}

int DiffCommand::run(int argc, char** argv) {
  std::vector<std::string> words = join_event_name(argc, argv);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  const int parsed = command_.parse(static_cast<int>(pointers.size()), pointers.data());
  if (parsed >= 0) return parsed;
  if (const int status = read_options(); status >= 0) return status;
  causes_ = command_.load_causes();
  if (!causes_) return kExitFailed;
  if (const int status = command_.open_output(); status >= 0) return status;
  complain_about_filters();
  Diff diff(diff_options_);
  if (const int status = add(diff, false, {before_.front()}); status >= 0) return status;
  if (const int status = check_names(diff); status >= 0) return status;
  if (const int status = add(diff, false, {before_.begin() + 1, before_.end()}); status >= 0)
    return status;
  if (const int status = add(diff, true, after_); status >= 0) return status;
  Report report = diff.make_report();
  // The names of the files stand in "before" and "after"; more about each of them is in the JSON.
  if (command_.format() == Format::text) report.recordings.clear();
  return command_.print(std::move(report));
}

}  // namespace

int run_diff(int argc, char** argv) { return DiffCommand().run(argc, argv); }

}  // namespace perf_latency::tool
