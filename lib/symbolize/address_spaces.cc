// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/address_spaces.h"

#include <algorithm>

#include "symbolize/runtime_code.h"

namespace perf_latency {
namespace {

// The first map that ends above `address`: the one that holds it, or the next one.
template <typename Maps>
auto first_ending_above(Maps& maps, uint64_t address) {
  return std::upper_bound(maps.begin(), maps.end(), address,
                          [](uint64_t at, const MappedDso& map) { return at < map.end; });
}

// Cuts [start, end) out of the maps and returns where a map of that range belongs.
auto cut_out(std::vector<MappedDso>& maps, uint64_t start, uint64_t end) {
  auto first = first_ending_above(maps, start);
  if (first == maps.end() || first->start >= end) return first;
  if (first->start < start) {
    MappedDso right = *first;
    first->end = start;
    ++first;
    if (right.end > end) {  // the new range lies inside one map: that one falls in two
      right.pgoff += end - right.start;
      right.start = end;
      return maps.insert(first, right);
    }
  }
  auto last = first;
  while (last != maps.end() && last->end <= end) ++last;
  if (last != maps.end() && last->start < end) {
    last->pgoff += end - last->start;
    last->start = end;
  }
  return maps.erase(first, last);
}

}  // namespace

AddressSpaces::Process& AddressSpaces::process(int32_t pid) {
  const auto [at, is_new] = processes_.try_emplace(pid);
  if (is_new) at->second.life = ++last_life_;
  return at->second;
}

AddressSpaces::MapList& AddressSpaces::writable_maps(Process& process) {
  if (!process.maps) process.maps = std::make_shared<MapList>();
  if (process.maps.use_count() > 1) process.maps = std::make_shared<MapList>(*process.maps);
  return *process.maps;
}

bool AddressSpaces::mmap(const UserMap& map) {
  const uint64_t end = map.start + map.length;
  if (map.length == 0 || end < map.start) return false;
  Process& process = this->process(map.pid);
  if (process.maps && process.maps->size() + 2 > kMaxMaps) return false;

  const DsoId dso = dsos_.intern(map.name, map.build_id, map.pid);
  if (is_jitdump_name(map.name)) dsos_.set_jitdump(map.pid, map.name);
  // Attaching to a process writes its maps once for each of its threads: no change, no new version.
  if (process.maps) {
    const auto known = first_ending_above(*process.maps, map.start);
    if (known != process.maps->end() && known->start == map.start && known->end == end &&
        known->pgoff == map.pgoff && known->dso == dso)
      return true;
  }
  MapList& maps = writable_maps(process);
  maps.insert(cut_out(maps, map.start, end), MappedDso{dso, map.start, end, map.pgoff});
  process.version = ++last_version_;
  return true;
}

void AddressSpaces::fork(int32_t child_pid, int32_t parent_pid, bool copy_maps) {
  if (child_pid == parent_pid) return new_thread(child_pid);
  if (!copy_maps) {
    const auto known = processes_.find(child_pid);
    if (known != processes_.end() && known->second.threads > 0) return;
  }
  Process child;
  child.life = ++last_life_;
  if (copy_maps) {
    if (const auto parent = processes_.find(parent_pid); parent != processes_.end()) {
      child.maps = parent->second.maps;
      child.version = parent->second.version;
    }
  }
  processes_[child_pid] = std::move(child);
}

void AddressSpaces::new_thread(int32_t pid) { ++process(pid).threads; }

void AddressSpaces::exec(int32_t pid) {
  Process& process = this->process(pid);
  process.maps.reset();
  process.version = 0;
  process.life = ++last_life_;
  process.threads = 1;
}

void AddressSpaces::exit_thread(int32_t pid) {
  const auto found = processes_.find(pid);
  if (found == processes_.end() || --found->second.threads != 0) return;
  exited_.emplace_back(pid, found->second.life);
  if (exited_.size() > kKeptExited) drop_oldest_exited();
}

void AddressSpaces::drop_oldest_exited() {
  const auto [pid, life] = exited_.front();
  exited_.pop_front();
  const auto found = processes_.find(pid);
  if (found != processes_.end() && found->second.life == life && found->second.threads <= 0)
    processes_.erase(found);
}

std::optional<MappedDso> AddressSpaces::map_at(int32_t pid, uint64_t address) const {
  const auto found = processes_.find(pid);
  if (found == processes_.end() || !found->second.maps) return std::nullopt;
  const MapList& maps = *found->second.maps;
  const auto map = first_ending_above(maps, address);
  if (map == maps.end() || map->start > address) return std::nullopt;
  return *map;
}

std::optional<DsoAddress> AddressSpaces::resolve(int32_t pid, uint64_t address) const {
  const auto map = map_at(pid, address);
  if (!map) return std::nullopt;
  const DsoKind kind = dsos_[map->dso].kind;
  if (kind == DsoKind::anonymous || kind == DsoKind::vsyscall) return DsoAddress{map->dso, address};
  return DsoAddress{map->dso, address - map->start + map->pgoff};
}

uint64_t AddressSpaces::version(int32_t pid) const {
  const auto found = processes_.find(pid);
  return found == processes_.end() ? 0 : found->second.version;
}

}  // namespace perf_latency
