// SPDX-License-Identifier: GPL-2.0-only
// Our ELF reader: user symbols, PLT stubs, vmlinux, modules, links, .gnu_debugdata.
#include <cstdint>
#include <cstring>
#include <vector>

#include "symbolize/elf_symbols.h"
#include "symbolize/kernel_elf.h"
#include "symbolize/kernel_symbols.h"
#include "symbolize/symbol_files.h"

namespace perf_latency {
namespace {

void run(const uint8_t* data, size_t size) {
  std::vector<std::byte> bytes(size);
  if (size != 0) std::memcpy(bytes.data(), data, size);
  FileBytes file = FileBytes::from_memory(std::move(bytes));
  auto elf = ElfFile::parse(file.bytes());
  if (!elf) return;
  ElfSymbols symbols;
  symbols.add(*elf);
  symbols.add_plt(*elf);
  symbols.finish();
  for (uint64_t offset = 0; offset < 0x4000; offset += 0x111)
    if (const auto address = elf->address_of_offset(offset)) symbols.find(*address);
  elf->build_id();
  elf->debug_link();
  elf->debug_alt_link();
  elf->bytes_at(0x1000, 64);
  read_module_symbols(*elf);
  const OpenElf image{"", std::move(file), std::move(*elf)};
  SymbolFiles::unpack_debugdata(image);
  std::vector<std::byte> again(image.file.bytes().begin(), image.file.bytes().end());
  if (auto kernel = KernelSymbols::from_elf(FileBytes::from_memory(std::move(again))))
    kernel->lookup(0xffffffff81000010);
}

}  // namespace
}  // namespace perf_latency

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  perf_latency::run(data, size);
  return 0;
}
