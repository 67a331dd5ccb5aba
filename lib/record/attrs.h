// SPDX-License-Identifier: GPL-2.0-only
// perf_event_attr for each event that is opened, as far as this kernel can.
//
// All attrs share kWriterSampleIdType, so that a sample's id is at one place in every record.
// Kernel side: include/uapi/linux/perf_event.h, kernel/events/core.c (6.12).
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>

#include "record/event_sets.h"

namespace perf_latency {

// What older kernels refuse. Found by opening events on ourselves, which needs no rights.
struct KernelSupport {
  bool any = false;             // perf_event_open works at all
  bool lost_count = false;      // PERF_FORMAT_LOST, 6.0
  bool cgroup = false;          // PERF_SAMPLE_CGROUP and CGROUP records, 5.7
  bool kernel_symbols = false;  // KSYMBOL and BPF_EVENT records, 5.1
};
KernelSupport probe_kernel_support();

enum class CallGraph : uint8_t { kernel, frame_pointer, dwarf };

struct AttrOptions {
  CallGraph call_graph = CallGraph::kernel;
  uint32_t stack_dump_bytes = 8192;  // dwarf
  std::optional<int32_t> clockid;    // none: the kernel's perf clock
  uint32_t wakeup_bytes = 0;
  bool per_task = false;  // opened on tasks, inherited by children, not on CPUs
};

// A tracepoint or the CPU clock.
perf_event_attr event_attr(const ChosenEvent& event, const EventPart& part,
                           const AttrOptions& options, const KernelSupport& support);
// Carries the MMAP2, COMM, FORK, EXIT, KSYMBOL, CGROUP records.
perf_event_attr tracking_attr(const AttrOptions& options, const KernelSupport& support);
// For those without rights: context switches of single tasks (SWITCH records), no chains.
perf_event_attr switch_attr(const AttrOptions& options, const KernelSupport& support);

}  // namespace perf_latency
