// SPDX-License-Identifier: GPL-2.0-only
// The numbers of the perf.data format: record types, misc bits, sample fields, callchain markers.
//
// Kernel side: include/uapi/linux/perf_event.h (6.12). perf side: tools/lib/perf/include/perf/event.h
// and tools/perf/util/header.h. Values that newer kernels and perfs added are included where known.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perf_latency {

enum class RecordType : uint32_t {
  mmap = 1,
  lost = 2,
  comm = 3,
  exit = 4,
  throttle = 5,
  unthrottle = 6,
  fork = 7,
  read = 8,
  sample = 9,
  mmap2 = 10,
  aux = 11,
  itrace_start = 12,
  lost_samples = 13,
  switch_ = 14,
  switch_cpu_wide = 15,
  namespaces = 16,
  ksymbol = 17,
  bpf_event = 18,
  cgroup = 19,
  text_poke = 20,
  aux_output_hw_id = 21,
  callchain_deferred = 22,
  // Written by perf itself; no sample_id trailer.
  first_user = 64,
  header_attr = 64,
  header_event_type = 65,
  header_tracing_data = 66,
  header_build_id = 67,
  finished_round = 68,
  id_index = 69,
  auxtrace_info = 70,
  auxtrace = 71,
  auxtrace_error = 72,
  thread_map = 73,
  cpu_map = 74,
  stat_config = 75,
  stat = 76,
  stat_round = 77,
  event_update = 78,
  time_conv = 79,
  header_feature = 80,
  compressed = 81,
  finished_init = 82,
  compressed2 = 83,
  bpf_metadata = 84,
  schedstat_cpu = 85,
  schedstat_domain = 86,
};

// "SAMPLE", "MMAP2", …; nullptr for a type without a name.
const char* record_type_name(uint32_t type);

// struct perf_event_header: u32 type, u16 misc, u16 size (of the whole record).
inline constexpr size_t kRecordHeaderBytes = 8;

inline constexpr uint16_t kMiscCpumodeMask = 7;
inline constexpr uint16_t kMiscKernel = 1;
inline constexpr uint16_t kMiscUser = 2;
inline constexpr uint16_t kMiscGuestKernel = 4;
inline constexpr uint16_t kMiscGuestUser = 5;
inline constexpr uint16_t kMiscMapParseTimeout = 1u << 12;
inline constexpr uint16_t kMiscMmapData = 1u << 13;
inline constexpr uint16_t kMiscCommExec = 1u << 13;
inline constexpr uint16_t kMiscSwitchOut = 1u << 13;
inline constexpr uint16_t kMiscMmapBuildId = 1u << 14;
inline constexpr uint16_t kMiscSwitchOutPreempt = 1u << 14;
inline constexpr uint16_t kMiscLostSamplesBpf = 1u << 15;
inline constexpr uint16_t kMiscBuildIdSize = 1u << 15;

// perf_event_attr.sample_type
inline constexpr uint64_t kSampleIp = 1u << 0;
inline constexpr uint64_t kSampleTid = 1u << 1;
inline constexpr uint64_t kSampleTime = 1u << 2;
inline constexpr uint64_t kSampleAddr = 1u << 3;
inline constexpr uint64_t kSampleRead = 1u << 4;
inline constexpr uint64_t kSampleCallchain = 1u << 5;
inline constexpr uint64_t kSampleId = 1u << 6;
inline constexpr uint64_t kSampleCpu = 1u << 7;
inline constexpr uint64_t kSamplePeriod = 1u << 8;
inline constexpr uint64_t kSampleStreamId = 1u << 9;
inline constexpr uint64_t kSampleRaw = 1u << 10;
inline constexpr uint64_t kSampleBranchStack = 1u << 11;
inline constexpr uint64_t kSampleRegsUser = 1u << 12;
inline constexpr uint64_t kSampleStackUser = 1u << 13;
inline constexpr uint64_t kSampleWeight = 1u << 14;
inline constexpr uint64_t kSampleDataSrc = 1u << 15;
inline constexpr uint64_t kSampleIdentifier = 1u << 16;
inline constexpr uint64_t kSampleTransaction = 1u << 17;
inline constexpr uint64_t kSampleRegsIntr = 1u << 18;
inline constexpr uint64_t kSamplePhysAddr = 1u << 19;
inline constexpr uint64_t kSampleAux = 1u << 20;
inline constexpr uint64_t kSampleCgroup = 1u << 21;
inline constexpr uint64_t kSampleDataPageSize = 1u << 22;
inline constexpr uint64_t kSampleCodePageSize = 1u << 23;
inline constexpr uint64_t kSampleWeightStruct = 1u << 24;
inline constexpr uint64_t kSampleKnownMask = (1u << 25) - 1;

inline constexpr uint64_t kBranchSampleHwIndex = 1u << 17;
inline constexpr uint64_t kBranchSampleCounters = 1u << 19;

// perf_event_attr.read_format
inline constexpr uint64_t kReadEnabled = 1u << 0;
inline constexpr uint64_t kReadRunning = 1u << 1;
inline constexpr uint64_t kReadId = 1u << 2;
inline constexpr uint64_t kReadGroup = 1u << 3;
inline constexpr uint64_t kReadLost = 1u << 4;

// Markers in a callchain: values from -4095 up; they switch what the addresses behind them are.
inline constexpr uint64_t kContextMax = static_cast<uint64_t>(-4095);
inline constexpr uint64_t kContextHv = static_cast<uint64_t>(-32);
inline constexpr uint64_t kContextKernel = static_cast<uint64_t>(-128);
inline constexpr uint64_t kContextUser = static_cast<uint64_t>(-512);
inline constexpr uint64_t kContextUserDeferred = static_cast<uint64_t>(-640);
inline constexpr uint64_t kContextGuest = static_cast<uint64_t>(-2048);
inline constexpr uint64_t kContextGuestKernel = static_cast<uint64_t>(-2176);
inline constexpr uint64_t kContextGuestUser = static_cast<uint64_t>(-2560);

// perf_event_attr.type
inline constexpr uint32_t kTypeHardware = 0;
inline constexpr uint32_t kTypeSoftware = 1;
inline constexpr uint32_t kTypeTracepoint = 2;

// Feature sections: the bit is the index (tools/perf/util/header.h).
enum class Feature : uint32_t {
  tracing_data = 1,
  build_id = 2,
  hostname = 3,
  osrelease = 4,
  version = 5,
  arch = 6,
  nrcpus = 7,
  cpudesc = 8,
  cpuid = 9,
  total_mem = 10,
  cmdline = 11,
  event_desc = 12,
  cpu_topology = 13,
  numa_topology = 14,
  branch_stack = 15,
  pmu_mappings = 16,
  group_desc = 17,
  auxtrace = 18,
  stat = 19,
  cache = 20,
  sample_time = 21,
  mem_topology = 22,
  clockid = 23,
  dir_format = 24,
  bpf_prog_info = 25,
  bpf_btf = 26,
  compressed = 27,
  cpu_pmu_caps = 28,
  clock_data = 29,
  hybrid_topology = 30,
  pmu_caps = 31,
  cpu_domain_info = 32,
  e_machine = 33,
  cln_size = 34,
};
inline constexpr uint32_t kFeatureBits = 256;
const char* feature_name(uint32_t bit);  // nullptr for a bit without a name

}  // namespace perf_latency
