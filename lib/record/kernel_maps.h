// SPDX-License-Identifier: GPL-2.0-only
// Where the running kernel, its modules and its BPF programs are in memory, as records.
//
// The kernel's own map carries the address of a reference symbol as its offset: from that a reader
// computes the KASLR shift (tools/perf/util/synthetic-events.c and machine.c, 6.12).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "perfdata/writer_bytes.h"

namespace perf_latency {

struct KernelModule {
  std::string name;
  std::string path;  // of the .ko file, or "[name]" when it is not found
  uint64_t start = 0;
  uint64_t size_bytes = 0;
};

// The text of /proc/kallsyms; empty when it cannot be read.
std::string read_kallsyms();
std::vector<KernelModule> loaded_modules();

// False when addresses are hidden (kptr_restrict): then there is nothing to say.
bool append_kernel_map(ByteWriter& out, std::string_view kallsyms);
void append_module_maps(ByteWriter& out, const std::vector<KernelModule>& modules);
// KSYMBOL records for the BPF programs that are loaded already.
void append_bpf_symbols(ByteWriter& out, std::string_view kallsyms);

}  // namespace perf_latency
