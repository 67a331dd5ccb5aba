// SPDX-License-Identifier: GPL-2.0-only
// Function name patterns -> a value, found by hash.
//
// A pattern is an exact name or a prefix (a glob with its `*` at the end). An exact name goes
// before a prefix, a longer prefix before a shorter one. A look-up costs one hash for the name and
// one for each length that a prefix with the name's first character has.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/result.h"

namespace perf_latency {

inline constexpr size_t kMaxPrefixLength = 63;

template <typename Value>
class PatternMap {
 public:
  // The last value set for a pattern holds.
  void set(std::string_view name, bool glob, Value value) {
    insert(name, glob, {}) = std::move(value);
  }

  // The pattern's value: the one that it had, else `value`. A prefix has 1 to kMaxPrefixLength
  // characters.
  Value& insert(std::string_view name, bool glob, Value value) {
    if (!glob) return names_.try_emplace(std::string(name), std::move(value)).first->second;
    PL_CHECK(!name.empty() && name.size() <= kMaxPrefixLength);
    lengths_[static_cast<uint8_t>(name.front())] |= uint64_t{1} << name.size();
    return prefixes_.try_emplace(std::string(name), std::move(value)).first->second;
  }

  const Value* find(std::string_view name) const {
    if (name.empty()) return nullptr;
    if (const auto found = names_.find(name); found != names_.end()) return &found->second;
    uint64_t lengths = lengths_[static_cast<uint8_t>(name.front())];
    while (lengths != 0) {
      const size_t longest = 63 - static_cast<size_t>(std::countl_zero(lengths));
      lengths &= ~(uint64_t{1} << longest);
      if (longest > name.size()) continue;
      const auto found = prefixes_.find(name.substr(0, longest));
      if (found != prefixes_.end()) return &found->second;
    }
    return nullptr;
  }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Map = std::unordered_map<std::string, Value, Hash, std::equal_to<>>;

  Map names_;
  Map prefixes_;
  std::array<uint64_t, 256> lengths_{};  // by first character; bit N: a prefix of length N
};

}  // namespace perf_latency
