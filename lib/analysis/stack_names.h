// SPDX-License-Identifier: GPL-2.0-only
// Names and causes of whole call chains, each worked out once.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/symbol_context.h"
#include "base/stack_pool.h"
#include "causes/cause_table.h"

namespace perf_latency {

class StackNames {
 public:
  StackNames(SymbolContext& symbols, const StackPool& stacks, CauseTable& causes)
      : symbols_(symbols), stacks_(stacks), causes_(causes) {}

  struct Named {
    std::vector<std::string> frames;  // as printed, innermost first
    CauseId cause;
    bool user_entry = false;   // the chain enters the kernel from user mode
    std::string_view syscall;  // "" when it is none
  };

  // No chain: the cause is "unattributed".
  const Named& of(StackId stack);

  SymbolContext& symbols() { return symbols_; }
  CauseTable& causes() { return causes_; }
  const StackPool& stacks() const { return stacks_; }

 private:
  Named name(StackId stack);

  SymbolContext& symbols_;
  const StackPool& stacks_;
  CauseTable& causes_;
  std::unordered_map<StackId, Named> named_;
};

}  // namespace perf_latency
