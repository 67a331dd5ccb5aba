// SPDX-License-Identifier: GPL-2.0-only
// Dense 32-bit identifiers, one type for each kind, so that one cannot stand where another belongs.
//
// An id indexes a vector of its kind's owner. The value kNone means "none".
#pragma once

#include <cstdint>
#include <functional>

namespace perf_latency {

template <typename Tag>
struct Id {
  static constexpr uint32_t kNone = 0xffffffffu;
  uint32_t value = kNone;

  constexpr bool valid() const { return value != kNone; }
  friend constexpr bool operator==(Id, Id) = default;
  friend constexpr auto operator<=>(Id, Id) = default;
};

using ThreadId = Id<struct ThreadTag>;    // one life of one thread (a reused tid is another one)
using ProcessId = Id<struct ProcessTag>;  // one life of one process
using LockId = Id<struct LockTag>;
using StringId = Id<struct StringTag>;
using StackId = Id<struct StackTag>;  // a call chain as recorded: addresses, innermost first
using FrameId = Id<struct FrameTag>;  // a symbolized frame
using CauseId = Id<struct CauseTag>;  // a row of the cause table

}  // namespace perf_latency

template <typename Tag>
struct std::hash<perf_latency::Id<Tag>> {
  size_t operator()(perf_latency::Id<Tag> id) const noexcept {
    return id.value * 0x9e3779b97f4a7c15ull;
  }
};
