// SPDX-License-Identifier: GPL-2.0-only
// Builds the records that a recorder writes itself: what already runs, build ids, losses, rounds.
//
// Layouts: include/uapi/linux/perf_event.h and tools/lib/perf/include/perf/event.h (6.12). Each
// function appends one whole record. Kernel-type records end in the sample_id trailer of
// kWriterSampleIdType, which every attr of our files shares.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "perfdata/abi.h"
#include "perfdata/writer_bytes.h"

namespace perf_latency {

// The part of sample_type that all attrs of a file of ours have in common: it alone decides what the
// trailer of non-sample records looks like.
inline constexpr uint64_t kWriterSampleIdType =
    kSampleIdentifier | kSampleTid | kSampleTime | kSampleCpu;

// The trailer of a record. All zero for synthesized ones: their time 0 means "before everything".
struct SampleIdTrailer {
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t time_ns = 0;
  uint32_t cpu = 0;
  uint64_t id = 0;
};

// Process ids as perf names them: pid = process, tid = thread.
struct TaskIds {
  uint32_t pid = 0;
  uint32_t tid = 0;
};

struct MapRecord {
  TaskIds task;
  uint64_t start = 0;
  uint64_t size_bytes = 0;
  uint64_t file_offset = 0;
  uint32_t major = 0;
  uint32_t minor = 0;
  uint64_t inode = 0;
  uint32_t protection = 0;
  uint32_t flags = 0;
  std::string_view path;
};

void append_comm(ByteWriter& out, TaskIds task, std::string_view comm);
// The kernel's layout: a thread of its own process has parent pid == pid.
void append_fork(ByteWriter& out, TaskIds child, TaskIds parent);
void append_mmap2(ByteWriter& out, const MapRecord& map);
// Kernel text and modules: pid -1, kernel mode. `file_offset` of the kernel itself is the address of
// its reference symbol.
void append_kernel_mmap(ByteWriter& out, uint64_t start, uint64_t size_bytes, uint64_t file_offset,
                        std::string_view path);
void append_ksymbol(ByteWriter& out, uint64_t address, uint32_t size_bytes, uint16_t type,
                    std::string_view name);
void append_cgroup(ByteWriter& out, uint64_t id, std::string_view path);
void append_lost_samples(ByteWriter& out, uint64_t lost, const SampleIdTrailer& trailer);
void append_build_id(ByteWriter& out, bool kernel, std::span<const std::byte> id,
                     std::string_view path);
void append_finished_round(ByteWriter& out);
void append_finished_init(ByteWriter& out);

// Pipe mode only.
void append_header_attr(ByteWriter& out, std::span<const std::byte> attr,
                        std::span<const uint64_t> ids);
void append_event_name(ByteWriter& out, uint64_t id, std::string_view name);
// False when the section is too large for a record (64 KiB): pipes have no room for it.
bool append_header_feature(ByteWriter& out, Feature feature, std::span<const std::byte> section);
// The record and, behind it, the tracing data itself.
void append_tracing_data(ByteWriter& out, std::span<const std::byte> tracing_data);

}  // namespace perf_latency
