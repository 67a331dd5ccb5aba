// SPDX-License-Identifier: GPL-2.0-only
// perf latency explain: one wait told step by step.
#include "analysis/explain.h"

#include <sys/stat.h>

#include "analysis/session.h"
#include "analysis/time_selection.h"
#include "analysis_command.h"
#include "commands.h"
#include "render/explanation.h"
#include "row_keys.h"

namespace perf_latency::tool {
namespace {

// Finds the wait while run() feeds it; reads the recording again when its report is asked for.
class Explain final : public WaitFinder {
 public:
  Explain(AnalysisCommand& command, const WaitChoice& choice, CauseTable& causes)
      : WaitFinder(command.options(), choice, causes), command_(command), causes_(causes) {}

  bool failed() const { return failed_; }

  Report make_report() override {
    report_.schema = "perf-latency.explain.v1";
    report_.title = "One wait, step by step";
    report_.with_totals = false;
    const Interval& wait = *found();
    AnalysisOptions unfiltered = command_.options();
    unfiltered.pids.clear();
    unfiltered.tids.clear();
    unfiltered.cpus.clear();
    unfiltered.comms.clear();
    unfiltered.time = {};
    unfiltered.time_comm.reset();
    WaitTeller teller(unfiltered, causes_, wait.thread, wait.start_ns, wait.end_ns);
    DecodePools pools;
    SessionOptions session;
    session.force = unfiltered.force;
    session.jobs = unfiltered.jobs;
    const std::string& input = command_.inputs().front();
    // The first reading has counted these once already.
    Diagnostics again;
    if (const auto read = run_session(input, session, teller, pools, again); !read) {
      complain_about_file(input, read.error());
      failed_ = true;
      return std::move(report_);
    }
    write(teller.take_explanation());
    return std::move(report_);
  }

 private:
  void write(std::unique_ptr<Explanation> explanation) {
    if (explanation == nullptr) {
      complain(command_.inputs().front() + ": it changed while it was read");
      failed_ = true;
      return;
    }
    Report report = report_;
    if (diagnostics() != nullptr) report.diagnostics.merge(*diagnostics());
    RenderOptions options;
    options.width = command_.output_path().empty() ? terminal_width() : 0;
    options.quiet = command_.quiet();
    options.header = !command_.quiet();
    options.verbose = command_.verbose() != 0;
    std::string text;
    const auto rendered = render_explanation(*explanation, report, command_.format(), options,
                                             command_.options().limit, text);
    if (rendered) {
      command_.write(text);
      return;
    }
    complain(rendered.error().what);
    failed_ = true;
  }

  AnalysisCommand& command_;
  CauseTable& causes_;
  bool failed_ = false;
};

// A pipe can be read once only.
int check_inputs(const AnalysisCommand& command) {
  if (command.inputs().size() != 1) {
    complain("explain tells of one recording: give -i once");
    return kExitUsage;
  }
  const std::string& input = command.inputs().front();
  struct stat status {};
  const bool stream =
      input == "-" || (::stat(input.c_str(), &status) == 0 && S_ISFIFO(status.st_mode));
  if (!stream) return -1;
  complain("explain reads the recording twice: give it a file, not a pipe");
  return kExitUsage;
}

struct Choices {
  bool max = false;
  std::string at;
  std::string cause;
  std::string caller;
};

int choose(const Choices& choices, const AnalysisOptions& options, const CauseTable& causes,
           WaitChoice& choice) {
  const int given = static_cast<int>(choices.max) + !choices.at.empty() + !choices.cause.empty() +
                    !choices.caller.empty();
  if (given > 1) {
    complain("one of --max, --at, --cause and --caller is enough");
    return kExitUsage;
  }
  if (!choices.caller.empty()) {
    choice.how = WaitChoice::How::caller;
    choice.name = choices.caller;
  }
  if (!choices.cause.empty()) {
    choice.how = WaitChoice::How::cause;
    choice.name = choices.cause;
    if (!causes.find(choices.cause)) {
      complain("--cause: there is no '" + choices.cause + "'; 'perf latency causes' lists them");
      return kExitUsage;
    }
  }
  if (choices.at.empty()) return -1;
  choice.how = WaitChoice::How::at;
  const auto at = parse_time_selection(choices.at + ",");
  if (!at || !at->start_ns) {
    complain("--at: '" + choices.at + "' is no time in seconds, as perf script prints it");
    return kExitUsage;
  }
  if (options.tids.size() != 1) {
    complain("--at TIME needs --tid TID: whose wait?");
    return kExitUsage;
  }
  choice.at_ns = *at->start_ns;
  return -1;
}

}  // namespace

int run_explain(int argc, char** argv) {
  AnalysisCommand command("explain",
                          "One wait step by step: who waited, woken by whom, who had been waiting "
                          "for what",
                          {Format::text, Format::json});
  AnalysisOptions& options = command.options();
  Choices choices;
  CLI::App& app = command.app();
  for (const char* name :
       {"--by", "--sort", "--fields", "--interval", "--fail-if", "--min-latency", "--color"})
    app.remove_option(app.get_option(name));
  app.add_flag("--max", choices.max, "The longest wait (the default)");
  app.add_option("--at", choices.at, "What --tid waited for at this time");
  app.add_option("--cause", choices.cause, "The longest wait of this cause");
  app.add_option("--caller", choices.caller, "The longest sleep with this function in its chain");
  app.add_option("--state", options.states, "States of sleeps to look at (default S,D), or all");
  command.stream();
  if (const int status = command.parse(argc, argv); status >= 0) return status;
  if (const int status = check_states(options.states); status >= 0) return status;
  if (const int status = check_inputs(command); status >= 0) return status;
  auto causes = command.load_causes();
  if (!causes) return kExitFailed;
  WaitChoice choice;
  if (const int status = choose(choices, options, *causes, choice); status >= 0) return status;
  Explain explain(command, choice, *causes);
  const int status = command.run(explain);
  return status == kExitDone && explain.failed() ? kExitFailed : status;
}

}  // namespace perf_latency::tool
