// SPDX-License-Identifier: GPL-2.0-only
// perf-PID.map and jitdump files.
#include <cstdint>
#include <cstring>
#include <vector>

#include "symbolize/runtime_code.h"

namespace perf_latency {
namespace {

void run(const uint8_t* data, size_t size) {
  const auto bytes = [&] {
    std::vector<std::byte> copy(size);
    if (size != 0) std::memcpy(copy.data(), data, size);
    return FileBytes::from_memory(std::move(copy));
  };
  const RuntimeCode map = RuntimeCode::from_perf_map(bytes());
  const auto dump = RuntimeCode::from_jitdump(bytes());
  for (uint64_t address = 0; address < 0x10000; address += 0x77) {
    map.find(address, UINT64_MAX);
    if (dump) dump->find(address, 200);
  }
}

}  // namespace
}  // namespace perf_latency

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  perf_latency::run(data, size);
  return 0;
}
