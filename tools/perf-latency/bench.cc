// SPDX-License-Identifier: GPL-2.0-only
// perf latency bench vmstat: what a change to the kernel's vmstat code costs, in cycles.
//
// Two measures, each in rounds after a warm-up: a system call that changes a vmstat counter (mlock and
// munlock of one page, NR_MLOCK), and one turn through the idle loop (a short sleep alone on the CPU:
// quiet_vmstat runs when the tick stops). Cycles are counted by the CPU in user and kernel mode; for
// the idle loop on the whole CPU, idle task included.
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "cli.h"
#include "commands.h"
#include "render/render.h"

namespace perf_latency::tool {
namespace {

constexpr long kIdleSleepNs = 200'000;  // long enough for the tick to be stopped where it can be

struct BenchOptions {
  unsigned rounds = 101;
  unsigned pairs = 2000;      // of mlock and munlock in a round
  unsigned idle_loops = 100;  // in a round
  int cpu = -1;               // -1: the one that it starts on
};

class CycleCounter {
 public:
  CycleCounter() = default;
  ~CycleCounter() {
    if (fd_ >= 0) ::close(fd_);
  }
  CycleCounter(const CycleCounter&) = delete;
  CycleCounter& operator=(const CycleCounter&) = delete;

  // Counts this thread (pid 0, cpu -1) or all that runs on a CPU (pid -1).
  Result<void> open(pid_t pid, int cpu) {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_HARDWARE;
    attr.config = PERF_COUNT_HW_CPU_CYCLES;
    attr.pinned = 1;  // never multiplexed: a share of the time would be an estimate
    attr.exclude_hv = 1;
    fd_ =
        static_cast<int>(::syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC));
    if (fd_ < 0) return make_error(why(errno));
    if (!read())
      return make_error("the counter is taken by somebody else (the NMI watchdog, another perf)");
    return {};
  }

  // Nothing when the kernel could not keep the counter on the CPU.
  std::optional<uint64_t> read() const {
    uint64_t value = 0;
    if (::read(fd_, &value, sizeof value) != static_cast<ssize_t>(sizeof value))
      return std::nullopt;
    return value;
  }

 private:
  static std::string why(int error) {
    switch (error) {
      case ENOENT:
      case ENODEV:
      case EOPNOTSUPP:
        return "this machine has no cycle counter that perf can use (a virtual machine without a "
               "PMU?)";
      case EACCES:
      case EPERM:
        return "counting cycles in the kernel is not permitted: set kernel.perf_event_paranoid to "
               "1 "
               "(the idle loop: 0), or give CAP_PERFMON";
      case EBUSY:
        return "the counter is taken by somebody else";
      default:
        return std::string("perf_event_open: ") + std::strerror(error);
    }
  }

