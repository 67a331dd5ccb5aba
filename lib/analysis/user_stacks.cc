// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/user_stacks.h"

#include <cstdio>

namespace perf_latency {

UserStacks::UserStacks(SymbolContext& symbols, DecodePools& pools, const Metadata& metadata,
                       const AnalysisOptions& options)
    : symbols_(symbols),
      pools_(pools),
      metadata_(metadata),
      max_frames_(options.max_stack),
      symbolizer_options_(symbolizer_options(options)) {}

StackId UserStacks::resolve(const Event& event, int32_t pid) {
  if (!event.user_stack.valid()) return {};
  if ((event.flags & kEventDump) == 0) {
    const auto addresses = pools_.stacks.view(event.user_stack);
    const uint64_t version = symbols_.spaces().version(pid);
    if (version == 0) return intern(addresses, pid, UnwindEnd::outermost);
    const auto [found, is_new] = cache_.try_emplace(CacheKey{version, event.user_stack});
    if (is_new) found->second = intern(addresses, pid, UnwindEnd::outermost);
    return found->second;
  }
  const auto dump = pools_.dumps.take(event.user_stack.value);
  if (dump == nullptr) return {};
  if (unwinder_ == nullptr)
    unwinder_ = std::make_unique<Unwinder>(symbols_.spaces(), symbolizer_options_);
  UnwindInput input;
  input.arch = unwind_arch(metadata_.arch, dump->abi);
  input.register_mask = dump->mask;
  input.registers = std::as_bytes(std::span(dump->regs));
  input.stack = dump->stack;
  input.swap = metadata_.swapped;
  std::vector<uint64_t> chain;
  const UnwindEnd end = unwinder_->unwind(input, pid, max_frames_, chain);
  return intern(chain, pid, end);
}

void UserStacks::drop(const Event& event) {
  if ((event.flags & kEventDump) != 0) pools_.dumps.take(event.user_stack.value);
}

StackId UserStacks::intern(std::span<const uint64_t> addresses, int32_t pid, UnwindEnd end) {
  Chain chain;
  chain.end = end;
  for (size_t i = 0; i < addresses.size(); ++i) {
    Place place;
    place.is_return_address = i != 0;
    if (const auto at = symbols_.spaces().resolve(pid, addresses[i])) {
      place.at = *at;
      place.mapped = true;
    } else {
      place.at.address = addresses[i];
    }
    chain.places.push_back(place);
  }
  const auto [found, is_new] =
      ids_.try_emplace(std::move(chain), StackId{static_cast<uint32_t>(chains_.size())});
  if (is_new) chains_.push_back(&found->first);
  return found->second;
}

const std::vector<std::string>& UserStacks::frames(StackId chain) {
  const auto [found, is_new] = named_chains_.try_emplace(chain);
  if (is_new && chain.value < chains_.size()) found->second = name(*chains_[chain.value]);
  return found->second;
}

std::vector<std::string> UserStacks::name(const Chain& chain) {
  std::vector<std::string> names;
  for (const Place& place : chain.places) {
    const Frame& frame = place.mapped
                             ? symbols_.symbolizer().frame(
                                   {.at = place.at, .is_return_address = place.is_return_address})
                             : symbols_.symbolizer().frame_without_map();
    ++named_;
    for (const InlinedFrame& inlined : frame.inlined)
      names.push_back(std::string(inlined.name) + " (inlined)");
    if (!frame.name.empty()) {
      std::string text(frame.name);
      if (!frame.source.file.empty())
        text.append(" ")
            .append(frame.source.file)
            .append(":")
            .append(std::to_string(frame.source.line));
      names.push_back(std::move(text));
      continue;
    }
    ++unknown_;
    char offset[24];
    std::snprintf(offset, sizeof offset, "+0x%llx", static_cast<unsigned long long>(frame.offset));
    names.push_back(frame.module.empty() ? "[unknown]"
                                         : "[unknown] " + std::string(frame.module) + offset);
  }
  if (chain.end != UnwindEnd::outermost)
    names.push_back("[chain cut: " + std::string(to_string(chain.end)) + "]");
  return names;
}

}  // namespace perf_latency
