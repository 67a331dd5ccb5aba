// SPDX-License-Identifier: GPL-2.0-only
#include "causes/cause_file.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "causes/pattern_map.h"

namespace perf_latency {
namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";

constexpr std::pair<std::string_view, PatternPlace> kPlacePrefixes[] = {
    {"self:", PatternPlace::self}, {"lock:", PatternPlace::lock}};
constexpr std::string_view kSyscallPrefix = "syscall:";

std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Takes the first word off `text`; empty at the end.
std::string_view next_word(std::string_view& text) {
  text = trim(text);
  const size_t end = std::min(text.find_first_of(kBlanks), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Ids go into scripts, --fail-if expressions and JSON.
bool is_id(std::string_view text) {
  const auto in_id = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !text.empty() && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(), in_id);
}

bool is_function_name(std::string_view text) {
  const auto in_name = [](char c) { return is_letter_or_digit(c) || c == '_'; };
  return !text.empty() && std::all_of(text.begin(), text.end(), in_name);
}

// What is printed for people: no control characters, so that a table stays a table.
bool is_printable(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

// A name in a message: short, and without what would disturb a terminal.
std::string quoted(std::string_view text) {
  constexpr size_t kMost = 40;
  std::string out = "`";
  for (const char c : text.substr(0, kMost)) out += is_printable({&c, 1}) ? c : '?';
  return out + (text.size() > kMost ? "...`" : "`");
}

class Parser {
 public:
  Result<CauseFile> parse(std::string_view text);

 private:
  Error error(std::string what) const {
    return make_error("line " + std::to_string(line_) + ": " + std::move(what));
  }
  Result<void> parse_line(std::string_view line);
  Result<void> parse_section(std::string_view line);
  Result<void> parse_cause_key(std::string_view key, std::string_view value);
  Result<void> parse_match(std::string_view key, std::string_view value);
  Result<void> parse_group_key(std::string_view label, std::string_view value);
  Result<Pattern> parse_pattern(std::string_view word, bool with_place) const;

  enum class In { nothing, cause, group };
  In in_ = In::nothing;
  uint32_t line_ = 0;
  CauseFile file_;
};

Result<CauseFile> Parser::parse(std::string_view text) {
  while (!text.empty()) {
    ++line_;
    const size_t end = std::min(text.find('\n'), text.size());
    if (const auto done = parse_line(trim(text.substr(0, end))); !done) return done.error();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::move(file_);
}

Result<void> Parser::parse_line(std::string_view line) {
  if (line.empty() || line.front() == '#' || line.front() == ';') return {};
  if (line.front() == '[') return parse_section(line);
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos) return error("expected `key = value`, a [section] or a #");
  const std::string_view key = trim(line.substr(0, equals));
  const std::string_view value = trim(line.substr(equals + 1));
  if (key.empty()) return error("there is no key before the `=`");
  if (value.empty()) return error("there is no value after " + quoted(key) + " =");
  if (!is_printable(key) || !is_printable(value)) return error("control characters in the line");
  switch (in_) {
    case In::cause:
      return parse_cause_key(key, value);
    case In::group:
      return parse_group_key(key, value);
    case In::nothing:
      break;
  }
  return error(quoted(key) + " stands before the first [section]");
}

Result<void> Parser::parse_section(std::string_view line) {
  if (line.back() != ']') return error("a section ends with `]`");
  std::string_view words = line.substr(1, line.size() - 2);
  const std::string_view kind = next_word(words);
  const std::string_view name = next_word(words);
  if (name.empty() || !trim(words).empty() || (kind != "cause" && kind != "functions"))
    return error("a section is [cause ID] or [functions GROUP]");
  if (!is_id(name)) return error(quoted(name) + " is no name of lower-case letters, digits and -");
  if (kind == "cause") {
    in_ = In::cause;
    file_.causes.push_back({std::string(name), line_, {}, {}, {}, {}});
  } else {
    in_ = In::group;
    file_.groups.push_back({std::string(name), line_, {}});
  }
  return {};
}

Result<void> Parser::parse_cause_key(std::string_view key, std::string_view value) {
  CauseSection& section = file_.causes.back();
  std::string_view rest = key;
  if (next_word(rest) == "match") return parse_match(trim(rest), value);
  if (key == "class") {
    if (!is_cause_class(value)) return error("there is no class " + quoted(value));
    section.cause_class = value;
  } else if (key == "sentence") {
    section.sentence = value;
  } else if (key == "lock") {
    section.lock_name = value;
  } else {
    return error("there is no key " + quoted(key) + " in a cause: class, sentence, lock, match");
  }
  return {};
}

Result<void> Parser::parse_match(std::string_view key, std::string_view value) {
  RankedPattern ranked;
  if (!key.empty()) {
    const auto [end, failed] =
        std::from_chars(key.data(), key.data() + key.size(), ranked.rank, 10);
    if (failed != std::errc() || end != key.data() + key.size() || ranked.rank > kMaxRank)
      return error(quoted(key) + " is no rank from 0 to " + std::to_string(kMaxRank));
  }
  for (std::string_view word = next_word(value); !word.empty(); word = next_word(value)) {
    auto pattern = parse_pattern(word, true);
    if (!pattern) return pattern.error();
    ranked.pattern = std::move(*pattern);
    file_.causes.back().patterns.push_back(ranked);
  }
  return {};
}

Result<void> Parser::parse_group_key(std::string_view label, std::string_view value) {
  for (std::string_view word = next_word(value); !word.empty(); word = next_word(value)) {
    auto pattern = parse_pattern(word, false);
    if (!pattern) return pattern.error();
    file_.groups.back().patterns.push_back({std::string(label), std::move(*pattern)});
  }
  return {};
}

Result<Pattern> Parser::parse_pattern(std::string_view word, bool with_place) const {
  Pattern pattern;
  pattern.line = line_;
  std::string_view name = word;
  for (const auto& [prefix, place] : kPlacePrefixes) {
    if (!with_place || !name.starts_with(prefix)) continue;
    pattern.place = place;
    name.remove_prefix(prefix.size());
    break;
  }
  pattern.syscall = with_place && name.starts_with(kSyscallPrefix);
  if (pattern.syscall) name.remove_prefix(kSyscallPrefix.size());
  pattern.glob = name.ends_with('*');
  if (pattern.glob) name.remove_suffix(1);
  if (!is_function_name(name)) return error(quoted(word) + " is no pattern of a function name");
  if (pattern.glob && name.size() > kMaxPrefixLength)
    return error("there are more than " + std::to_string(kMaxPrefixLength) +
                 " characters before the *");
  pattern.name = name;
  return pattern;
}

}  // namespace

std::string Pattern::text() const {
  std::string out;
  for (const auto& [prefix, place_of_prefix] : kPlacePrefixes)
    if (place == place_of_prefix) out = prefix;
  if (syscall) out += kSyscallPrefix;
  out += name;
  if (glob) out += '*';
  return out;
}

bool is_cause_class(std::string_view name) {
  return std::find(std::begin(kCauseClasses), std::end(kCauseClasses), name) !=
         std::end(kCauseClasses);
}

Result<CauseFile> parse_cause_file(std::string_view text) { return Parser().parse(text); }

}  // namespace perf_latency
