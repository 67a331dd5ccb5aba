// SPDX-License-Identifier: GPL-2.0-only
// perf latency record
#include <fmt/core.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/range_list.h"
#include "cli.h"
#include "commands.h"
#include "record/session.h"
#include "record_options.h"
#include "workload.h"

namespace perf_latency::tool {

namespace {

int g_stop_fd = -1;
RecordSession* g_session = nullptr;
volatile sig_atomic_t g_interrupted = 0;

void on_stop(int signal) {
  const int saved = errno;
  if (signal != SIGCHLD) g_interrupted = 1;
  const uint64_t one = 1;
  if (::write(g_stop_fd, &one, sizeof one) < 0) errno = saved;
  errno = saved;
}

void on_switch(int) {
  const int saved = errno;
  if (g_session != nullptr) g_session->request_switch();
  errno = saved;
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART | SA_NOCLDSTOP;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

int fail(const std::string& what) {
  complain(what);
  return kExitFailed;
}

std::string megabytes(uint64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} B", bytes);
  if (bytes < 10'000'000) return fmt::format("{:.1f} KB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

int print_sets() {
  const Result<Tracefs> tracefs = Tracefs::open();
  for (const EventSet& set : event_sets()) {
    fmt::print("{:<11} {}\n", set.name, set.help);
    for (const std::string_view included : set.includes)
      fmt::print("              everything of {}\n", included);
    if (set.clock_hz != 0) fmt::print("              cpu-clock at {} Hz\n", set.clock_hz);
    for (const EventRow& row : set.events) {
      const TracepointName name{std::string(row.system), std::string(row.name)};
      const char* state = !tracefs            ? "  (not known)"
                          : tracefs->id(name) ? ""
                                              : "  (not in this kernel)";
      fmt::print("              {}{}\n", name.full(), state);
    }
  }
  return tracefs ? kExitDone : fail(tracefs.error().what);
}

void print_summary(const RecordSummary& summary) {
  const OutputTotals& totals = summary.totals;
  const uint64_t lost = std::max(totals.lost, summary.lost_samples);
  std::string losses = "nothing lost";
  if (lost != 0)
    losses = fmt::format("{} events lost on CPU {}", lost,
                         format_range_list({totals.lost_cpus.begin(), totals.lost_cpus.end()}));
  const double share = summary.wall_ns == 0 ? 0
                                            : 100.0 * static_cast<double>(summary.recorder_cpu_ns) /
                                                  static_cast<double>(summary.wall_ns);
  std::string files = summary.files.empty() ? "" : summary.files.front();
  if (summary.files.size() > 1) files = fmt::format("{} files", summary.files.size());
  const std::string events = totals.samples == 0 && totals.switches != 0
                                 ? fmt::format("{} context switches", totals.switches)
                                 : fmt::format("{} samples", totals.samples);
  const char* kept = summary.output_error ? " read, some of them not written" : "";
  fmt::print(stderr,
             "[ perf latency record: {}{}, {} in {} ({} of records), {}; "
             "the recorder used {:.1f} % of a CPU ({}) ]\n",
             events, kept, megabytes(summary.file_bytes), files == "-" ? "the pipe" : files,
             megabytes(totals.raw_bytes), losses, share, summary.priority);
  if (lost != 0)
    complain(fmt::format("the ring buffers ({} KiB per CPU) were full at times: -m takes more",
                         summary.ring_bytes / 1024));
}

void install_handlers(bool with_command) {
  handle(SIGINT, on_stop);
  handle(SIGTERM, on_stop);
  if (with_command) handle(SIGCHLD, on_stop);
  handle(SIGUSR2, on_switch);
  ::signal(SIGPIPE, SIG_IGN);  // a reader of -o - that ends is an error of write()
}

int record(RecordCommandLine& line) {
  std::optional<Workload> workload;
  if (!line.command.empty()) {
    Result<Workload> forked = Workload::fork(line.command, line.options.output == "-");
    if (!forked) return fail(forked.error().what);
    workload.emplace(std::move(*forked));
  }
  g_stop_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (g_stop_fd < 0) return fail(std::strerror(errno));
  install_handlers(workload.has_value());

  auto opened = RecordSession::open(line.options, workload ? workload->pid() : 0);
  if (!opened) return fail(opened.error().what);
  RecordSession& session = **opened;
  g_session = &session;
  for (const std::string& warning : session.warnings()) complain(warning);
  if (Result<void> started = session.start(); !started) return fail(started.error().what);
  if (workload)
    if (Result<void> running = workload->start(); !running) return fail(running.error().what);

  Result<StopReason> reason = session.run(g_stop_fd);
  const bool ended_by_itself = workload && workload->poll().has_value();
  Result<RecordSummary> summary = session.finish();
  g_session = nullptr;
  int status = 0;
  if (workload) {
    const int command_status = workload->end();
    if (ended_by_itself && !g_interrupted) status = command_status;
  }
  if (!reason) return fail(reason.error().what);
  if (!summary) return fail(summary.error().what);
  if (summary->output_error && !summary->reader_gone) {
    fail(summary->output_error->what + ": the recording ends there, what was written can be read");
    status = kExitFailed;
  }
  if (!line.quiet) print_summary(*summary);
  return status;
}

}  // namespace

int run_record(int argc, char** argv) {
  auto parsed = parse_record_command_line(argc, argv);
  if (const RecordUsage* usage = std::get_if<RecordUsage>(&parsed)) {
    if (!usage->is_error) {
      fmt::print("{}", usage->text);
      return kExitDone;
    }
    complain(usage->text);
    return kExitUsage;
  }
  RecordCommandLine& line = std::get<RecordCommandLine>(parsed);
  if (line.list) return print_sets();
  if (line.options.output == "-" && ::isatty(STDOUT_FILENO))
    return fail("-o -: a recording is not for a terminal; send it into a pipe or a file");
  line.options.version = PL_VERSION;
  line.options.cmdline = {"perf", "latency"};
  line.options.cmdline.insert(line.options.cmdline.end(), argv, argv + argc);
  return record(line);
}

}  // namespace perf_latency::tool
