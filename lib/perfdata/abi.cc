// SPDX-License-Identifier: GPL-2.0-only
#include "perfdata/abi.h"

#include <array>

#include "perfdata/features.h"

namespace perf_latency {

const char* record_type_name(uint32_t type) {
  static constexpr std::array<const char*, 23> kKernel{nullptr,
                                                       "MMAP",
                                                       "LOST",
                                                       "COMM",
                                                       "EXIT",
                                                       "THROTTLE",
                                                       "UNTHROTTLE",
                                                       "FORK",
                                                       "READ",
                                                       "SAMPLE",
                                                       "MMAP2",
                                                       "AUX",
                                                       "ITRACE_START",
                                                       "LOST_SAMPLES",
                                                       "SWITCH",
                                                       "SWITCH_CPU_WIDE",
                                                       "NAMESPACES",
                                                       "KSYMBOL",
                                                       "BPF_EVENT",
                                                       "CGROUP",
                                                       "TEXT_POKE",
                                                       "AUX_OUTPUT_HW_ID",
                                                       "CALLCHAIN_DEFERRED"};
  static constexpr std::array<const char*, 23> kUser{"HEADER_ATTR",
                                                     "HEADER_EVENT_TYPE",
                                                     "HEADER_TRACING_DATA",
                                                     "HEADER_BUILD_ID",
                                                     "FINISHED_ROUND",
                                                     "ID_INDEX",
                                                     "AUXTRACE_INFO",
                                                     "AUXTRACE",
                                                     "AUXTRACE_ERROR",
                                                     "THREAD_MAP",
                                                     "CPU_MAP",
                                                     "STAT_CONFIG",
                                                     "STAT",
                                                     "STAT_ROUND",
                                                     "EVENT_UPDATE",
                                                     "TIME_CONV",
                                                     "HEADER_FEATURE",
                                                     "COMPRESSED",
                                                     "FINISHED_INIT",
                                                     "COMPRESSED2",
                                                     "BPF_METADATA",
                                                     "SCHEDSTAT_CPU",
                                                     "SCHEDSTAT_DOMAIN"};
  if (type < kKernel.size()) return kKernel[type];
  if (type >= 64 && type - 64 < kUser.size()) return kUser[type - 64];
  return nullptr;
}

const char* feature_name(uint32_t bit) {
  static constexpr std::array<const char*, 35> kNames{
      nullptr,           "TRACING_DATA", "BUILD_ID",        "HOSTNAME",     "OSRELEASE",
      "VERSION",         "ARCH",         "NRCPUS",          "CPUDESC",      "CPUID",
      "TOTAL_MEM",       "CMDLINE",      "EVENT_DESC",      "CPU_TOPOLOGY", "NUMA_TOPOLOGY",
      "BRANCH_STACK",    "PMU_MAPPINGS", "GROUP_DESC",      "AUXTRACE",     "STAT",
      "CACHE",           "SAMPLE_TIME",  "MEM_TOPOLOGY",    "CLOCKID",      "DIR_FORMAT",
      "BPF_PROG_INFO",   "BPF_BTF",      "COMPRESSED",      "CPU_PMU_CAPS", "CLOCK_DATA",
      "HYBRID_TOPOLOGY", "PMU_CAPS",     "CPU_DOMAIN_INFO", "E_MACHINE",    "CLN_SIZE"};
  if (bit == kMachineStateBit) return "MACHINE_STATE";
  return bit < kNames.size() ? kNames[bit] : nullptr;
}

}  // namespace perf_latency
