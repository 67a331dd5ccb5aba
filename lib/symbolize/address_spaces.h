// SPDX-License-Identifier: GPL-2.0-only
// The user memory maps of every process, as they are at the current point of the recording.
//
// Input: MMAP, MMAP2, FORK, EXIT and exec COMM records in time order. Invariant: the maps of a
// process are sorted and do not overlap (a new map replaces the parts of older ones that it covers,
// as mmap with MAP_FIXED does; munmap is not recorded). A forked process shares its parent's maps
// until one of them changes. version(pid) names a state of the maps: equal versions, equal maps, so
// (version, address) is a key under which a caller can keep what it resolved; 0 means "no maps".
//
// Memory: the maps of a process whose last known thread has exited are kept for kKeptExited further
// exits (its last samples come late), then dropped. One process has at most kMaxMaps maps.
// Sources: tools/perf/util/maps.c (6.12), kernel/events/core.c perf_event_mmap_event(),
// perf_event_task().
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "symbolize/build_id.h"
#include "symbolize/dso.h"

namespace perf_latency {

struct UserMap {
  int32_t pid = -1;  // the process, as perf means it
  uint64_t start = 0;
  uint64_t length = 0;
  uint64_t pgoff = 0;  // in bytes, as in the records
  std::string_view name;
  BuildId build_id;  // empty unless the record carries one
};

// Where an address lies. For files, the vdso: the offset in the file. For anonymous memory and the
// vsyscall page: the address itself.
struct DsoAddress {
  DsoId dso;
  uint64_t address = 0;
  friend bool operator==(DsoAddress, DsoAddress) = default;
};

// A map and where in the address space it lies: what an unwinder needs.
struct MappedDso {
  DsoId dso;
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t pgoff = 0;
};

class AddressSpaces {
 public:
  static constexpr size_t kMaxMaps = 1 << 17;  // twice the kernel's default of max_map_count
  static constexpr size_t kKeptExited = 4096;

  explicit AddressSpaces(DsoTable& dsos) : dsos_(dsos) {}
  AddressSpaces(const AddressSpaces&) = delete;
  AddressSpaces& operator=(const AddressSpaces&) = delete;

  // False, and nothing changed: the range is empty or wraps, or the process has kMaxMaps maps.
  bool mmap(const UserMap& map);
  // A new process. copy_maps is false for the FORK records that perf makes for processes already
  // running (misc & PERF_RECORD_MISC_FORK_EXEC): their maps follow in records of their own, and nothing
  // changes for a process that is known.
  void fork(int32_t child_pid, int32_t parent_pid, bool copy_maps = true);
  // A FORK record whose pid and ppid are equal: a thread, which shares the maps.
  void new_thread(int32_t pid);
  // COMM with PERF_RECORD_MISC_COMM_EXEC: the maps are gone.
  void exec(int32_t pid);
  // An EXIT record of any of the process's threads.
  void exit_thread(int32_t pid);

  std::optional<DsoAddress> resolve(int32_t pid, uint64_t address) const;
  std::optional<MappedDso> map_at(int32_t pid, uint64_t address) const;
  uint64_t version(int32_t pid) const;
  // Names the program that the process runs now: a fork or exec gives another one. Maps that come late
  // (--tail-synthesize) are those of earlier samples too as long as it is the same.
  uint64_t life(int32_t pid) { return process(pid).life; }

  DsoTable& dsos() { return dsos_; }
  const DsoTable& dsos() const { return dsos_; }

 private:
  using MapList = std::vector<MappedDso>;
  struct Process {
    std::shared_ptr<MapList> maps;
    uint64_t version = 0;
    uint64_t life = 0;  // tells it from what ran under this pid before
    int64_t threads = 1;
  };

  Process& process(int32_t pid);
  MapList& writable_maps(Process& process);
  void drop_oldest_exited();

  DsoTable& dsos_;
  std::unordered_map<int32_t, Process> processes_;
  std::deque<std::pair<int32_t, uint64_t>> exited_;  // pid and life, oldest first
  uint64_t last_version_ = 0;
  uint64_t last_life_ = 0;
};

}  // namespace perf_latency
