// SPDX-License-Identifier: GPL-2.0-only
// Why a task sleeps: from the functions of its call chain to a cause with an id, class and sentence.
//
// The table is data: the shipped text (shipped_table.h) and the user's. A pattern that stands in both
// belongs to the user's cause.
// A chain's cause is that of its matching frame with the highest rank; of equal ranks the innermost
// frame's; of one frame's patterns the order is lock:, self:, plain. Frames outside the first
// exception or user entry belong to something else and are not looked at.
// No match: "SYSCALL: FUNCTION" of the innermost function that is no plumbing, id "", class other.
// Every CauseId below size() stays valid and keeps its cause; classify() may add fallback causes, so
// it is the one function that must not run beside others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "causes/cause_file.h"
#include "causes/function_groups.h"
#include "causes/pattern_map.h"

namespace perf_latency {

struct Cause {
  std::string id;           // kebab-case, stable; "" for a fallback
  std::string cause_class;  // one of kCauseClasses
  std::string sentence;     // what a person reads
};

class CauseTable {
 public:
  // What no call chain tells. Their ids are "asleep-before", "unattributed" and "cpu-wait".
  static constexpr CauseId kAsleepBefore{0};  // [asleep since before the recording]
  static constexpr CauseId kUnattributed{1};  // [unattributed]: no call chain, or no name in it
  static constexpr CauseId kCpuWait{2};       // Waiting for a CPU

  // An error in the user's text is "line N: what"; one in the shipped text says that it is there.
  static Result<CauseTable> load(std::string_view shipped_text,
                                 std::optional<std::string_view> user_text = std::nullopt);

  // Kernel functions innermost first, without modules and offsets; "" and "[unknown]" are frames
  // without a name.
  CauseId classify(std::span<const std::string_view> functions);

  const Cause& cause(CauseId id) const { return causes_[id.value]; }
  bool is_idle(CauseId id) const { return causes_[id.value].cause_class == "idle"; }
  std::optional<CauseId> find(std::string_view id) const;
  size_t size() const { return causes_.size(); }     // with the fallback causes so far
  size_t table_size() const { return table_size_; }  // without them
  const FunctionGroups& groups() const { return groups_; }

  // For listings and checks: every pattern of a cause, in the order of the files.
  std::span<const RankedPattern> patterns(CauseId id) const;
  std::string_view lock_name(CauseId id) const;  // what its lock: patterns wait for, or ""

 private:
  struct Match {
    uint32_t rank;
    CauseId cause;
  };
  CauseTable();
  CauseId add_cause(std::string id, std::string_view cause_class, std::string_view sentence);
  Result<void> apply(const CauseFile& file);
  Result<void> apply_cause(const CauseSection& section);
  void set_pattern(CauseId id, const RankedPattern& ranked);
  void name_locks();
  struct Frame;
  const Match* match_frame(const Frame& frame) const;
  CauseId fallback(std::span<const std::string_view> functions);
  CauseId intern_fallback(const std::string& sentence);

  std::deque<Cause> causes_;
  std::vector<std::vector<RankedPattern>> patterns_;  // of each cause of the table
  std::vector<std::string> lock_names_;
  size_t table_size_ = 0;
  std::unordered_map<std::string, CauseId> by_id_;
  std::unordered_map<std::string, CauseId> fallbacks_;  // by sentence
  using Matches = std::array<PatternMap<Match>, kPatternPlaces>;
  Matches functions_;
  Matches syscalls_;
  FunctionGroups groups_;
};

}  // namespace perf_latency
