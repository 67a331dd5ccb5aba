// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/symbolizer.h"

#include <elf.h>

#include <optional>
#include <utility>

#include "symbolize/demangle.h"
#include "symbolize/elf_symbols.h"
#include "symbolize/names.h"
#include "symbolize/runtime_files.h"
#include "symbolize/source_info.h"
#include "symbolize/symbol_files.h"

namespace perf_latency {

std::string_view to_string(UnknownReason reason) {
  switch (reason) {
    case UnknownReason::none:
      return "known";
    case UnknownReason::no_map:
      return "not in any memory map";
    case UnknownReason::made_at_run_time:
      return "code made at run time, without a perf-PID.map or jitdump here";
    case UnknownReason::file_not_found:
      return "the file is not here";
    case UnknownReason::file_unreadable:
      return "the file cannot be read";
    case UnknownReason::other_build:
      return "the file here has another build id";
    case UnknownReason::no_symbols:
      return "the file is stripped and its debug file is not here";
    case UnknownReason::no_symbol_there:
      return "the file has no symbol at this address";
    case UnknownReason::count_:
      break;
  }
  return "";
}

// What is known of one DSO.
struct Symbolizer::Module {
  std::string_view short_name;
  UnknownReason unusable = UnknownReason::none;

  // Files.
  std::optional<OpenElf> image;
  std::optional<OpenElf> debug;
  std::optional<OpenElf> debugdata;
  std::optional<OpenElf> alternate;
  ElfSymbols symbols;
  bool stripped = false;                                 // of all but its exported symbols
  std::unordered_map<uint32_t, std::string_view> names;  // demangled, by symbol
  bool source_tried = false;
  std::unique_ptr<SourceInfo> source;

  // Memory whose code was made at run time.
  struct Code {
    std::string_view file_name;
    RuntimeCode functions;
  };
  std::vector<Code> made;

