// SPDX-License-Identifier: GPL-2.0-only
#include "tracepoint/task_state.h"

#include <bit>
#include <charconv>
#include <optional>
#include <string>

namespace perf_latency {
namespace {

// The constant expressions that the kernel's macros leave in a print format:
// numbers, | + - << & and parentheses, with C's precedence.
class ConstantExpression {
 public:
  explicit ConstantExpression(std::string_view text) : text_(text) {}

  std::optional<uint64_t> evaluate() {
    const uint64_t value = bit_or(0);
    return ok_ ? std::optional(value) : std::nullopt;
  }
  size_t consumed() const { return at_; }

 private:
  static constexpr int kMaxDepth = 32;

  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t'))
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(std::string_view token) {
    peek();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  uint64_t bit_or(int depth) {
    uint64_t value = bit_and(depth);
    while (ok_ && peek() == '|' && accept("|")) value |= bit_and(depth);
    return value;
  }
  uint64_t bit_and(int depth) {
    uint64_t value = shift(depth);
    while (ok_ && peek() == '&' && accept("&")) value &= shift(depth);
    return value;
  }
  uint64_t shift(int depth) {
    uint64_t value = sum(depth);
    while (ok_ && accept("<<")) {
      const uint64_t by = sum(depth);
      value = by < 64 ? value << by : 0;
    }
    return value;
  }
  uint64_t sum(int depth) {
    uint64_t value = term(depth);
    for (;;) {
      if (ok_ && peek() == '+' && accept("+"))
        value += term(depth);
      else if (ok_ && peek() == '-' && accept("-"))
        value -= term(depth);
      else
        return value;
    }
  }
  uint64_t term(int depth) {
    if (depth > kMaxDepth) return fail();
    if (accept("(")) {
      const uint64_t value = bit_or(depth + 1);
      return accept(")") ? value : fail();
    }
    return number();
  }
  uint64_t number() {
    peek();
    const int base = text_.substr(at_).starts_with("0x") ? 16 : 10;
    if (base == 16) at_ += 2;
    uint64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value, base);
    if (error != std::errc()) return fail();
    at_ += static_cast<size_t>(end - begin);
    while (at_ < text_.size() && (text_[at_] == 'U' || text_[at_] == 'L')) ++at_;
    return value;
  }
  uint64_t fail() {
    ok_ = false;
    return 0;
  }

  std::string_view text_;
  size_t at_ = 0;
  bool ok_ = true;
};

constexpr std::string_view kField = "REC->prev_state";

// The `{ 0x01, "S" }, { 0x02, "D" } …` list behind __print_flags.
std::vector<TaskStateTable::Bit> parse_bits(std::string_view list) {
  std::vector<TaskStateTable::Bit> bits;
  for (size_t at = list.find('{'); at != std::string_view::npos; at = list.find('{', at)) {
    ++at;
    ConstantExpression expression(list.substr(at));
    const auto value = expression.evaluate();
    at += expression.consumed();
    const size_t quote = list.find('"', at);
    const size_t close = list.find('}', at);
    if (!value || quote == std::string_view::npos || quote > close || quote + 1 >= list.size())
      break;
    bits.push_back({*value, list[quote + 1]});
  }
  return bits;
}

// The expression of `REC->prev_state & EXPRESSION` that starts at or behind `from`.
struct Masked {
  uint64_t value;
  size_t end;
};
std::optional<Masked> parse_masked(std::string_view text, size_t from) {
  const size_t field = text.find(kField, from);
  if (field == std::string_view::npos) return std::nullopt;
  size_t at = field + kField.size();
  while (at < text.size() && text[at] == ' ') ++at;
  if (at >= text.size() || text[at] != '&') return std::nullopt;
  ++at;
  ConstantExpression expression(text.substr(at));
  const auto value = expression.evaluate();
  if (!value) return std::nullopt;
  return Masked{*value, at + expression.consumed()};
}

}  // namespace

Result<TaskStateTable> TaskStateTable::parse(std::string_view print_format) {
  const size_t flags = print_format.find("__print_flags");
  if (flags == std::string_view::npos)
    return make_error("the format of sched:sched_switch names no task states");
  const size_t list = print_format.find('{', flags);
  const size_t list_end = print_format.find(')', list);
  TaskStateTable table;
  if (list != std::string_view::npos) {
    const size_t length = list_end == std::string_view::npos ? list_end : list_end - list;
    table.bits_ = parse_bits(print_format.substr(list, length));
  }
  if (table.bits_.empty())
    return make_error("the task states of sched:sched_switch cannot be read");

  uint64_t named = 0;
  for (const Bit& bit : table.bits_) named |= bit.value;
  // `prev_state & MASK` stands before the list and again inside __print_flags; the "+" test behind it.
  const auto mask = parse_masked(print_format, 0);
  const auto plus_text = print_format.find("\"+\"");
  if (plus_text != std::string_view::npos && list_end != std::string_view::npos)
    if (const auto plus = parse_masked(print_format, list_end)) table.preempted_bit_ = plus->value;
  table.mask_ = mask && mask->end < list ? mask->value : named;
  table.mask_ &= ~table.preempted_bit_;
  if (table.mask_ == 0) table.mask_ = named;
  for (size_t state = 0; state < table.known_.size(); ++state)
    table.known_[state] = table.work_out(state);
  return table;
}

// A preempted task is runnable whatever else is set. Before 4.14 several bits can be set: killable
// sleep is D|K, a kernel thread's idle sleep D|N; one letter tells what the wait is.
TaskState TaskStateTable::work_out(uint64_t prev_state) const {
  TaskState state;
  if (preempted_bit_ != 0 && (prev_state & preempted_bit_) != 0) {
    state.preempted = true;
    return state;
  }
  // A bit that the format does not name is no sign of being runnable.
  const uint64_t bits =
      preempted_bit_ != 0 ? prev_state & (mask_ | ~(preempted_bit_ * 2 - 1)) : prev_state;
  if (bits == 0) return state;
  state.letter = '?';
  bool idle = false;
  for (const Bit& bit : bits_) {
    if ((bits & bit.value) == 0) continue;
    if (state.letter == '?') state.letter = bit.letter;
    idle = idle || bit.letter == 'N';
  }
  if (state.letter == 'D' && idle) state.letter = 'I';
  return state;
}

}  // namespace perf_latency
