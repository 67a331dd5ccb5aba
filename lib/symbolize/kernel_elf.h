// SPDX-License-Identifier: GPL-2.0-only
// Kernel symbols out of ELF files: a vmlinux, and relocatable modules laid out as the kernel does
// it.
//
// Names stay in the file's bytes. The lists are finished: among symbols of one address the order is
// that of scripts/kallsyms.c compare_symbols(), 6.12, so a vmlinux and its kallsyms give one
// answer.
#pragma once

#include "symbolize/elf_file.h"
#include "symbolize/symbol_list.h"

namespace perf_latency {

struct KernelElfSymbols {
  SymbolList code;
  SymbolList data;
};

KernelElfSymbols read_vmlinux_symbols(const ElfFile& file);

// The code of a module (ET_REL), as offsets from where its text begins in memory: the executable
// sections but `.init*`, in the order of the section headers, each at its alignment
// (kernel/module/main.c __layout_sections(), 6.12). On architectures that grow a `.plt` when a
// module is loaded (arm64) sections behind it are off by its size.
SymbolList read_module_symbols(const ElfFile& file);

}  // namespace perf_latency
