// SPDX-License-Identifier: GPL-2.0-only
#include "record/attrs.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "perfdata/writer_records.h"

namespace perf_latency {

namespace {

// The registers that perf's dwarf unwinding and ours start from (arch/*/include/uapi/asm/perf_regs.h).
#if defined(__x86_64__)
constexpr uint64_t kUserRegisters = 0xff0fff;  // AX…SS without DS, ES, FS, GS; R8…R15
#elif defined(__aarch64__)
constexpr uint64_t kUserRegisters = (uint64_t{1} << 33) - 1;  // X0…X29, LR, SP, PC
#else
constexpr uint64_t kUserRegisters = 0;
#endif

perf_event_attr base_attr(const AttrOptions& options, const KernelSupport& support) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.sample_type = kWriterSampleIdType | PERF_SAMPLE_IP;
  attr.read_format = PERF_FORMAT_ID | (support.lost_count ? PERF_FORMAT_LOST : 0);
  attr.disabled = 1;
  attr.sample_id_all = 1;
  attr.exclude_guest = 1;
  attr.inherit = options.per_task;
  if (options.wakeup_bytes != 0) {
    attr.watermark = 1;
    attr.wakeup_watermark = options.wakeup_bytes;
  }
  if (options.clockid) {
    attr.use_clockid = 1;
    attr.clockid = *options.clockid;
  }
  return attr;
}

bool can_open(perf_event_attr attr) {
  const long fd = ::syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd >= 0) ::close(static_cast<int>(fd));
  return fd >= 0;
}

void add_call_chain(perf_event_attr& attr, bool with_chain, const AttrOptions& options) {
  attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
  const bool dwarf = options.call_graph == CallGraph::dwarf && kUserRegisters != 0;
  // The sample layout is the same with and without chain: the one without has 0 frames.
  attr.exclude_callchain_kernel = !with_chain;
  attr.exclude_callchain_user = !with_chain || dwarf || options.call_graph == CallGraph::kernel;
  if (!dwarf) return;
  attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attr.sample_regs_user = kUserRegisters;
  attr.sample_stack_user = with_chain ? options.stack_dump_bytes : 0;
}

}  // namespace

KernelSupport probe_kernel_support() {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.exclude_kernel = 1;
  attr.disabled = 1;
  KernelSupport support;
  support.any = can_open(attr);
  perf_event_attr lost = attr;
  lost.read_format = PERF_FORMAT_LOST;
  support.lost_count = can_open(lost);
  perf_event_attr cgroup = attr;
  cgroup.sample_type = PERF_SAMPLE_CGROUP;
  cgroup.cgroup = 1;
  support.cgroup = can_open(cgroup);
  perf_event_attr symbols = attr;
  symbols.ksymbol = 1;
  symbols.bpf_event = 1;
  support.kernel_symbols = can_open(symbols);
  return support;
}

perf_event_attr event_attr(const ChosenEvent& event, const EventPart& part,
                           const AttrOptions& options, const KernelSupport& support) {
  perf_event_attr attr = base_attr(options, support);
  attr.config = event.config;
  if (event.clock_hz != 0) {
    attr.type = PERF_TYPE_SOFTWARE;
    attr.freq = 1;
    attr.sample_freq = event.clock_hz;
    attr.sample_type |= PERF_SAMPLE_PERIOD;
  } else {
    attr.type = PERF_TYPE_TRACEPOINT;
    attr.sample_period = 1;
    attr.sample_type |= PERF_SAMPLE_RAW;
  }
  if (support.cgroup) attr.sample_type |= PERF_SAMPLE_CGROUP;
  add_call_chain(attr, part.with_chain, options);
  return attr;
}

perf_event_attr tracking_attr(const AttrOptions& options, const KernelSupport& support) {
  perf_event_attr attr = base_attr(options, support);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.sample_period = 1;
  // It has no samples, but perf sched timehist looks for call chains in every attr of a file.
  attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
  attr.exclude_guest = 0;
  attr.mmap = 1;
  attr.mmap2 = 1;
  attr.comm = 1;
  attr.comm_exec = 1;
  attr.task = 1;
  attr.ksymbol = support.kernel_symbols;
  attr.bpf_event = support.kernel_symbols;
  attr.cgroup = support.cgroup;
  return attr;
}

perf_event_attr switch_attr(const AttrOptions& options, const KernelSupport& support) {
  perf_event_attr attr = tracking_attr(options, support);
  attr.context_switch = 1;
  attr.exclude_kernel = 1;  // what a user without rights may open
  attr.exclude_hv = 1;
  attr.exclude_guest = 1;
  attr.ksymbol = 0;
  attr.bpf_event = 0;
  return attr;
}

}  // namespace perf_latency
