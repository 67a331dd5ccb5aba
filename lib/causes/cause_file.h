// SPDX-License-Identifier: GPL-2.0-only
// Reads the text of a cause table: what perf-latency-causes(1) describes, and nothing about kernels.
//
// Invariant: everything in a CauseFile is syntactically valid (ids, classes, ranks, patterns) and
// carries the line it came from, so that a later complaint can name it. Input is hostile text of
// any size; the result is bounded by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace perf_latency {

// Where in a call chain a pattern has to stand.
enum class PatternPlace : uint8_t {
  any,   // "name": anywhere in the chain
  self,  // "self:name": the innermost frame that is no scheduler plumbing
  lock,  // "lock:name": the frame that called the lock code in which the task sleeps
};
inline constexpr size_t kPatternPlaces = 3;

struct Pattern {
  PatternPlace place = PatternPlace::any;
  bool syscall = false;  // "syscall:name": a system call's function, whatever its prefix
  bool glob = false;     // the name was written with a `*` at its end, and that is cut off here
  std::string name;
  uint32_t line = 0;

  std::string text() const;  // as it stands in the file
  bool matches_same(const Pattern& other) const {
    return place == other.place && syscall == other.syscall && glob == other.glob &&
           name == other.name;
  }
};

inline constexpr uint32_t kMaxRank = 99;
inline constexpr uint32_t kDefaultRank = 50;

struct RankedPattern {
  uint32_t rank = kDefaultRank;
  Pattern pattern;
};

// One "[cause ID]" section.
struct CauseSection {
  std::string id;
  uint32_t line = 0;
  std::optional<std::string> cause_class;
  std::optional<std::string> sentence;
  std::optional<std::string> lock_name;
  std::vector<RankedPattern> patterns;
};

// One line of a "[functions GROUP]" section.
struct GroupPattern {
  std::string label;
  Pattern pattern;
};
struct GroupSection {
  std::string group;
  uint32_t line = 0;
  std::vector<GroupPattern> patterns;
};

struct CauseFile {
  std::vector<CauseSection> causes;
  std::vector<GroupSection> groups;
};

// The classes that a cause can have, in the order in which they are listed to users.
inline constexpr std::string_view kCauseClasses[] = {"disk",    "filesystem", "memory", "lock",
                                                     "network", "ipc",        "timer",  "process",
                                                     "cpu",     "virt",       "idle",   "other"};
bool is_cause_class(std::string_view name);

// Fails on the first thing that is wrong: "line 12: there is no class `dsk`".
Result<CauseFile> parse_cause_file(std::string_view text);

}  // namespace perf_latency
