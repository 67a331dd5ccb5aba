// SPDX-License-Identifier: GPL-2.0-only
// Tracepoint formats of the running kernel, for recordings whose recorder was killed before it could
// write its own (perf writes them when it ends).
//
// They are used only when they must be the same: the recording names this kernel's release; or it
// names none, and its kernel text lies where this kernel's does, which address randomization changes
// with every boot. Ids alone prove nothing: every kernel has an event of nearly every small number.
#pragma once

#include <optional>
#include <string>

#include "perfdata/metadata.h"
#include "perfdata/record_batch.h"
#include "tracepoint/tracing_data.h"

namespace perf_latency {

struct RunningKernel {
  std::string release;
  std::string machine;
  std::string tracefs = "/sys/kernel/tracing";
  std::string kallsyms = "/proc/kallsyms";

  static RunningKernel of_this_machine();
};

// The formats of all tracepoints of the recording; none when the kernel is, or may be, another one.
// `first` are the recording's first records.
std::optional<TracingData> running_kernel_formats(const RunningKernel& kernel,
                                                  const Metadata& metadata,
                                                  const RecordBatch& first);

}  // namespace perf_latency
