// SPDX-License-Identifier: GPL-2.0-only
// A hostile recording through the whole house: reader (file, pipe format, zstd, either byte order),
// tracing data, sample decoder, sorter, task model, causes, report, JSON. What comes out must keep its
// own promise: the parts of the account are the whole.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "analysis/causes_report.h"
#include "analysis/info.h"
#include "analysis/session.h"
#include "causes/cause_table.h"
#include "causes/shipped_table.h"
#include "render/render.h"

using namespace perf_latency;  // NOLINT(google-build-using-namespace)

namespace {

// A file without a name that the reader can open by path.
class MemoryFile {
 public:
  MemoryFile(const uint8_t* data, size_t size) : fd_(::memfd_create("recording", MFD_CLOEXEC)) {
    if (fd_ < 0 || ::write(fd_, data, size) != static_cast<ssize_t>(size)) std::abort();
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

SessionOptions session_options() {
  SessionOptions options;
  options.force = true;
  options.jobs = 1;
  options.running_kernel = false;  // thousands of files in tracefs, whose locks others may hold
  return options;
}

void inspect(const std::string& path) {
  Inspection inspection;
  Diagnostics diagnostics;
  DecodePools pools;
  const auto result = run_session(path, session_options(), inspection, pools, diagnostics);
  if (!result) return;
  std::string text;
  if (!render(make_info_report(*result, diagnostics), Format::json, RenderOptions{}, text))
    std::abort();
}

void check_account(const Report& report) {
  if (!report.totals) return;
  const Totals& totals = *report.totals;
  const uint64_t sum = totals.running_ns + totals.sleeping_ns + totals.runnable_ns.value_or(0) +
                       totals.hidden_ns + totals.unknown_ns;
  if (sum != totals.thread_time_ns) std::abort();
}

void analyse(const std::string& path) {
  static CauseTable causes = *CauseTable::load(shipped_cause_table());
  AnalysisOptions options;
  options.kernel_threads = true;
  options.states = "all";
  options.kallsyms = "/dev/null";
  options.callchain = CallchainMode::both;
  options.stacks = true;
  options.force = true;
  options.jobs = 1;
  CausesReport analysis(options, causes);
  Diagnostics diagnostics;
  DecodePools pools;
  const auto result = run_session(path, session_options(), analysis, pools, diagnostics);
  if (!result) return;
  const Report report = analysis.make_report();
  check_account(report);
  std::string text;
  for (const Format format : {Format::json, Format::text})
    if (!render(report, format, RenderOptions{}, text)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const MemoryFile file(data, size);
  inspect(file.path());
  analyse(file.path());
  return 0;
}
