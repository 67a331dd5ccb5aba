// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/kallsyms_parser.h"

#include <array>
#include <cstring>
#include <unordered_map>

namespace perf_latency {
namespace {

constexpr size_t kUsualLineBytes = 40;
constexpr size_t kMaxModules = 0xffff;
// Below this there is no kernel on any architecture, but for s390, whose symbols are not absolute:
// the offsets of per-cpu variables (x86 before 6.15) and constants stand here.
constexpr uint64_t kLowestAbsolute = 0x40000000;

constexpr uint8_t kNoDigit = 0xff;

constexpr std::array<uint8_t, 256> make_hex_table() {
  std::array<uint8_t, 256> table{};
  table.fill(kNoDigit);
  for (int i = 0; i < 10; ++i) table['0' + i] = static_cast<uint8_t>(i);
  for (int i = 0; i < 6; ++i) table['a' + i] = table['A' + i] = static_cast<uint8_t>(10 + i);
  return table;
}
constexpr std::array<uint8_t, 256> kHex = make_hex_table();

enum class Kind : uint8_t { skip, code, data };

// Types as nm prints them: text, weak; data, bss, read-only, small, weak objects.
constexpr std::array<Kind, 256> make_kind_table() {
  std::array<Kind, 256> table{};
  for (const char c : {'T', 't', 'W', 'w', 'i'}) table[static_cast<uint8_t>(c)] = Kind::code;
  for (const char c : {'A', 'a', 'B', 'b', 'D', 'd', 'G', 'g', 'R', 'r', 'S', 's', 'V', 'v', 'u'})
    table[static_cast<uint8_t>(c)] = Kind::data;
  return table;
}
constexpr std::array<Kind, 256> kKinds = make_kind_table();

class Parser {
 public:
  explicit Parser(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {
    out_.code.reserve(text.size() / kUsualLineBytes);
  }

  KallsymsText run() {
    while (at_ != end_) line();
    return std::move(out_);
  }

 private:
  void line() {
    if (!symbol()) skip_line();
  }

  void skip_line() {
    const void* newline = std::memchr(at_, '\n', static_cast<size_t>(end_ - at_));
    at_ = newline == nullptr ? end_ : static_cast<const char*>(newline) + 1;
  }

  bool symbol() {
    const char* p = at_;
    uint64_t address = 0;
    const char* const digits_end = end_ - p > 16 ? p + 16 : end_;
    while (p != digits_end && kHex[static_cast<uint8_t>(*p)] != kNoDigit)
      address = address << 4 | kHex[static_cast<uint8_t>(*p++)];
    if (p == at_ || end_ - p < 4 || p[0] != ' ' || p[2] != ' ') return false;
    const char type = p[1];
    p += 3;
    const char* const name = p;
    while (p != end_ && static_cast<unsigned char>(*p) > ' ') ++p;
    const size_t name_size = static_cast<size_t>(p - name);
    at_ = p;
    if (name_size == 0 || name_size > 0xffff) return false;
    ++out_.lines;
    if (address != 0) out_.all_zero = false;
    const uint16_t module = rest_of_line();
    add({address, name, static_cast<uint16_t>(name_size), module}, type);
    return true;
  }

  // The "[module]" after the name, and the end of the line.
  uint16_t rest_of_line() {
    if (at_ == end_ || *at_ == '\n') {
      if (at_ != end_) ++at_;
      return 0;
    }
    const char* const from = at_;
    skip_line();
    std::string_view rest(from, static_cast<size_t>(at_ - from));
    const size_t open = rest.find('[');
    const size_t close = rest.find(']');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) return 0;
    return module_index(rest.substr(open + 1, close - open - 1));
  }

  uint16_t module_index(std::string_view name) {
    if (name == out_.modules[last_module_]) return last_module_;
    const auto found = module_ids_.find(name);
    if (found != module_ids_.end()) return last_module_ = found->second;
    if (out_.modules.size() > kMaxModules) return 0;
    last_module_ = static_cast<uint16_t>(out_.modules.size());
    module_ids_.emplace(name, last_module_);
    out_.modules.push_back(name);
    return last_module_;
  }

  void add(const SymbolEntry& entry, char type) {
    const Kind kind = kKinds[static_cast<uint8_t>(type)];
    if (kind == Kind::skip || entry.address == 0) return;
    if (entry.name_at[0] == '$' || entry.name().starts_with(".L")) return;
    if ((type == 'A' || type == 'a') && entry.address < kLowestAbsolute) return;
    (kind == Kind::code ? out_.code : out_.data).add(entry);
  }

  const char* at_;
  const char* end_;
  KallsymsText out_;
  std::unordered_map<std::string_view, uint16_t> module_ids_;
  uint16_t last_module_ = 0;
};

}  // namespace

KallsymsText parse_kallsyms(std::string_view text) {
  KallsymsText out = Parser(text).run();
  out.code.finish();
  out.data.finish();
  return out;
}

}  // namespace perf_latency
