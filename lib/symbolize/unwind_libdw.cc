// SPDX-License-Identifier: GPL-2.0-only
#include <elfutils/libdw.h>

#include <algorithm>
#include <cstdlib>

#include "symbolize/unwind_engines.h"
#include "symbolize/unwind_expression.h"

namespace perf_latency {
namespace {

constexpr unsigned kNotRecorded = 0xff;

// How many DWARF registers a caller's state has, and perf's number for each.
// x86-64: System V ABI figure 3.36; i386: its ABI's table 2.14; arm64: AADWARF64 section 4.1.
constexpr std::array<uint8_t, 17> kX8664 = {0,  3,  2,  1,  4,  5,  6,  7, 16,
                                            17, 18, 19, 20, 21, 22, 23, 8};
constexpr std::array<uint8_t, 9> kX8632 = {0, 2, 3, 1, 7, 6, 4, 5, 8};
constexpr std::array<uint8_t, 32> kArm64 = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                            11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                            22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

struct DwarfTraits {
  std::span<const uint8_t> perf_numbers;
  unsigned stack_pointer;  // DWARF number
  unsigned frame_pointer;  // DWARF number
  unsigned link_register;  // DWARF number; kNotRecorded where calls push the return address
};

DwarfTraits dwarf_traits(UnwindArch arch) {
  switch (arch) {
    case UnwindArch::x86_32:
      return {kX8632, 4, 5, kNotRecorded};
    case UnwindArch::arm64:
      return {kArm64, 31, 29, 30};
    default:
      return {kX8664, 7, 6, kNotRecorded};
  }
}

// arm64's pointer authentication puts a signature into the bits of a saved return address above
// those that user addresses have: 48 as a rule, 52, or less on small machines
// (CONFIG_ARM64_VA_BITS).
constexpr std::array<unsigned, 6> kArm64AddressBits = {52, 48, 47, 42, 39, 36};

struct FrameDeleter {
  void operator()(Dwarf_Frame* frame) const { std::free(frame); }
};
using FramePointer = std::unique_ptr<Dwarf_Frame, FrameDeleter>;

class Walk {
 public:
  Walk(UnwindArch arch, UnwindMemory& memory, const SampleRegisters& registers)
      : arch_(arch),
        traits_(dwarf_traits(arch)),
        word_bytes_(unwind_traits(arch).word_bytes),
        memory_(memory) {
    for (size_t i = 0; i < traits_.perf_numbers.size(); ++i)
      state_[i] = registers.get(traits_.perf_numbers[i]);
    ip_ = registers.get(unwind_traits(arch).instruction_pointer);
  }

  UnwindEnd run(size_t max_frames, std::vector<uint64_t>& chain) {
    if (!ip_) return UnwindEnd::bad_input;
    for (size_t frame = 0; frame < max_frames; ++frame) {
      if (*ip_ == 0) return UnwindEnd::outermost;
      chain.push_back(*ip_);
      if (const auto end = step()) return *end;
    }
    return UnwindEnd::max_frames;
  }

 private:
  using Registers = std::array<std::optional<uint64_t>, 64>;

  FramePointer frame_here(UnwindMemory::Place place, uint64_t address) const;
  std::optional<UnwindEnd> step();
  std::optional<UnwindEnd> step_without_table();
  std::optional<uint64_t> caller_register(Dwarf_Frame* frame, unsigned number,
                                          const ExpressionContext& context) const;
  std::optional<UnwindEnd> go_to(std::optional<uint64_t> return_address, bool is_signal);
  uint64_t without_signature(uint64_t address);

