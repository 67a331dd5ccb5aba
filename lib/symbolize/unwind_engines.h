// SPDX-License-Identifier: GPL-2.0-only
// The two engines behind Unwinder: libunwind for x86-64, libdw's call frame information for all.
//
// Both append what they find to `chain`, the current address first, and see the process through an
// UnwindMemory only.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "symbolize/unwind_memory.h"
#include "symbolize/unwinder.h"

namespace perf_latency {

// Registers by their number in perf's masks.
class SampleRegisters {
 public:
  explicit SampleRegisters(const UnwindInput& input);
  std::optional<uint64_t> get(unsigned perf_register) const {
    if (perf_register >= values_.size() || (known_ >> perf_register & 1) == 0) return std::nullopt;
    return values_[perf_register];
  }

 private:
  std::array<uint64_t, 64> values_{};
  uint64_t known_ = 0;
};

// Where perf puts what every chain needs, and how wide a word is.
struct UnwindTraits {
  unsigned instruction_pointer;
  unsigned stack_pointer;
  size_t word_bytes;
};
const UnwindTraits& unwind_traits(UnwindArch arch);  // not for unknown

class LibunwindEngine {
 public:
  LibunwindEngine();
  ~LibunwindEngine();
  // False where this build has no libunwind for x86-64.
  static bool available();
  // `version` is that of the process's maps.
  UnwindEnd unwind(UnwindMemory& memory, const SampleRegisters& registers, uint64_t version,
                   size_t max_frames, std::vector<uint64_t>& chain);

 private:
  struct Spaces;
  std::unique_ptr<Spaces> spaces_;
};

UnwindEnd unwind_with_libdw(UnwindArch arch, UnwindMemory& memory, const SampleRegisters& registers,
                            size_t max_frames, std::vector<uint64_t>& chain);

}  // namespace perf_latency
