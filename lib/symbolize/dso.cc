// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/dso.h"

#include <algorithm>
#include <array>

namespace perf_latency {
namespace {

constexpr std::string_view kDeleted = " (deleted)";
// Ids of one path: more than these are no recording of a real machine.
constexpr size_t kMaxBuildsOfPath = 64;

constexpr std::array<std::string_view, 11> kAnonymousPrefixes = {
    "//anon",    "[heap]",   "[stack",         "[anon",       "/memfd:",  "/SYSV",
    "/dev/zero", "/dev/shm", "/anon_hugepage", "anon_inode:", "[uprobes]"};

}  // namespace

DsoKind dso_kind(std::string_view name) {
  if (name.starts_with("[vdso")) return DsoKind::vdso;
  if (name == "[vsyscall]") return DsoKind::vsyscall;
  for (const std::string_view prefix : kAnonymousPrefixes)
    if (name.starts_with(prefix)) return DsoKind::anonymous;
  return name.empty() ? DsoKind::anonymous : DsoKind::file;
}

DsoId DsoTable::intern(std::string_view name, const BuildId& build_id, int32_t pid) {
  const DsoKind kind = dso_kind(name);
  std::string key(name);
  key += '\0';
  key += build_id.hex();
  if (kind == DsoKind::anonymous) key += '\0' + std::to_string(pid);
  const auto [at, is_new] = ids_.try_emplace(std::move(key), DsoId{size()});
  if (!is_new) return at->second;

  Dso dso{std::string(name), kind, false, pid, build_id};
  if (name.size() > kDeleted.size() && name.ends_with(kDeleted)) {
    dso.name.resize(name.size() - kDeleted.size());
    dso.deleted = true;
  }
  dsos_.push_back(std::move(dso));
  return at->second;
}

void DsoTable::add_build_id(std::string_view name, const BuildId& build_id) {
  if (build_id.empty()) return;
  if (name.ends_with(kDeleted)) name.remove_suffix(kDeleted.size());
  std::vector<BuildId>& ids = recorded_[std::string(name)];
  if (ids.size() < kMaxBuildsOfPath && std::find(ids.begin(), ids.end(), build_id) == ids.end())
    ids.push_back(build_id);
}

void DsoTable::set_jitdump(int32_t pid, std::string_view path) { jitdumps_[pid] = path; }

std::string_view DsoTable::jitdump(int32_t pid) const {
  const auto found = jitdumps_.find(pid);
  return found == jitdumps_.end() ? std::string_view() : found->second;
}

std::vector<BuildId> DsoTable::build_ids(DsoId id) const {
  const Dso& dso = (*this)[id];
  if (!dso.build_id.empty()) return {dso.build_id};
  const auto found = recorded_.find(dso.name);
  return found == recorded_.end() ? std::vector<BuildId>() : found->second;
}

}  // namespace perf_latency