  UnwindArch arch_;
  DwarfTraits traits_;
  size_t word_bytes_;
  UnwindMemory& memory_;
  Registers state_;  // by DWARF number
  std::optional<uint64_t> ip_;
  bool exact_ = true;  // ip_ is where the program was, not behind a call
  bool first_ = true;
};

FramePointer Walk::frame_here(UnwindMemory::Place place, uint64_t address) const {
  Dwarf_Frame* frame = nullptr;
  for (Dwarf_CFI* cfi : {place.image->eh_frame(), place.image->debug_frame()})
    if (cfi != nullptr && dwarf_cfi_addrframe(cfi, address - place.bias, &frame) == 0) break;
  return FramePointer(frame);
}

std::optional<uint64_t> Walk::caller_register(Dwarf_Frame* frame, unsigned number,
                                              const ExpressionContext& context) const {
  Dwarf_Op own[3];
  Dwarf_Op* operations = nullptr;
  size_t count = 0;
  if (dwarf_frame_register(frame, static_cast<int>(number), own, &operations, &count) != 0)
    return std::nullopt;
  if (count == 0) {
    const bool same = operations == nullptr;
    return same && number < state_.size() ? state_[number] : std::nullopt;
  }
  const auto place = evaluate({operations, count}, context);
  if (!place) return std::nullopt;
  return place->is_value ? place->value : memory_.read(place->value, word_bytes_);
}

std::optional<UnwindEnd> Walk::step() {
  const uint64_t look_up = exact_ ? *ip_ : *ip_ - 1;
  const auto place = memory_.place(look_up);
  if (!place) return UnwindEnd::no_map;
  memory_.enter(look_up);
  if (memory_.exhausted()) return UnwindEnd::bad_input;
  const FramePointer frame = place->image == nullptr ? nullptr : frame_here(*place, look_up);
  if (!frame) return step_without_table();

  // An undefined return address marks the outermost frame.
  bool is_signal = false;
  const int return_column = dwarf_frame_info(frame.get(), nullptr, nullptr, &is_signal);
  Dwarf_Op own[3];
  Dwarf_Op* operations = nullptr;
  size_t count = 0;
  if (return_column < 0 ||
      dwarf_frame_register(frame.get(), return_column, own, &operations, &count) != 0)
    return UnwindEnd::no_table;
  if (count == 0 && operations == own) return UnwindEnd::outermost;

  ExpressionContext context{
      memory_, word_bytes_,
      [this](unsigned number) { return number < state_.size() ? state_[number] : std::nullopt; },
      std::nullopt};
  const auto missing = [this] {
    return memory_.ran_off_the_stack() ? UnwindEnd::stack_too_short : UnwindEnd::no_table;
  };
  if (dwarf_frame_cfa(frame.get(), &operations, &count) != 0 || count == 0) return missing();
  const auto cfa = evaluate({operations, count}, context);
  if (!cfa) return missing();
  context.cfa = cfa->value;

  Registers caller;
  for (unsigned i = 0; i < traits_.perf_numbers.size(); ++i)
    caller[i] = caller_register(frame.get(), i, context);
  // Where the table has no rule for it, the caller's stack pointer is the frame's address.
  std::optional<uint64_t>& caller_stack = caller[traits_.stack_pointer];
  if (!caller_stack || caller_stack == state_[traits_.stack_pointer]) caller_stack = context.cfa;
  const auto return_address =
      caller_register(frame.get(), static_cast<unsigned>(return_column), context);
  if (!return_address) return missing();
  const bool stays = return_address == ip_ && context.cfa == state_[traits_.stack_pointer];
  if (stays && !first_) return UnwindEnd::no_table;
  state_ = caller;
  return go_to(return_address, is_signal);
}

// Code without a table (assembler, .init and .fini, stubs). A leaf's return address is where the
// call left it; else the frame pointer, if it points into the stack, leads to a saved pair of frame
// pointer and return address.
std::optional<UnwindEnd> Walk::step_without_table() {
  const bool has_link = traits_.link_register != kNotRecorded;
  if (first_ && has_link) {
    const auto link = state_[traits_.link_register];
    if (link && *link != 0 && *link != *ip_) return go_to(link, false);
  }
  const auto frame = state_[traits_.frame_pointer];
  const auto stack = state_[traits_.stack_pointer];
  if (!frame || !stack || *frame < *stack) return UnwindEnd::no_table;
  const auto caller_frame = memory_.read(*frame, word_bytes_);
  const auto return_address = memory_.read(*frame + word_bytes_, word_bytes_);
  if (!caller_frame || !return_address)
    return memory_.ran_off_the_stack() ? UnwindEnd::stack_too_short : UnwindEnd::no_table;
  state_.fill(std::nullopt);
  state_[traits_.frame_pointer] = caller_frame;
  state_[traits_.stack_pointer] = *frame + 2 * word_bytes_;
  return go_to(return_address, false);
}

// Which bits are signature is told by what then lies in a map (or is the 0 at the end of a chain).
uint64_t Walk::without_signature(uint64_t address) {
  if (arch_ != UnwindArch::arm64 || memory_.place(address)) return address;
  for (const unsigned bits : kArm64AddressBits) {
    const uint64_t plain = address & ((uint64_t{1} << bits) - 1);
    if (plain == 0 || memory_.place(plain)) return plain;
  }
  return address;
}

std::optional<UnwindEnd> Walk::go_to(std::optional<uint64_t> return_address, bool is_signal) {
  ip_ = without_signature(*return_address);
  exact_ = is_signal;
  first_ = false;
  return std::nullopt;
}

}  // namespace

UnwindEnd unwind_with_libdw(UnwindArch arch, UnwindMemory& memory, const SampleRegisters& registers,
                            size_t max_frames, std::vector<uint64_t>& chain) {
  return Walk(arch, memory, registers).run(max_frames, chain);
}

}  // namespace perf_latency
