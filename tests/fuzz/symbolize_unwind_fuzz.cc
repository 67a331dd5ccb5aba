// SPDX-License-Identifier: GPL-2.0-only
// Both unwinding engines and source lines, on a damaged file.
// Input: 16 u64 that make the registers, u16 size of the stack, the stack, then an ELF file that is
// mapped at 0x400000.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "symbolize/source_info.h"
#include "symbolize/unwind_engines.h"
#include "symbolize/unwinder.h"

namespace perf_latency {
namespace {

// The image is opened by a path: that of a file in memory, rewritten for each input.
std::string write_image(std::span<const std::byte> image) {
  static const int fd = memfd_create("image", MFD_CLOEXEC);
  const bool written = ftruncate(fd, 0) == 0 && pwrite(fd, image.data(), image.size(), 0) >= 0;
  return written ? "/proc/self/fd/" + std::to_string(fd) : "/nonexistent";
}

void run(const uint8_t* data, size_t size) {
  constexpr size_t kHeadBytes = 16 * 8 + 2;
  if (size < kHeadBytes) return;
  std::vector<std::byte> registers(33 * 8);
  for (size_t i = 0; i < 33; ++i) std::memcpy(registers.data() + i * 8, data + i % 16 * 8, 8);
  uint16_t stack_bytes;
  std::memcpy(&stack_bytes, data + 16 * 8, 2);
  data += kHeadBytes;
  size -= kHeadBytes;
  if (stack_bytes > size) return;
  const std::vector<std::byte> stack(reinterpret_cast<const std::byte*>(data),
                                     reinterpret_cast<const std::byte*>(data) + stack_bytes);
  std::vector<std::byte> image(reinterpret_cast<const std::byte*>(data) + stack_bytes,
                               reinterpret_cast<const std::byte*>(data) + size);
  const std::string path = write_image(image);

  SymbolizerOptions options;
  options.live = false;
  options.debuginfod = false;
  options.debug_dir = "/nonexistent";
  DsoTable dsos;
  AddressSpaces spaces(dsos);
  spaces.mmap({1, 0x400000, 0x100000, 0, path, {}});
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
}

}  // namespace
}  // namespace perf_latency

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  perf_latency::run(data, size);
  return 0;
}
