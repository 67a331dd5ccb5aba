// SPDX-License-Identifier: GPL-2.0-only
#include "model/thread_table.h"

namespace perf_latency {
namespace {

constexpr int32_t kKthreadd = 2;
constexpr int32_t kMaxPid = 1 << 22;

}  // namespace

ThreadId* ThreadTable::slot(int32_t tid) {
  const auto number = static_cast<uint32_t>(tid);
  const uint32_t page = number >> kPageBits;
  if (page >= kPages) return &others_[tid];
  if (pages_[page] == nullptr) pages_[page] = std::make_unique<ThreadId[]>(1u << kPageBits);
  return &pages_[page][number & ((1u << kPageBits) - 1)];
}

ThreadId ThreadTable::find(int32_t tid) const {
  if (tid <= 0) return {};
  const auto number = static_cast<uint32_t>(tid);
  const uint32_t page = number >> kPageBits;
  if (page < kPages)
    return pages_[page] == nullptr ? ThreadId{} : pages_[page][number & ((1u << kPageBits) - 1)];
  const auto found = others_.find(tid);
  return found == others_.end() ? ThreadId{} : found->second;
}

ThreadId ThreadTable::get(int32_t tid) {
  if (tid <= 0) return {};
  const ThreadId known = *slot(tid);
  return known.valid() ? known : create(tid);
}

ThreadId ThreadTable::create(int32_t tid) {
  if (tid <= 0) return {};
  if (size_ % kChunk == 0) chunks_.push_back(std::make_unique<Thread[]>(kChunk));
  const ThreadId id{size_++};
  Thread& thread = (*this)[id];
  thread.tid = tid;
  if (tid == kKthreadd) thread.kind = TaskKind::kernel;
  *slot(tid) = id;
  return id;
}

void ThreadTable::move(ThreadId thread, int32_t tid) {
  if (tid <= 0 || !thread.valid()) return;
  Thread& moved = (*this)[thread];
  if (ThreadId* old = slot(moved.tid); *old == thread) *old = ThreadId{};
  moved.tid = tid;
  *slot(tid) = thread;
}

void ThreadTable::set_has_user_maps(int32_t pid) {
  if (pid <= 0 || pid > kMaxPid) return;
  const auto index = static_cast<size_t>(pid);
  if (index >= has_user_maps_.size()) has_user_maps_.resize(index + 1 + index / 2);
  has_user_maps_[index] = true;
}

TaskKind ThreadTable::last_kind(const Thread& thread) const {
  const auto index = static_cast<size_t>(thread.pid);
  if (thread.pid > 0 && index < has_user_maps_.size() && has_user_maps_[index])
    return TaskKind::user;
  if (thread.kind != TaskKind::unknown) return thread.kind;
  return thread.parent_pid == kKthreadd ? TaskKind::kernel : TaskKind::unknown;
}

TaskKind ThreadTable::kind(const Thread& thread) const {
  if (!thread.left_seen) return TaskKind::unknown;
  const TaskKind kind = last_kind(thread);
  return kind == TaskKind::kernel && thread.born_inside ? TaskKind::unknown : kind;
}

}  // namespace perf_latency
