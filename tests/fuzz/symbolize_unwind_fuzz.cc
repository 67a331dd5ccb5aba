// SPDX-License-Identifier: GPL-2.0-only
// Both unwinding engines and source lines, on a damaged file.
// Input: 16 u64 that make the registers, u16 size of the stack, the stack, then an ELF file that is
// mapped at 0x400000.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "symbolize/source_info.h"
#include "symbolize/unwind_engines.h"
#include "symbolize/unwinder.h"

namespace {

// The file is opened by its path: one for the process, rewritten for each input.
const std::string& path() {
  static const std::string path = [] {
    std::string text = "/tmp/pl-unwind-fuzz-" + std::to_string(getpid());
    std::atexit([] { unlink(("/tmp/pl-unwind-fuzz-" + std::to_string(getpid())).c_str()); });
    return text;
  }();
  return path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace perf_latency;
  constexpr size_t kHeadBytes = 16 * 8 + 2;
  if (size < kHeadBytes) return 0;
  std::vector<std::byte> registers(33 * 8);
  for (size_t i = 0; i < 33; ++i) std::memcpy(registers.data() + i * 8, data + i % 16 * 8, 8);
  uint16_t stack_bytes;
  std::memcpy(&stack_bytes, data + 16 * 8, 2);
  data += kHeadBytes;
  size -= kHeadBytes;
  if (stack_bytes > size) return 0;
  const std::vector<std::byte> stack(reinterpret_cast<const std::byte*>(data),
                                     reinterpret_cast<const std::byte*>(data) + stack_bytes);
  std::vector<std::byte> image(reinterpret_cast<const std::byte*>(data) + stack_bytes,
                               reinterpret_cast<const std::byte*>(data) + size);
  FILE* file = std::fopen(path().c_str(), "wb");
  if (file == nullptr) return 0;
  std::fwrite(image.data(), 1, image.size(), file);
  std::fclose(file);

  SymbolizerOptions options;
  options.live = false;
  options.debuginfod = false;
  options.debug_dir = "/nonexistent";
  DsoTable dsos;
  AddressSpaces spaces(dsos);
  spaces.mmap({1, 0x400000, 0x100000, 0, path(), {}});
  Unwinder unwinder(spaces, options);
  UnwindMemory memory(spaces, options);
  for (const UnwindArch arch : {UnwindArch::x86_64, UnwindArch::arm64, UnwindArch::x86_32}) {
    const UnwindInput input{arch, arch == UnwindArch::arm64 ? 0x1ffffffff : 0xff0fffull, registers,
                            stack, false};
    std::vector<uint64_t> chain;
    unwinder.unwind(input, 1, 32, chain);
    const SampleRegisters values(input);
    memory.set(input, 1, values.get(unwind_traits(arch).stack_pointer).value_or(0));
    unwind_with_libdw(arch, memory, values, 32, chain);
  }
  if (auto source = SourceInfo::open(image, {}))
    for (uint64_t address = 0; address < 0x2000; address += 0x83) source->describe(address);
  return 0;
}
