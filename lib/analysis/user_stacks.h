// SPDX-License-Identifier: GPL-2.0-only
// User call chains of sleeps: from recorded addresses, or a stack dump, to named frames.
//
// A chain is resolved at the switch-out, while the process's maps are those of the moment, into
// (file, offset) pairs that stay valid; names are looked up when a report prints them. Chains of equal
// addresses in equal maps are resolved once.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/symbol_context.h"
#include "symbolize/unwinder.h"
#include "tracepoint/decoder.h"

namespace perf_latency {

class UserStacks {
 public:
  UserStacks(SymbolContext& symbols, DecodePools& pools, const Metadata& metadata,
             const AnalysisOptions& options);

  // The chain of a sched_switch event of process `pid`, as an id of this object; none when the event
  // has none. Takes the event's stack dump.
  StackId resolve(const Event& event, int32_t pid);

  // Gives up the event's stack dump without looking at it.
  void drop(const Event& event);

  // Names, innermost first. The last one says so where a dump did not reach the outermost frame.
  const std::vector<std::string>& frames(StackId chain);

  uint64_t frames_named() const { return named_; }
  uint64_t frames_unknown() const { return unknown_; }

 private:
  struct Place {
    DsoAddress at;
    bool mapped = false;
    bool is_return_address = false;
    friend auto operator<=>(const Place& a, const Place& b) {
      return std::tuple(a.mapped, a.at.dso.value, a.at.address, a.is_return_address) <=>
             std::tuple(b.mapped, b.at.dso.value, b.at.address, b.is_return_address);
    }
    friend bool operator==(const Place& a, const Place& b) { return (a <=> b) == 0; }
  };
  struct Chain {
    std::vector<Place> places;
    UnwindEnd end = UnwindEnd::outermost;
    friend auto operator<=>(const Chain&, const Chain&) = default;
  };
  struct CacheKey {
    uint64_t version;
    StackId raw;
    friend bool operator==(const CacheKey&, const CacheKey&) = default;
  };
  struct CacheHash {
    size_t operator()(const CacheKey& key) const noexcept {
      return key.version * 0x9e3779b97f4a7c15ull ^ key.raw.value;
    }
  };

  StackId intern(std::span<const uint64_t> addresses, int32_t pid, UnwindEnd end);
  std::vector<std::string> name(const Chain& chain);

  SymbolContext& symbols_;
  DecodePools& pools_;
  const Metadata& metadata_;
  size_t max_frames_;
  std::unique_ptr<Unwinder> unwinder_;
  SymbolizerOptions symbolizer_options_;
  std::map<Chain, StackId> ids_;
  std::vector<const Chain*> chains_;
  std::unordered_map<CacheKey, StackId, CacheHash> cache_;
  std::unordered_map<StackId, std::vector<std::string>> named_chains_;
  uint64_t named_ = 0;
  uint64_t unknown_ = 0;
};

}  // namespace perf_latency
