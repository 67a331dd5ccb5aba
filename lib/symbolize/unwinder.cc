// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/unwinder.h"

#include <bit>

#include "base/byte_cursor.h"
#include "symbolize/unwind_engines.h"
#include "symbolize/unwind_memory.h"

namespace perf_latency {

UnwindArch unwind_arch(std::string_view machine, uint64_t abi) {
  constexpr uint64_t kAbi32 = 1;
  constexpr uint64_t kAbi64 = 2;
  const bool x86 = machine == "x86_64" ||
                   (machine.size() == 4 && machine.starts_with("i") && machine.ends_with("86"));
  if (x86 && abi == kAbi64) return UnwindArch::x86_64;
  if (x86 && abi == kAbi32) return UnwindArch::x86_32;
  if ((machine == "aarch64" || machine == "arm64") && abi == kAbi64) return UnwindArch::arm64;
  return UnwindArch::unknown;
}

std::string_view to_string(UnwindEnd end) {
  switch (end) {
    case UnwindEnd::outermost:
      return "complete";
    case UnwindEnd::max_frames:
      return "cut at the limit of frames";
    case UnwindEnd::stack_too_short:
      return "goes on in stack that was not recorded";
    case UnwindEnd::no_table:
      return "reaches a file without unwind information here";
    case UnwindEnd::no_map:
      return "leaves all memory maps";
    case UnwindEnd::bad_input:
      return "registers that cannot be used";
  }
  return "";
}

const UnwindTraits& unwind_traits(UnwindArch arch) {
  static constexpr UnwindTraits kX8664{8, 7, 8};
  static constexpr UnwindTraits kX8632{8, 7, 4};
  static constexpr UnwindTraits kArm64{32, 31, 8};
  switch (arch) {
    case UnwindArch::x86_32:
      return kX8632;
    case UnwindArch::arm64:
      return kArm64;
    default:
      return kX8664;
  }
}

SampleRegisters::SampleRegisters(const UnwindInput& input) {
  ByteCursor in(input.registers, input.swap);
  for (uint64_t mask = input.register_mask; mask != 0 && in.left() >= sizeof(uint64_t);
       mask &= mask - 1) {
    const auto number = static_cast<unsigned>(std::countr_zero(mask));
    values_[number] = in.u64();
    known_ |= uint64_t{1} << number;
  }
}

struct Unwinder::State {
  State(const AddressSpaces& address_spaces, SymbolizerOptions symbolizer_options)
      : spaces(address_spaces),
        options(std::move(symbolizer_options)),
        memory(address_spaces, options) {}

  const AddressSpaces& spaces;
  SymbolizerOptions options;
  UnwindMemory memory;
  LibunwindEngine libunwind;
  std::vector<uint64_t> other;  // the second engine's chain
};

Unwinder::Unwinder(const AddressSpaces& spaces, SymbolizerOptions options)
    : state_(std::make_unique<State>(spaces, std::move(options))) {}
Unwinder::~Unwinder() = default;

UnwindEnd Unwinder::unwind(const UnwindInput& input, int32_t pid, size_t max_frames,
                           std::vector<uint64_t>& chain) {
  if (input.arch == UnwindArch::unknown) return UnwindEnd::bad_input;
  const SampleRegisters registers(input);
  const auto stack_pointer = registers.get(unwind_traits(input.arch).stack_pointer);
  const auto ip = registers.get(unwind_traits(input.arch).instruction_pointer);
  if (!stack_pointer || !ip) return UnwindEnd::bad_input;
  UnwindMemory& memory = state_->memory;
  memory.set(input, pid, *stack_pointer);
  if (input.arch != UnwindArch::x86_64 || !LibunwindEngine::available())
    return unwind_with_libdw(input.arch, memory, registers, max_frames, chain);

  const size_t before = chain.size();
  const UnwindEnd end =
      state_->libunwind.unwind(memory, registers, state_->spaces.version(pid), max_frames, chain);
  if (end != UnwindEnd::no_table) return end;
  // A file whose tables are not sorted, or are in .debug_frame: libdw may get further.
  std::vector<uint64_t>& other = state_->other;
  other.clear();
  memory.set(input, pid, *stack_pointer);
  const UnwindEnd other_end = unwind_with_libdw(input.arch, memory, registers, max_frames, other);
  if (other.size() <= chain.size() - before) return end;
  chain.resize(before);
  chain.insert(chain.end(), other.begin(), other.end());
  return other_end;
}

}  // namespace perf_latency
