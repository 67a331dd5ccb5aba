// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/symbol_context.h"

#include <algorithm>
#include <cstdio>

#include "symbolize/names.h"

namespace perf_latency {
SymbolizerOptions symbolizer_options(const AnalysisOptions& options) {
  SymbolizerOptions result;
  result.symfs = options.symfs;
  result.build_id_dirs = default_build_id_dirs();
  result.source_lines = options.source_lines;
  result.inline_frames = options.inline_frames;
  return result;
}

namespace {

BuildId as_build_id(const std::vector<uint8_t>& bytes) {
  return BuildId(std::as_bytes(std::span(bytes)));
}

// "[ext4]" and "/lib/modules/6.1.0/kernel/fs/ext4/ext4.ko.xz" are the same module.
std::string module_name(std::string_view map_name) {
  if (map_name.starts_with('[') && map_name.ends_with(']'))
    return std::string(map_name.substr(1, map_name.size() - 2));
  std::string_view name = base_name(map_name);
  name = name.substr(0, name.find(".ko"));
  std::string result(name);
  std::replace(result.begin(), result.end(), '-', '_');
  return result;
}

}  // namespace

SymbolContext::SymbolContext(const RecordingContext& context, const AnalysisOptions& options)
    : metadata_(context.metadata),
      strings_(context.pools.strings),
      options_(options),
      spaces_(dsos_),
      symbolizer_(dsos_, symbolizer_options(options)) {}

void SymbolContext::take_kernel_map(const MapRecord& map) {
  if (const auto reference = kernel_reference_symbol(map.name)) {
    if (!kernel_map_)
      kernel_map_ = KernelMap{map.start, map.length, map.page_offset, std::string(*reference)};
    if (!map.build_id.empty()) kernel_build_id_ = as_build_id(map.build_id);
    return;
  }
  KernelModule module;
  module.name = module_name(map.name);
  module.start = map.start;
  module.end = map.start + map.length;
  if (map.name.starts_with('/')) module.paths.push_back(map.name);
  module.build_id = as_build_id(map.build_id);
  modules_.push_back(std::move(module));
}

void SymbolContext::handle(const Event& event) {
  switch (event.kind) {
    case EventKind::record_mmap: {
      const std::unique_ptr<MapRecord> map(event.map.map);
      if (map == nullptr) break;
      if ((event.flags & kEventKernel) != 0)
        take_kernel_map(*map);
      else if (!map->data)
        spaces_.mmap({event.map.pid, map->start, map->length, map->page_offset, map->name,
                      as_build_id(map->build_id)});
      break;
    }
    case EventKind::record_ksymbol:
      if (event.ksymbol.unregister == 0)
        ksymbols_.push_back({event.ksymbol.address, event.ksymbol.length, event.ksymbol.name});
      break;
    case EventKind::record_fork:
      spaces_.fork(event.fork.child_pid, event.fork.parent_pid, event.time_ns != 0);
      break;
    case EventKind::record_exit:
      spaces_.exit_thread(event.fork.child_pid);
      break;
    case EventKind::record_comm:
      if ((event.flags & kEventExec) != 0) spaces_.exec(event.task.pid);
      break;
    default:
      break;
  }
}

void SymbolContext::find_kernel() {
  looked_for_kernel_ = true;
  KernelImageInput input;
  input.map = kernel_map_;
  input.build_id = kernel_build_id_;
  for (const BuildIdEntry& entry : metadata_.build_ids) {
    const BuildId id = as_build_id(entry.id);
    if (entry.pid == -1 && entry.path.starts_with("[kernel.kallsyms]")) {
      input.build_id = id;
    } else if (entry.cpumode == kMiscKernel) {
      for (KernelModule& module : modules_)
        if (module.name == module_name(entry.path)) module.build_id = id;
    } else {
      dsos_.add_build_id(entry.path, id);
    }
  }
  input.os_release = metadata_.os_release;
  input.modules = modules_;
  input.kallsyms = options_.kallsyms;
  input.vmlinux = options_.vmlinux;
  input.symfs = options_.symfs;
  input.force = options_.force;
  input.build_id_dirs = default_build_id_dirs();
  auto image = find_kernel_image(input);
  if (!image) {
    kernel_error_ = image.error().what;
    return;
  }
  kernel_ = std::move(*image);
  kernel_source_ = kernel_->source;
  for (const Ksymbol& symbol : ksymbols_)
    kernel_->symbols.add_ksymbol(symbol.address, symbol.length, strings_.view(symbol.name));
}

const KernelSymbols* SymbolContext::kernel() {
  if (!looked_for_kernel_) find_kernel();
  return kernel_ ? &kernel_->symbols : nullptr;
}

std::string_view SymbolContext::kernel_function(uint64_t address, bool is_return_address) {
  const KernelSymbols* symbols = kernel();
  if (symbols == nullptr) return {};
  const auto symbol = symbols->lookup(address - (is_return_address ? 1 : 0));
  return symbol ? symbol->name : std::string_view();
}

std::string SymbolContext::kernel_frame(uint64_t address, bool is_return_address) {
  ++named_;
  const KernelSymbols* symbols = kernel();
  if (symbols != nullptr) {
    if (const auto symbol = symbols->lookup(address - (is_return_address ? 1 : 0))) {
      std::string name(symbol->name);
      if (!symbol->module.empty()) name.append(" [").append(symbol->module).append("]");
      return name;
    }
  }
  ++unknown_;
  return nameless_kernel_frame(address);
}

std::string SymbolContext::nameless_kernel_frame(uint64_t address) const {
  const auto text = [&](std::string_view module, uint64_t start) {
    char offset[24];
    std::snprintf(offset, sizeof offset, "+0x%llx",
                  static_cast<unsigned long long>(address - start));
    return std::string("[unknown] [").append(module).append("]").append(offset);
  };
  if (kernel_map_ && address - kernel_map_->start < kernel_map_->length)
    return text("kernel.kallsyms", kernel_map_->start);
  for (const KernelModule& module : modules_)
    if (address >= module.start && address < module.end) return text(module.name, module.start);
  return "[unknown]";
}

UnknownFrames SymbolContext::unknown_frames() const {
  if (unknown_ == 0) return {};
  return {{kernel_ ? "no kernel symbol covers the address" : kernel_error_, unknown_}};
}

}  // namespace perf_latency
