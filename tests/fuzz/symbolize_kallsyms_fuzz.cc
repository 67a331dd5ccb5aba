// SPDX-License-Identifier: GPL-2.0-only
// Kernel symbol text (/proc/kallsyms, System.map), plain or packed.
#include <cstdint>
#include <cstring>
#include <vector>

#include "symbolize/kernel_symbols.h"

namespace perf_latency {
namespace {

void run(const uint8_t* data, size_t size) {
  std::vector<std::byte> bytes(size);
  if (size != 0) std::memcpy(bytes.data(), data, size);
  if (packed_format(bytes) != PackedFormat::none) {
    auto unpacked = unpack(bytes, 1 << 20);
    if (!unpacked) return;
    bytes = std::move(*unpacked);
  }
  auto symbols = KernelSymbols::from_kallsyms(FileBytes::from_memory(std::move(bytes)));
  if (!symbols) return;
  for (const uint64_t address : {uint64_t{0}, uint64_t{0xffffffff81000010}, ~uint64_t{0}}) {
    symbols->lookup(address);
    symbols->lookup_data(address);
  }
  for (int i = 0; i < 10; ++i) symbols->address_of("_text");
  symbols->set_shift(0x1000);
  symbols->lookup(0xffffffff81001010);
}

}  // namespace
}  // namespace perf_latency

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  perf_latency::run(data, size);
  return 0;
}
