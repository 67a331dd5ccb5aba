// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/unwind_expression.h"

#include <dwarf.h>

#include <vector>

namespace perf_latency {
namespace {

constexpr size_t kMaxSteps = 4096;
constexpr size_t kMaxStack = 256;

class Machine {
 public:
  Machine(std::span<const Dwarf_Op> operations, const ExpressionContext& context)
      : operations_(operations), context_(context) {}

  std::optional<ExpressionValue> run() {
    size_t at = 0;
    for (size_t steps = 0; at < operations_.size(); ++steps) {
      if (steps == kMaxSteps) return std::nullopt;
      const Dwarf_Op& op = operations_[at];
      if (op.atom == DW_OP_skip || op.atom == DW_OP_bra) {
        const bool taken = op.atom == DW_OP_skip || pop() != 0;
        const auto target = taken ? find_offset(op) : std::optional(at + 1);
        if (!target || !ok_) return std::nullopt;
        at = *target;
        continue;
      }
      execute(op);
      if (!ok_ || stack_.size() > kMaxStack) return std::nullopt;
      ++at;
    }
    if (stack_.empty()) return std::nullopt;
    return ExpressionValue{mask(stack_.back()), is_value_};
  }

 private:
  // Branches go by the offset of an operation in the expression: op.number is relative to the next.
  std::optional<size_t> find_offset(const Dwarf_Op& branch) const {
    constexpr uint64_t kBranchBytes = 3;
    const uint64_t target = branch.offset + kBranchBytes + branch.number;
    for (size_t i = 0; i < operations_.size(); ++i)
      if (operations_[i].offset == target) return i;
    return std::nullopt;
  }

  uint64_t mask(uint64_t value) const {
    return context_.word_bytes == 4 ? value & 0xffffffffu : value;
  }
  uint64_t pop() {
    if (stack_.empty()) {
      ok_ = false;
      return 0;
    }
    const uint64_t value = stack_.back();
    stack_.pop_back();
    return value;
  }
  void push(std::optional<uint64_t> value) {
    ok_ = ok_ && value.has_value();
    stack_.push_back(value.value_or(0));
  }
  void push_register(unsigned number, uint64_t offset) {
    const auto value = context_.dwarf_register(number);
    push(value ? std::optional(*value + offset) : std::nullopt);
  }
  void pick(size_t depth) {
    ok_ = ok_ && depth < stack_.size();
    if (ok_) stack_.push_back(stack_[stack_.size() - 1 - depth]);
  }
  void load(size_t size) { push(context_.memory.read(mask(pop()), size)); }

  void execute(const Dwarf_Op& op);
  void execute_arithmetic(const Dwarf_Op& op);

  std::span<const Dwarf_Op> operations_;
  const ExpressionContext& context_;
  std::vector<uint64_t> stack_;
  bool ok_ = true;
  bool is_value_ = false;
};

void Machine::execute(const Dwarf_Op& op) {
  if (op.atom >= DW_OP_lit0 && op.atom <= DW_OP_lit31) return push(op.atom - DW_OP_lit0);
  if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31)
    return push_register(op.atom - DW_OP_breg0, op.number);
  // A register as the place of a value: what it holds is the value.
  if (op.atom >= DW_OP_reg0 && op.atom <= DW_OP_reg31) {
    is_value_ = true;
    return push_register(op.atom - DW_OP_reg0, 0);
  }
  switch (op.atom) {
    case DW_OP_regx:
      is_value_ = true;
      return push_register(static_cast<unsigned>(op.number), 0);
    case DW_OP_bregx:
      return push_register(static_cast<unsigned>(op.number), op.number2);
    case DW_OP_call_frame_cfa:
      return push(context_.cfa);
    case DW_OP_stack_value:
      is_value_ = true;
      return;
    case DW_OP_addr:
    case DW_OP_const1u:
    case DW_OP_const1s:
    case DW_OP_const2u:
    case DW_OP_const2s:
    case DW_OP_const4u:
    case DW_OP_const4s:
    case DW_OP_const8u:
    case DW_OP_const8s:
    case DW_OP_constu:
    case DW_OP_consts:
      return push(op.number);  // libdw has extended the sign
    case DW_OP_dup:
      return pick(0);
    case DW_OP_over:
      return pick(1);
    case DW_OP_pick:
      return pick(op.number);
    case DW_OP_drop:
      pop();
      return;
    case DW_OP_deref:
      return load(context_.word_bytes);
    case DW_OP_deref_size:
      ok_ = op.number == 1 || op.number == 2 || op.number == 4 || op.number == 8;
      if (ok_) load(op.number);
      return;
    case DW_OP_nop:
      return;
    default:
      execute_arithmetic(op);
  }
}

void Machine::execute_arithmetic(const Dwarf_Op& op) {
  const uint64_t b = pop();
  const auto sb = static_cast<int64_t>(b);
  switch (op.atom) {
    case DW_OP_plus_uconst:
      return push(b + op.number);
    case DW_OP_neg:
      return push(0 - b);
    case DW_OP_not:
      return push(~b);
    case DW_OP_abs:
      return push(sb < 0 ? 0 - b : b);
    default:
      break;
  }
  const uint64_t a = pop();
  const auto sa = static_cast<int64_t>(a);
  switch (op.atom) {
    case DW_OP_plus:
      return push(a + b);
    case DW_OP_minus:
      return push(a - b);
    case DW_OP_mul:
      return push(a * b);
    case DW_OP_and:
      return push(a & b);
    case DW_OP_or:
      return push(a | b);
    case DW_OP_xor:
      return push(a ^ b);
    case DW_OP_shl:
      return push(b < 64 ? a << b : 0);
    case DW_OP_shr:
      return push(b < 64 ? a >> b : 0);
    case DW_OP_shra:
      return push(static_cast<uint64_t>(sa >> (b < 64 ? b : 63)));
    case DW_OP_eq:
      return push(sa == sb);
    case DW_OP_ne:
      return push(sa != sb);
    case DW_OP_lt:
      return push(sa < sb);
    case DW_OP_le:
      return push(sa <= sb);
    case DW_OP_gt:
      return push(sa > sb);
    case DW_OP_ge:
      return push(sa >= sb);
    case DW_OP_swap:
      push(b);
      return push(a);
    default:
      ok_ = false;
  }
}

}  // namespace

std::optional<ExpressionValue> evaluate(std::span<const Dwarf_Op> operations,
                                        const ExpressionContext& context) {
  return Machine(operations, context).run();
}

}  // namespace perf_latency
