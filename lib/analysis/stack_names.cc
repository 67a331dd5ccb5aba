// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/stack_names.h"

#include "symbolize/names.h"

namespace perf_latency {

const StackNames::Named& StackNames::of(StackId stack) {
  const auto found = named_.find(stack);
  if (found != named_.end()) return found->second;
  return named_.emplace(stack, name(stack)).first->second;
}

StackNames::Named StackNames::name(StackId stack) {
  Named named;
  named.cause = CauseTable::kUnattributed;
  const auto addresses = stacks_.view(stack);
  if (addresses.empty()) return named;
  std::vector<std::string_view> functions;
  for (size_t i = 0; i < addresses.size(); ++i) {
    functions.push_back(symbols_.kernel_function(addresses[i], i != 0));
    named.frames.push_back(symbols_.kernel_frame(addresses[i], i != 0));
  }
  named.cause = causes_.classify(functions);
  for (const std::string_view function : functions) {
    if (causes_.groups().is_user_entry(function)) named.user_entry = true;
    if (const auto name = syscall_name(function)) named.syscall = *name;
  }
  return named;
}

}  // namespace perf_latency
