// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/user_stacks.h"

#include <cstdio>

#include "symbolize/names.h"

namespace perf_latency {

UserStacks::UserStacks(SymbolContext& symbols, DecodePools& pools, const Metadata& metadata,
                       const AnalysisOptions& options)
    : symbols_(symbols),
      pools_(pools),
      metadata_(metadata),
      max_frames_(options.max_stack),
      full_source_path_(options.full_source_path),
      symbolizer_options_(symbolizer_options(options)) {}

StackId UserStacks::resolve(const Event& event, int32_t pid) {
  if (!event.user_stack.valid()) return {};
  if ((event.flags & kEventDump) == 0) {
    const auto addresses = pools_.stacks.view(event.user_stack);
    const uint64_t version = symbols_.spaces().version(pid);
    if (version == 0) return intern(make_chain(addresses, pid, UnwindEnd::outermost));
    const auto [found, is_new] = cache_.try_emplace(CacheKey{version, event.user_stack});
    if (is_new) found->second = intern(make_chain(addresses, pid, UnwindEnd::outermost));
    return found->second;
  }
  auto dump = pools_.dumps.take(event.user_stack.value);
  if (dump == nullptr) return {};
  Chain chain = unwind(*dump, pid);
  if (waits_for_maps(chain, *dump)) {
    late_bytes_ += dump->stack.size() + sizeof(LateDump) + sizeof(UserDump);
    late_.push_back({std::move(dump), {pid, symbols_.spaces().life(pid)}});
    chain.late = static_cast<uint32_t>(late_.size());
  }
  return intern(std::move(chain));
}

UserStacks::Chain UserStacks::unwind(const UserDump& dump, int32_t pid) {
  if (unwinder_ == nullptr)
    unwinder_ = std::make_unique<Unwinder>(symbols_.spaces(), symbolizer_options_);
  UnwindInput input;
  input.arch = unwind_arch(metadata_.arch, dump.abi);
  input.register_mask = dump.mask;
  input.registers = std::as_bytes(std::span(dump.regs));
  input.stack = dump.stack;
  input.swap = metadata_.swapped;
  std::vector<uint64_t> addresses;
  const UnwindEnd end = unwinder_->unwind(input, pid, max_frames_, addresses);
  return make_chain(addresses, pid, end);
}

// Not even where the program was is in a map: the maps are still to come, if they come.
bool UserStacks::waits_for_maps(const Chain& chain, const UserDump& dump) const {
  return chain.end == UnwindEnd::no_map && chain.places.size() == 1 &&
         late_bytes_ + dump.stack.size() <= kMaxLateBytes;
}

void UserStacks::drop(const Event& event) {
  if ((event.flags & kEventDump) != 0) pools_.dumps.take(event.user_stack.value);
}

UserStacks::Chain UserStacks::make_chain(std::span<const uint64_t> addresses, int32_t pid,
                                         UnwindEnd end) {
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
      place.program = {pid, symbols_.spaces().life(pid)};
    }
    chain.places.push_back(place);
  }
  return chain;
}

StackId UserStacks::intern(Chain chain) {
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
  if (chain.late != 0) {
    const LateDump& late = late_[chain.late - 1];
    if (symbols_.spaces().life(late.program.pid) == late.program.life)
      return name(unwind(*late.dump, late.program.pid));
  }
  std::vector<std::string> names;
  for (const Place& place : chain.places) name(place, names);
  if (chain.end != UnwindEnd::outermost)
    names.push_back("[chain cut: " + std::string(to_string(chain.end)) + "]");
  return names;
}

const Frame& UserStacks::frame_of(const Place& place) {
  AddressSpaces& spaces = symbols_.spaces();
  std::optional<DsoAddress> at = place.at;
  if (!place.mapped)
    at = spaces.life(place.program.pid) == place.program.life
             ? spaces.resolve(place.program.pid, place.at.address)
             : std::nullopt;
  if (!at) return symbols_.symbolizer().frame_without_map();
  return symbols_.symbolizer().frame({.at = *at, .is_return_address = place.is_return_address});
}

// One frame, and before it the functions that the compiler put into it.
void UserStacks::name(const Place& place, std::vector<std::string>& names) {
  const Frame& frame = frame_of(place);
  ++named_;
  for (const InlinedFrame& inlined : frame.inlined)
    names.push_back(with_source(std::string(inlined.name) + " (inlined)", inlined.source));
  if (!frame.name.empty()) {
    names.push_back(with_source(std::string(frame.name), frame.source));
    return;
  }
  ++unknown_[static_cast<size_t>(frame.unknown)];
  char offset[24];
  std::snprintf(offset, sizeof offset, "+0x%llx", static_cast<unsigned long long>(frame.offset));
  names.push_back(frame.module.empty() ? "[unknown]"
                                       : "[unknown] " + std::string(frame.module) + offset);
}

std::string UserStacks::with_source(std::string name, const SourceLine& source) const {
  if (!symbolizer_options_.source_lines || source.file.empty()) return name;
  name.append(" ").append(full_source_path_ ? source.file : base_name(source.file));
  if (source.line != 0) name.append(":").append(std::to_string(source.line));
  return name;
}

UnknownFrames UserStacks::unknown_frames() const {
  UnknownFrames frames;
  for (size_t i = 0; i < unknown_.size(); ++i)
    if (unknown_[i] != 0) frames.emplace(to_string(static_cast<UnknownReason>(i)), unknown_[i]);
  return frames;
}

}  // namespace perf_latency
