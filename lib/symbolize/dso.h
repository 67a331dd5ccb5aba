// SPDX-License-Identifier: GPL-2.0-only
// What user memory maps show: files, the vdso, anonymous memory. Each has a dense DsoId.
//
// Invariant: a DsoId stands for one (name, build id), and for anonymous memory for one (name,
// process) as well, because only its process's perf-PID.map or jitdump can name what is in it.
// The same path can have several builds in one recording (it was replaced): they are different ids.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "symbolize/build_id.h"

namespace perf_latency {

using DsoId = Id<struct DsoTag>;

enum class DsoKind : uint8_t {
  file,
  vdso,
  vsyscall,
  anonymous,  // also heap, stacks, shared memory, memfd: code there was made at run time
};

struct Dso {
  std::string name;  // without " (deleted)"
  DsoKind kind = DsoKind::file;
  bool deleted = false;
  int32_t pid = -1;  // the process that mapped it first
  BuildId build_id;  // empty when the map record had none
};

// The kind that a map's name tells.
DsoKind dso_kind(std::string_view name);

class DsoTable {
 public:
  DsoId intern(std::string_view name, const BuildId& build_id, int32_t pid);

  // An id from a BUILD_ID record or feature. It can come after the maps.
  void add_build_id(std::string_view name, const BuildId& build_id);

  // The jitdump that a process showed by mapping it ("jit-PID.dump"); the last one counts.
  void set_jitdump(int32_t pid, std::string_view path);
  std::string_view jitdump(int32_t pid) const;

  // The builds that the recording knows of for this DSO: its own, or else those of its name.
  std::vector<BuildId> build_ids(DsoId id) const;

  const Dso& operator[](DsoId id) const { return dsos_[id.value]; }
  uint32_t size() const { return static_cast<uint32_t>(dsos_.size()); }

 private:
  std::deque<Dso> dsos_;
  std::unordered_map<std::string, DsoId> ids_;  // by name, build id and, if anonymous, process
  std::unordered_map<std::string, std::vector<BuildId>> recorded_;
  std::unordered_map<int32_t, std::string> jitdumps_;
};

}  // namespace perf_latency
