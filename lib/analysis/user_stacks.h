// SPDX-License-Identifier: GPL-2.0-only
// User call chains of sleeps: from recorded addresses, or a stack dump, to named frames.
//
// A chain is resolved at the switch-out, while the process's maps are those of the moment, into
// (file, offset) pairs that stay valid; names are looked up when a report prints them. Chains of equal
// addresses in equal maps are resolved once.
// Where the maps come behind the samples (perf record --tail-synthesize), addresses that were in no map
// are tried again when they are named, if the process still ran the same program; stack dumps of such a
// process wait for that too, kMaxLateBytes of them at most.
#pragma once

#include <array>
#include <compare>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analysis/symbol_context.h"
#include "symbolize/unwinder.h"
#include "tracepoint/decoder.h"

namespace perf_latency {

class UserStacks {
 public:
  static constexpr size_t kMaxLateBytes = size_t{64} << 20;

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
  UnknownFrames unknown_frames() const;

 private:
  // The program whose maps decide: a process until its next exec.
  struct Program {
    int32_t pid = -1;
    uint64_t life = 0;
  };
  struct Place {
    DsoAddress at;
    bool mapped = false;
    bool is_return_address = false;
    Program program;  // where it is not mapped
    std::tuple<bool, uint32_t, uint64_t, bool, int32_t, uint64_t> order() const {
      return {mapped, at.dso.value, at.address, is_return_address, program.pid, program.life};
    }
    friend std::strong_ordering operator<=>(const Place& a, const Place& b) {
      return a.order() <=> b.order();
    }
    friend bool operator==(const Place& a, const Place& b) { return a.order() == b.order(); }
  };
  struct Chain {
    std::vector<Place> places;
    UnwindEnd end = UnwindEnd::outermost;
    uint32_t late = 0;  // the number of a dump in late_, from 1 on, that is still to be unwound
    friend auto operator<=>(const Chain&, const Chain&) = default;
  };
  struct LateDump {
    std::unique_ptr<UserDump> dump;
    Program program;
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

  Chain make_chain(std::span<const uint64_t> addresses, int32_t pid, UnwindEnd end);
  StackId intern(Chain chain);
  Chain unwind(const UserDump& dump, int32_t pid);
  bool waits_for_maps(const Chain& chain, const UserDump& dump) const;
  std::vector<std::string> name(const Chain& chain);
  void name(const Place& place, std::vector<std::string>& names);
  const Frame& frame_of(const Place& place);
  std::string with_source(std::string name, const SourceLine& source) const;

  SymbolContext& symbols_;
  DecodePools& pools_;
  const Metadata& metadata_;
  size_t max_frames_;
  bool full_source_path_;
  std::unique_ptr<Unwinder> unwinder_;
  SymbolizerOptions symbolizer_options_;
  std::map<Chain, StackId> ids_;
  std::vector<const Chain*> chains_;
  std::unordered_map<CacheKey, StackId, CacheHash> cache_;
  std::unordered_map<StackId, std::vector<std::string>> named_chains_;
  std::vector<LateDump> late_;
  size_t late_bytes_ = 0;
  uint64_t named_ = 0;
  std::array<uint64_t, static_cast<size_t>(UnknownReason::count_)> unknown_{};
};

}  // namespace perf_latency
