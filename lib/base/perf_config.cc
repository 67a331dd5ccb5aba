// SPDX-License-Identifier: GPL-2.0-only
#include "base/perf_config.h"

#include <algorithm>
#include <charconv>

namespace perf_latency {
namespace {

constexpr size_t kMaxName = 256;
constexpr size_t kMaxValue = 1023;
constexpr int kEnd = -1;

bool is_blank(int c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f' || c == '\n';
}
bool is_letter(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_name_char(int c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_'; }
char lower(int c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); }

class ConfigParser {
 public:
  explicit ConfigParser(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
  }

  Result<std::vector<ConfigEntry>> parse() {
    for (int c = next(); c != kEnd; c = next()) {
      if (is_blank(c)) continue;
      const size_t line = line_;
      bool good = false;
      if (c == '#' || c == ';')
        good = skip_comment();
      else if (c == '[')
        good = parse_section();
      else if (is_letter(c))
        good = parse_entry(c);
      if (!good) return make_error("bad config file line " + std::to_string(line));
    }
    return std::move(entries_);
  }

 private:
  // "\r\n" is one line end. Lines are counted when their end has been taken.
  int next() {
    if (ended_line_) ++line_, ended_line_ = false;
    if (at_ == text_.size()) return kEnd;
    if (text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') ++at_;
    ended_line_ = text_[at_] == '\n';
    return static_cast<unsigned char>(text_[at_++]);
  }
  static bool ends_line(int c) { return c == '\n' || c == kEnd; }

  bool skip_comment() {
    while (!ends_line(next())) {
    }
    return true;
  }

  bool parse_section() {
    section_.clear();
    for (;;) {
      const int c = next();
      if (c == ']') break;
      if (is_blank(c) && c != '\n') {
        if (!parse_subsection(c)) return false;
        break;
      }
      if (!is_name_char(c) && c != '.') return false;
      section_ += lower(c);
      if (section_.size() > kMaxName / 2) return false;
    }
    return !section_.empty();
  }

  // [base "extension"]
  bool parse_subsection(int c) {
    while (is_blank(c)) {
      if (c == '\n') return false;
      c = next();
    }
    if (c != '"') return false;
    section_ += '.';
    for (c = next(); c != '"'; c = next()) {
      if (c == '\\') c = next();
      if (ends_line(c)) return false;
      section_ += static_cast<char>(c);
      if (section_.size() > kMaxName / 2) return false;
    }
    return next() == ']';
  }

  bool parse_entry(int c) {
    ConfigEntry entry;
    entry.line = line_;
    entry.key = section_.empty() ? "" : section_ + '.';
    for (; is_name_char(c); c = next()) {
      entry.key += lower(c);
      if (entry.key.size() >= kMaxName) return false;
    }
    while (c == ' ' || c == '\t') c = next();
    if (!ends_line(c)) {
      if (c != '=') return false;
      entry.value = parse_value();
      if (!entry.value) return false;
    }
    entries_.push_back(std::move(entry));
    return true;
  }

  std::optional<std::string> parse_value() {
    std::string value;
    bool quoted = false;
    bool blank = false;
    for (;;) {
      int c = next();
      if (value.size() >= kMaxValue) return std::nullopt;
      if (ends_line(c)) return quoted ? std::nullopt : std::optional(std::move(value));
      if (is_blank(c) && !quoted) {
        blank = true;
        continue;
      }
      if (!quoted && (c == ';' || c == '#')) {
        skip_comment();
        return value;
      }
      if (blank && !value.empty()) value += ' ';  // blanks between words are one
      blank = false;
      if (c == '"') {
        quoted = !quoted;
        continue;
      }
      if (c == '\\') {
        c = next();
        if (c == '\n') continue;
        if (c == 't')
          c = '\t';
        else if (c == 'b')
          c = '\b';
        else if (c == 'n')
          c = '\n';
        else if (c != '\\' && c != '"')
          return std::nullopt;
      }
      value += static_cast<char>(c);
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t line_ = 1;
  bool ended_line_ = false;
  std::string section_;
  std::vector<ConfigEntry> entries_;
};

}  // namespace

Result<std::vector<ConfigEntry>> parse_perf_config(std::string_view text) {
  return ConfigParser(text).parse();
}

std::optional<bool> parse_config_bool(const std::optional<std::string>& value) {
  if (!value) return true;
  std::string word;
  for (const char c : *value) word += lower(static_cast<unsigned char>(c));
  if (word == "true" || word == "yes" || word == "on") return true;
  if (word.empty() || word == "false" || word == "no" || word == "off") return false;
  long number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number != 0;
}

}  // namespace perf_latency