  int fd_ = -1;
};

struct Measured {
  std::string id;
  std::string what;
  std::vector<uint64_t> cycles;  // per operation, one value a round, sorted
};

// One warm-up round in ten, and at least three.
Result<Measured> measure(const CycleCounter& counter, const BenchOptions& options,
                         Measured measured, uint64_t operations,
                         const std::function<bool()>& round) {
  const unsigned warm_up = std::max(3u, options.rounds / 10);
  for (unsigned i = 0; i < warm_up + options.rounds; ++i) {
    const auto before = counter.read();
    if (!round()) return make_error(measured.what + ": " + std::strerror(errno));
    const auto after = counter.read();
    if (!before || !after) return make_error("the counter was taken away during the measurement");
    if (*after == *before)
      return make_error("the cycle counter does not count (a virtual machine without a PMU?)");
    if (i >= warm_up) measured.cycles.push_back((*after - *before) / operations);
  }
  std::sort(measured.cycles.begin(), measured.cycles.end());
  return measured;
}

Result<Measured> measure_mlock(const BenchOptions& options) {
  CycleCounter counter;
  if (auto opened = counter.open(0, -1); !opened) return opened.error();
  const size_t size = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void* page = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return make_error(std::string("mmap: ") + std::strerror(errno));
  std::memset(page, 1, size);
  auto result = measure(counter, options, {"mlock", "mlock or munlock of a page", {}},
                        uint64_t{2} * options.pairs, [&] {
                          for (unsigned i = 0; i < options.pairs; ++i)
                            if (::mlock(page, size) != 0 || ::munlock(page, size) != 0)
                              return false;
                          return true;
                        });
  ::munmap(page, size);
  return result;
}

Result<Measured> measure_idle(const BenchOptions& options) {
  CycleCounter counter;
  if (auto opened = counter.open(-1, options.cpu); !opened) return opened.error();
  return measure(
      counter, options, {"idle", "turn through the idle loop", {}}, options.idle_loops, [&] {
        for (unsigned i = 0; i < options.idle_loops; ++i) {
          const timespec length{0, kIdleSleepNs};
          if (const int error = ::clock_nanosleep(CLOCK_MONOTONIC, 0, &length, nullptr)) {
            errno = error;
            return false;
          }
        }
        return true;
      });
}

Result<void> pin(BenchOptions& options) {
  if (options.cpu < 0) options.cpu = ::sched_getcpu();
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (options.cpu < 0 || options.cpu >= CPU_SETSIZE)
    return make_error("--cpu: there is no CPU " + std::to_string(options.cpu));
  CPU_SET(static_cast<size_t>(options.cpu), &cpus);
  if (::sched_setaffinity(0, sizeof cpus, &cpus) != 0)
    return make_error("CPU " + std::to_string(options.cpu) + ": " + std::strerror(errno));
  return {};
}

Table make_table(const std::vector<Measured>& all) {
  Table table;
  table.columns = {{"id", "Id", CellKind::text, false, true},
                   {"what", "Cycles per", CellKind::text, true, false},
                   {"rounds", "Rounds", CellKind::count, true, false},
                   {"median", "Median", CellKind::count, true, false},
                   {"p25", "25 %", CellKind::count, true, false},
                   {"p75", "75 %", CellKind::count, true, false},
                   {"min", "Min", CellKind::count, true, false},
                   {"max", "Max", CellKind::count, true, false},
                   {"spread_percent", "Spread %", CellKind::percent, true, false}};
  for (const Measured& measured : all) {
    const std::vector<uint64_t>& cycles = measured.cycles;
    const auto at = [&](size_t percent) { return cycles[(cycles.size() - 1) * percent / 100]; };
    const double spread =
        at(50) == 0 ? 0.0
                    : 100.0 * static_cast<double>(at(75) - at(25)) / static_cast<double>(at(50));
    Row row;
    row.cells = {measured.id, measured.what,  uint64_t{cycles.size()}, at(50), at(25),
                 at(75),      cycles.front(), cycles.back(),           spread};
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

int run_bench(int argc, char** argv) {
  CLI::App app("Measure what the kernel's vmstat code costs, in cycles", "perf latency bench");
  BenchOptions options;
  std::string what, format_name = "text";
  app.add_option("WHAT", what, "vmstat: cycles per mlock/munlock call, and per idle loop")
      ->required()
      ->check(CLI::IsMember({"vmstat"}));
  app.add_option("--cpu", options.cpu, "The CPU to measure on (default: the one it starts on)");
  app.add_option("--rounds", options.rounds, "Rounds of each measure")
      ->check(CLI::Range(5u, 100000u));
  app.add_option("--format", format_name, "text, json or csv");
  if (const int status = parse_command_line(app, argc, argv); status >= 0) return status;
  const auto format = parse_format(format_name);
  if (!format || (*format != Format::text && *format != Format::json && *format != Format::csv)) {
    complain("--format is text, json or csv, not '" + format_name + "'");
    return kExitUsage;
  }
  if (auto pinned = pin(options); !pinned) {
    complain(pinned.error().what);
    return kExitFailed;
  }
  std::vector<Measured> all;
  for (const auto& one : {measure_mlock, measure_idle}) {
    auto measured = one(options);
    if (!measured) {
      complain("bench vmstat: " + measured.error().what);
      return kExitFailed;
    }
    all.push_back(std::move(*measured));
  }
  Report report;
  report.schema = "perf-latency.bench-vmstat.v1";
  report.title = "What the kernel's vmstat code costs, on CPU " + std::to_string(options.cpu);
  report.with_totals = false;
  report.tables.push_back(make_table(all));
  std::string text;
  if (auto rendered = render(report, *format, RenderOptions{}, text); !rendered) {
    complain(rendered.error().what);
    return kExitFailed;
  }
  Output output;
  auto written = output.open("");
  if (written) written = output.write(text);
  if (written) written = output.close();
  if (!written) {
    complain(written.error().what);
    return kExitFailed;
  }
  return kExitDone;
}

}  // namespace perf_latency::tool
