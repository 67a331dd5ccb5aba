// SPDX-License-Identifier: GPL-2.0-only
// Evaluates the DWARF expressions of call frame information: a stack machine with bounded steps.
// Operations as in DWARF 5, section 2.5.1; those that call frame rules have no use for end it.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "symbolize/unwind_memory.h"

namespace perf_latency {

struct ExpressionContext {
  UnwindMemory& memory;
  size_t word_bytes;
  std::function<std::optional<uint64_t>(unsigned)> dwarf_register;
  std::optional<uint64_t> cfa;  // the canonical frame address, for rules that start from it
};

struct ExpressionValue {
  uint64_t value = 0;
  bool is_value = false;  // DW_OP_stack_value: the value itself, not where it is saved
};

// nullopt: not computable.
std::optional<ExpressionValue> evaluate(std::span<const Dwarf_Op> operations,
                                        const ExpressionContext& context);

}  // namespace perf_latency
