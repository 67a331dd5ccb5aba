// SPDX-License-Identifier: GPL-2.0-only
#include "causes/cause_table.h"

#include <algorithm>
#include <utility>

#include "symbolize/names.h"

namespace perf_latency {
namespace {

bool has_name(std::string_view function) { return !function.empty() && function != "[unknown]"; }

Error at_line(uint32_t line, std::string what) {
  return make_error("line " + std::to_string(line) + ": " + std::move(what));
}

}  // namespace

CauseTable::CauseTable() {
  add_cause("asleep-before", "other", "[asleep since before the recording]");
  add_cause("unattributed", "other", "[unattributed]");
  add_cause("cpu-wait", "cpu", "Waiting for a CPU");
}

Result<CauseTable> CauseTable::load(std::string_view shipped_text,
                                    std::optional<std::string_view> user_text) {
  CauseTable table;
  const auto read = [&table](std::string_view text) -> Result<void> {
    const auto file = parse_cause_file(text);
    return file ? table.apply(*file) : Result<void>(file.error());
  };
  if (const auto done = read(shipped_text); !done)
    return make_error("the shipped cause table: " + done.error().what);
  if (user_text) {
    if (const auto done = read(*user_text); !done) return done.error();
  }
  table.name_locks();
  table.table_size_ = table.causes_.size();
  return table;
}

CauseId CauseTable::add_cause(std::string id, std::string_view cause_class,
                              std::string_view sentence) {
  const CauseId cause_id{static_cast<uint32_t>(causes_.size())};
  by_id_.emplace(id, cause_id);
  causes_.push_back({std::move(id), std::string(cause_class), std::string(sentence)});
  patterns_.emplace_back();
  lock_names_.emplace_back();
  return cause_id;
}

Result<void> CauseTable::apply(const CauseFile& file) {
  for (const CauseSection& section : file.causes)
    if (const auto done = apply_cause(section); !done) return done;
  for (const GroupSection& section : file.groups)
    if (const auto done = groups_.add(section); !done) return done;
  return {};
}

Result<void> CauseTable::apply_cause(const CauseSection& section) {
  const auto known = find(section.id);
  if (!known && (!section.cause_class || !section.sentence))
    return at_line(section.line, "a new cause needs a class and a sentence");
  if (known && known->value <= kCpuWait.value)
    return at_line(section.line, "`" + section.id + "` is not named by functions");
  const CauseId id =
      known ? *known : add_cause(section.id, *section.cause_class, *section.sentence);
  Cause& cause = causes_[id.value];
  if (section.cause_class) cause.cause_class = *section.cause_class;
  if (section.sentence) cause.sentence = *section.sentence;
  if (section.lock_name) lock_names_[id.value] = *section.lock_name;
  for (const RankedPattern& ranked : section.patterns) set_pattern(id, ranked);
  return {};
}

// A pattern belongs to one cause: the last file line that has it wins.
void CauseTable::set_pattern(CauseId id, const RankedPattern& ranked) {
  const Pattern& pattern = ranked.pattern;
  Matches& matches = pattern.syscall ? syscalls_ : functions_;
  Match& match = matches[static_cast<size_t>(pattern.place)].insert(pattern.name, pattern.glob,
                                                                    {ranked.rank, id});
  std::erase_if(patterns_[match.cause.value], [&pattern](const RankedPattern& other) {
    return other.pattern.matches_same(pattern);
  });
  match = {ranked.rank, id};
  patterns_[id.value].push_back(ranked);
}

void CauseTable::name_locks() {
  for (size_t i = 0; i < lock_names_.size(); ++i) {
    if (lock_names_[i].empty()) continue;
    for (const RankedPattern& ranked : patterns_[i])
      if (ranked.pattern.place == PatternPlace::lock)
        groups_.add_lock_name(ranked.pattern, lock_names_[i]);
  }
}

std::optional<CauseId> CauseTable::find(std::string_view id) const {
  const auto found = by_id_.find(std::string(id));
  return found == by_id_.end() ? std::nullopt : std::optional<CauseId>(found->second);
}

std::span<const RankedPattern> CauseTable::patterns(CauseId id) const {
  if (id.value >= patterns_.size()) return {};
  return patterns_[id.value];
}

std::string_view CauseTable::lock_name(CauseId id) const {
  return id.value < lock_names_.size() ? std::string_view(lock_names_[id.value])
                                       : std::string_view();
}

struct CauseTable::Frame {
  std::string_view function;  // without compiler suffixes
  bool is_self = false;       // the first that is no scheduler plumbing, and no lock code
  bool is_lock_caller = false;
};

CauseId CauseTable::classify(std::span<const std::string_view> functions) {
  const Match* best = nullptr;
  bool in_plumbing = true;  // nothing else so far
  bool in_lock = false;     // and some of it takes a lock
  for (const std::string_view raw : functions) {
    Frame frame{strip_compiler_suffixes(raw)};
    const bool was_in_plumbing = in_plumbing;
    in_plumbing = in_plumbing && groups_.is_plumbing(frame.function);
    in_lock = in_lock || (in_plumbing && groups_.is_lock(frame.function));
    frame.is_lock_caller = was_in_plumbing && !in_plumbing && in_lock;
    frame.is_self = was_in_plumbing && !in_plumbing && !in_lock;
    const Match* const match = match_frame(frame);
    if (match && (!best || match->rank > best->rank)) best = match;
    if (groups_.contains(FunctionGroup::exception, frame.function) ||
        groups_.is_user_entry(frame.function))
      break;
  }
  return best ? best->cause : fallback(functions);
}

const CauseTable::Match* CauseTable::match_frame(const Frame& frame) const {
  const auto syscall = syscall_name(frame.function);
  const Match* best = nullptr;
  const auto look = [&](PatternPlace place) {
    const size_t i = static_cast<size_t>(place);
    for (const Match* match :
         {functions_[i].find(frame.function), syscall ? syscalls_[i].find(*syscall) : nullptr})
      if (match && (!best || match->rank > best->rank)) best = match;
  };
  if (frame.is_lock_caller) look(PatternPlace::lock);
  if (frame.is_self) look(PatternPlace::self);
  look(PatternPlace::any);
  return best;
}

CauseId CauseTable::fallback(std::span<const std::string_view> functions) {
  std::string_view innermost;
  std::string_view plumbing;
  std::string_view syscall;
  for (const std::string_view raw : functions) {
    const std::string_view function = strip_compiler_suffixes(raw);
    if (!has_name(function)) continue;
    if (plumbing.empty()) plumbing = function;
    if (innermost.empty() && !groups_.is_plumbing(function)) innermost = function;
    if (const auto name = syscall_name(function)) syscall = *name;
  }
  if (innermost.empty()) innermost = plumbing;
  if (innermost.empty()) return kUnattributed;
  if (syscall.empty()) return intern_fallback(std::string(innermost));
  if (syscall_name(innermost) == syscall) return intern_fallback(std::string(syscall));
  return intern_fallback(std::string(syscall) + ": " + std::string(innermost));
}

CauseId CauseTable::intern_fallback(const std::string& sentence) {
  const auto found = fallbacks_.find(sentence);
  if (found != fallbacks_.end()) return found->second;
  const CauseId id{static_cast<uint32_t>(causes_.size())};
  causes_.push_back({"", "other", sentence});
  fallbacks_.emplace(sentence, id);
  return id;
}

}  // namespace perf_latency
