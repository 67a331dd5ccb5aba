// SPDX-License-Identifier: GPL-2.0-only
// User call chains from a sample's registers and copy of the stack (--call-graph dwarf).
//
// x86-64 goes through libunwind, with the tables (.eh_frame) read from the files that were mapped;
// arm64, 32-bit programs, and files whose tables libunwind cannot search go through libdw's CFI
// reader. Memory is the stack copy, of which only the first dyn_size bytes are valid, and the
// read-only contents of the mapped files; everything else is "not available", never zero. Files and
// copies are hostile: the reads that one chain may make are limited, and so are its frames.
// Register order: arch/x86/include/uapi/asm/perf_regs.h, arch/arm64/include/uapi/asm/perf_regs.h.
// An Unwinder keeps what it has read of the files; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "symbolize/address_spaces.h"
#include "symbolize/symbolizer.h"

namespace perf_latency {

enum class UnwindArch : uint8_t { unknown, x86_64, x86_32, arm64 };

// From the recording's ARCH feature ("x86_64", "aarch64" …) and the sample's register ABI
// (1: a 32-bit program, 2: 64-bit).
UnwindArch unwind_arch(std::string_view machine, uint64_t abi);

struct UnwindInput {
  UnwindArch arch = UnwindArch::unknown;
  uint64_t register_mask = 0;            // attr.sample_regs_user
  std::span<const std::byte> registers;  // one u64 for each bit of the mask, lowest first
  std::span<const std::byte> stack;  // the dyn_size valid bytes; the first is at the stack pointer
  bool swap = false;                 // the recording has the other byte order
};

enum class UnwindEnd : uint8_t {
  outermost,  // the chain is complete
  max_frames,
  stack_too_short,  // goes on in what was not copied
  no_table,         // a file without unwind information, or that is not here
  no_map,           // an address outside of all maps: the stack is broken
  bad_input,        // no registers, an unknown architecture
};
std::string_view to_string(UnwindEnd end);  // a phrase for people

class Unwinder {
 public:
  Unwinder(const AddressSpaces& spaces, SymbolizerOptions options);
  Unwinder(const Unwinder&) = delete;
  Unwinder& operator=(const Unwinder&) = delete;
  ~Unwinder();

  // Appends addresses to `chain`, innermost first: where the program was, then return addresses.
  UnwindEnd unwind(const UnwindInput& input, int32_t pid, size_t max_frames,
                   std::vector<uint64_t>& chain);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace perf_latency
