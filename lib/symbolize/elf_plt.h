// SPDX-License-Identifier: GPL-2.0-only
// The stubs of the procedure linkage table, which have no symbols of their own.
//
// The stubs are decoded rather than counted, since linkers lay them out in several ways (lazy, with
// indirect branch tracking, `.plt.sec`, `.plt.got`): the instruction that loads a slot of the
// global offset table tells the slot, and the relocation of that slot tells the function. x86-64
// and arm64.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "symbolize/elf_file.h"

namespace perf_latency {

struct PltStub {
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  std::string_view name;  // of the function that it leads to
};

std::vector<PltStub> find_plt_stubs(const ElfFile& file);

}  // namespace perf_latency