  void load(const SymbolFiles& files, const Dso& dso, const std::vector<BuildId>& ids);
  void load_source(const SymbolFiles& files);
  std::optional<uint64_t> address_of_offset(uint64_t offset) const;
};

void Symbolizer::Module::load(const SymbolFiles& files, const Dso& dso,
                              const std::vector<BuildId>& ids) {
  image = files.find_image(dso, ids, unusable);
  if (!image) return;
  unusable = UnknownReason::none;
  symbols.add(*image->elf);
  if (image->elf->section_of_type(SHT_SYMTAB) == nullptr) {
    debug = files.find_debug(*image);
    if (debug) {
      symbols.add(*debug->elf);
    } else if ((debugdata = SymbolFiles::unpack_debugdata(*image))) {
      symbols.add(*debugdata->elf);
    }
  }
  stripped = image->elf->section_of_type(SHT_SYMTAB) == nullptr && !debug && !debugdata;
  symbols.add_plt(*image->elf);
  symbols.finish();
  if (symbols.empty()) unusable = UnknownReason::no_symbols;
}

void Symbolizer::Module::load_source(const SymbolFiles& files) {
  source_tried = true;
  const auto has_dwarf = [](const std::optional<OpenElf>& file) {
    return file && file->elf->section(".debug_info") != nullptr;
  };
  const bool in_image = has_dwarf(image);
  if (!in_image && !debug) debug = files.find_debug(*image);
  if (!in_image && !has_dwarf(debug)) return;
  const OpenElf& dwarf = in_image ? *image : *debug;
  alternate = files.find_alternate(dwarf);
  source = SourceInfo::open(dwarf.file.bytes(),
                            alternate ? alternate->file.bytes() : std::span<const std::byte>());
}

std::optional<uint64_t> Symbolizer::Module::address_of_offset(uint64_t offset) const {
  if (const auto address = image->elf->address_of_offset(offset)) return address;
  // A debug file in the place of the image: objcopy --only-keep-debug leaves the addresses of the
  // segments, not their offsets. Linkers put the image's bytes at offsets equal to addresses, from
  // the first segment on.
  for (const ElfSegment& segment : image->elf->segments())
    if (segment.type == PT_LOAD)
      return segment.file_bytes == 0 ? std::optional((segment.address & ~uint64_t{0xfff}) + offset)
                                     : std::nullopt;
  return std::nullopt;
}

namespace {

// The vsyscall page is the same in every kernel (arch/x86/entry/vsyscall/vsyscall_emu_64.S, 6.12).
std::string_view vsyscall_name(uint64_t address) {
  switch (address & 0xc00) {
    case 0x000:
      return "vgettimeofday";
    case 0x400:
      return "vtime";
    case 0x800:
      return "vgetcpu";
  }
  return {};
}

}  // namespace

size_t Symbolizer::KeyHash::operator()(const Key& key) const {
  uint64_t hash = key.at.address * 0x9e3779b97f4a7c15ull;
  hash = (hash ^ hash >> 32 ^ key.at.dso.value) * 0xbf58476d1ce4e5b9ull;
  hash = (hash ^ hash >> 29 ^ key.time_ns) * 0x94d049bb133111ebull;
  return hash ^ hash >> 31 ^ static_cast<uint64_t>(key.is_return_address);
}

Symbolizer::Symbolizer(const DsoTable& dsos, SymbolizerOptions options)
    : dsos_(dsos), options_(std::move(options)) {
  no_map_.unknown = UnknownReason::no_map;
}

Symbolizer::~Symbolizer() = default;

Symbolizer::Module& Symbolizer::module(DsoId id) {
  std::unique_ptr<Module>& module = modules_[id];
  if (module) return *module;
  module = std::make_unique<Module>();
  const Dso& dso = dsos_[id];
  module->short_name = strings_.view(strings_.intern(base_name(dso.name)));
  if (dso.kind == DsoKind::anonymous) {
    module->short_name = strings_.view(strings_.intern(dso.name));
    for (OpenCode& code : open_runtime_code(options_, dso.pid, dsos_.jitdump(dso.pid)))
      module->made.push_back(
          {strings_.view(strings_.intern(base_name(code.path))), std::move(code.functions)});
  } else if (dso.kind != DsoKind::vsyscall) {
    module->load(SymbolFiles(options_), dso, dsos_.build_ids(id));
  }
  return *module;
}

std::string_view Symbolizer::display_name(Module& module, uint32_t symbol) {
  const auto [at, is_new] = module.names.try_emplace(symbol);
  if (!is_new) return at->second;
  return at->second = readable(module.symbols[symbol].name);
}

std::string_view Symbolizer::readable(std::string_view symbol) {
  // A PLT stub is its function's name with a mark behind it.
  constexpr std::string_view kStub = "@plt";
  const bool is_stub = symbol.ends_with(kStub);
  const auto plain = symbol.substr(0, symbol.size() - (is_stub ? kStub.size() : 0));
  auto name = options_.demangle ? demangle(plain) : std::nullopt;
  if (!name) return strings_.view(strings_.intern(symbol));
  if (is_stub) *name += kStub;
  return strings_.view(strings_.intern(*name));
}

// With inlined frames the function around them gets its name from DWARF too, as perf does it: the
// source's (`level3`), not that of a clone or an alias (`level3.constprop.0`).
void Symbolizer::add_source(Module& module, uint64_t address, Frame& frame) {
  if (!module.source_tried) module.load_source(SymbolFiles(options_));
  if (!module.source) return;
  const auto places = module.source->describe(address);
  if (places.empty()) return;
  const auto keep = [&](const SourceLine& line) {
    return SourceLine{strings_.view(strings_.intern(line.file)), line.line};
  };
  frame.source = keep(places.back().source);
  if (!options_.inline_frames) return;
  if (!places.back().function.empty()) frame.name = readable(places.back().function);
  if (places.size() < 2) return;
  std::vector<InlinedFrame>& inlined = inlined_.emplace_back();
  for (size_t i = 0; i + 1 < places.size(); ++i)
    inlined.push_back({readable(places[i].function), keep(places[i].source)});
  frame.inlined = inlined;
}

Frame Symbolizer::name_made_at_run_time(Module& module, const FrameQuery& query) {
  Frame frame;
  frame.module = module.short_name;
  frame.offset = query.at.address;
  frame.unknown =
      module.made.empty() ? UnknownReason::made_at_run_time : UnknownReason::no_symbol_there;
  const uint64_t back = query.is_return_address && query.at.address != 0 ? 1 : 0;
  for (const Module::Code& code : module.made) {
    const auto* function = code.functions.find(query.at.address - back, query.time_ns);
    if (function == nullptr) continue;
    frame.module = code.file_name;
    frame.name = readable(function->name);
    frame.offset = query.at.address - function->start;
    frame.unknown = UnknownReason::none;
    break;
  }
  return frame;
}

Frame Symbolizer::name_in_file(Module& module, const FrameQuery& query) {
  Frame frame;
  frame.module = module.short_name;
  frame.offset = query.at.address;
  frame.unknown = module.unusable;
  if (module.unusable != UnknownReason::none) return frame;
  const uint64_t back = query.is_return_address && query.at.address != 0 ? 1 : 0;
  const auto address = module.address_of_offset(query.at.address - back);
  const auto symbol = address ? module.symbols.find(*address) : std::nullopt;
  if (!symbol) {
    frame.unknown = module.stripped ? UnknownReason::no_symbols : UnknownReason::no_symbol_there;
    return frame;
  }
  frame.name = display_name(module, *symbol);
  frame.offset = *address + back - module.symbols[*symbol].start;
  if (options_.source_lines || options_.inline_frames) add_source(module, *address, frame);
  return frame;
}

Frame Symbolizer::name_frame(const FrameQuery& query) {
  Module& module = this->module(query.at.dso);
  const DsoKind kind = dsos_[query.at.dso].kind;
  if (kind == DsoKind::anonymous) return name_made_at_run_time(module, query);
  if (kind != DsoKind::vsyscall) return name_in_file(module, query);
  Frame frame;
  frame.module = module.short_name;
  frame.name = vsyscall_name(query.at.address);
  frame.offset = query.at.address & 0x3ff;
  if (frame.name.empty()) frame.unknown = UnknownReason::no_symbol_there;
  return frame;
}

const Frame& Symbolizer::frame(const FrameQuery& query) {
  if (!query.at.dso.valid()) return frame_without_map();
  const bool changes = dsos_[query.at.dso].kind == DsoKind::anonymous;
  const Key key{query.at, changes ? query.time_ns : 0, query.is_return_address};
  const auto [at, is_new] = frames_.try_emplace(key);
  if (is_new) {
    at->second = name_frame(query);
    if (at->second.unknown == UnknownReason::none)
      ++named_;
    else
      ++unknown_[static_cast<size_t>(at->second.unknown)];
  }
  return at->second;
}

const Frame& Symbolizer::frame_without_map() {
  ++unknown_[static_cast<size_t>(UnknownReason::no_map)];
  return no_map_;
}

}  // namespace perf_latency
