// SPDX-License-Identifier: GPL-2.0-only
// Function name patterns -> a value, found by hash.
//
// A pattern is an exact name or a prefix (a glob with its `*` at the end). An exact name goes
// before a prefix, a longer prefix before a shorter one. A look-up costs one hash for the name and
// one for each length that a prefix has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace perf_latency {

template <typename Value>
class PatternMap {
 public:
  // The last value set for a pattern holds.
  void set(std::string_view name, bool glob, Value value) {
    insert(name, glob, {}) = std::move(value);
  }

  // The pattern's value: the one that it had, else `value`.
  Value& insert(std::string_view name, bool glob, Value value) {
    if (glob) add_length(name.size());
    return (glob ? prefixes_ : names_).try_emplace(std::string(name), std::move(value)).first->second;
  }

  const Value* find(std::string_view name) const {
    if (const auto found = names_.find(name); found != names_.end()) return &found->second;
    for (const size_t length : lengths_) {
      if (length > name.size()) continue;
      const auto found = prefixes_.find(name.substr(0, length));
      if (found != prefixes_.end()) return &found->second;
    }
    return nullptr;
  }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Map = std::unordered_map<std::string, Value, Hash, std::equal_to<>>;

  void add_length(size_t length) {
    const auto at = std::lower_bound(lengths_.begin(), lengths_.end(), length, std::greater<>());
    if (at == lengths_.end() || *at != length) lengths_.insert(at, length);
  }

  Map names_;
  Map prefixes_;
  std::vector<size_t> lengths_;  // of the prefixes, longest first
};

}  // namespace perf_latency
