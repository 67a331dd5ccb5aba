// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/deferred_stacks.h"

namespace perf_latency {

void DeferredStacks::release(Waiting& waiting, StackId chain) {
  for (Held& held : waiting.held) {
    held.interval.user_stack = chain;
    ready_.push_back(std::move(held));
  }
  waiting.held.clear();
}

void DeferredStacks::expect(int32_t tid, uint32_t cookie) {
  Waiting& waiting = waiting_[tid];
  if (waiting.cookie == cookie) return;
  release(waiting, StackId{});
  waiting.cookie = cookie;
  waiting.arrived = false;
}

void DeferredStacks::hold(int32_t tid, Held held) {
  Waiting& waiting = waiting_[tid];
  waiting.held.push_back(std::move(held));
  if (waiting.arrived)
    release(waiting, waiting.chain);
  else if (waiting.held.size() > kMaxHeld)
    release(waiting, StackId{});
}

void DeferredStacks::arrive(int32_t tid, uint32_t cookie, StackId chain) {
  const auto found = waiting_.find(tid);
  if (found == waiting_.end() || found->second.cookie != cookie) return;
  Waiting& waiting = found->second;
  waiting.arrived = true;
  waiting.chain = chain;
  release(waiting, chain);
}

void DeferredStacks::finish() {
  for (auto& [tid, waiting] : waiting_) release(waiting, StackId{});
  waiting_.clear();
}

}  // namespace perf_latency
