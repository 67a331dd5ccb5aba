// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/kernel_symbols.h"

#include <elf.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/string_pool.h"
#include "symbolize/elf_file.h"
#include "symbolize/kallsyms_parser.h"
#include "symbolize/kernel_elf.h"
#include "symbolize/symbol_list.h"

namespace perf_latency {
namespace {

// Reading the names one after the other costs as much as an index after about this many look-ups.
constexpr unsigned kLinearLookups = 8;
// Variables per function below which a kallsyms file has no variables to speak of.
constexpr size_t kFewDataDivisor = 16;
constexpr size_t kMaxKsymbols = 1 << 20;

bool ends_the_text(std::string_view name) {
  return name == "_etext" || name == "_einittext" || name == "_end";
}

// Symbols made at run time, with known ends.
struct Ksymbol {
  uint64_t end = 0;
  std::string_view name;  // in ksymbol_names
};

struct ModuleFile {
  KernelModule where;
  bool tried = false;
  FileBytes file;
  SymbolList code;  // offsets from where.start
};

std::string_view ksymbol_module(std::string_view name) {
  return name.starts_with("bpf_") ? "bpf" : "";
}

}  // namespace

struct KernelSymbols::State {
  FileBytes file;
  SymbolList code;
  SymbolList data;
  std::vector<std::string_view> modules{""};
  uint64_t shift = 0;
  BuildId build_id;
  std::map<uint64_t, Ksymbol> ksymbols;  // by start
  StringPool ksymbol_names;              // keeps the names of those that were replaced, too
  std::map<uint64_t, std::unique_ptr<ModuleFile>> files;  // by start

  std::mutex mutex;  // guards what const members fill when first asked
  unsigned name_lookups = 0;
  std::unordered_map<std::string_view, uint64_t> by_name;

  std::optional<KernelSymbol> find(const SymbolList& list, uint64_t address) const;
  std::optional<uint64_t> find_name(std::string_view name);
  static void load(ModuleFile& module);
};

std::optional<KernelSymbol> KernelSymbols::State::find(const SymbolList& list,
                                                       uint64_t address) const {
  const uint64_t in_file = address - shift;
  const SymbolEntry* entry = list.below(in_file);
  if (entry == nullptr || ends_the_text(entry->name())) return std::nullopt;
  const uint64_t offset = in_file - entry->address;
  const SymbolEntry* next = list.after(entry);
  const bool open = next == nullptr || next->module != entry->module;
  if (open && offset >= kMaxOpenBytes) return std::nullopt;
  return KernelSymbol{entry->name(), modules[entry->module], entry->address + shift, offset};
}

std::optional<uint64_t> KernelSymbols::State::find_name(std::string_view name) {
  const auto each = [&](auto&& visit) {
    for (const SymbolList* list : {&code, &data})
      for (const SymbolEntry& entry : list->entries())
        if (entry.module == 0 && visit(entry)) return;
  };
  std::optional<uint64_t> found;
  if (++name_lookups <= kLinearLookups) {
    each([&](const SymbolEntry& entry) {
      if (entry.name() == name) found = entry.address;
      return found.has_value();
    });
    return found;
  }
  if (by_name.empty()) {
    by_name.reserve(code.size() + data.size());
    each([&](const SymbolEntry& entry) {
      by_name.try_emplace(entry.name(), entry.address);
      return false;
    });
  }
  if (const auto at = by_name.find(name); at != by_name.end()) found = at->second;
  return found;
}

KernelSymbols::KernelSymbols(std::unique_ptr<State> state) : state_(std::move(state)) {}
KernelSymbols::KernelSymbols(KernelSymbols&&) noexcept = default;
KernelSymbols& KernelSymbols::operator=(KernelSymbols&&) noexcept = default;
KernelSymbols::~KernelSymbols() = default;

Result<KernelSymbols> KernelSymbols::from_kallsyms(const std::string& path) {
  auto file = FileBytes::open_trusted(path);
  if (!file) return file.error();
  auto symbols = from_kallsyms(std::move(*file));
  if (!symbols) return make_error(path + ": " + symbols.error().what);
  return symbols;
}

Result<KernelSymbols> KernelSymbols::from_kallsyms(FileBytes text) {
  KallsymsText parsed = parse_kallsyms(text.text());
  if (parsed.lines == 0) return make_error("not a list of kernel symbols");
  if (parsed.all_zero)
    return make_error("all addresses are zero (kernel.kptr_restrict hid them from its reader)");
  auto state = std::make_unique<State>();
  state->file = std::move(text);
  state->code = std::move(parsed.code);
  state->data = std::move(parsed.data);
  state->modules = std::move(parsed.modules);
  return KernelSymbols(std::move(state));
}

Result<KernelSymbols> KernelSymbols::from_elf(const std::string& path) {
  auto file = FileBytes::open(path);
  if (!file) return file.error();
  auto symbols = from_elf(std::move(*file));
  if (!symbols) return make_error(path + ": " + symbols.error().what);
  return symbols;
}

Result<KernelSymbols> KernelSymbols::from_elf(FileBytes file) {
  const auto elf = ElfFile::parse(file.bytes());
  if (!elf) return elf.error();
  KernelElfSymbols read = read_vmlinux_symbols(*elf);
  if (read.code.size() == 0) return make_error("no symbol table");
  auto state = std::make_unique<State>();
  state->build_id = elf->build_id();
  state->code = std::move(read.code);
  state->data = std::move(read.data);
  state->file = std::move(file);
  return KernelSymbols(std::move(state));
}

void KernelSymbols::set_shift(uint64_t shift) {
  state_->shift = shift;
  if (shift == 0) return;
  state_->code.drop_modules();
  state_->data.drop_modules();
}

uint64_t KernelSymbols::shift() const { return state_->shift; }
BuildId KernelSymbols::build_id() const { return state_->build_id; }
size_t KernelSymbols::symbol_count() const { return state_->code.size() + state_->data.size(); }

void KernelSymbols::State::load(ModuleFile& module) {
  module.tried = true;
  for (const std::string& path : module.where.paths) {
    auto file = FileBytes::open(path);
    if (!file) continue;
    const auto elf = ElfFile::parse(file->bytes());
    if (!elf || elf->type() != ET_REL) continue;
    if (!module.where.build_id.empty() && !(elf->build_id() == module.where.build_id)) continue;
    module.code = read_module_symbols(*elf);
    module.file = std::move(*file);
    return;
  }
}

std::optional<KernelSymbol> KernelSymbols::lookup(uint64_t address) const {
  State& state = *state_;
  if (auto at = state.ksymbols.upper_bound(address); at != state.ksymbols.begin()) {
    --at;
    if (address < at->second.end)
      return KernelSymbol{at->second.name, ksymbol_module(at->second.name), at->first,
                          address - at->first};
  }
  if (auto at = state.files.upper_bound(address); at != state.files.begin()) {
    ModuleFile& module = *(--at)->second;
    if (address < module.where.end) {
      const std::lock_guard lock(state.mutex);
      if (!module.tried) State::load(module);
      const SymbolEntry* entry = module.code.below(address - module.where.start);
      if (entry != nullptr)
        return KernelSymbol{entry->name(), module.where.name, module.where.start + entry->address,
                            address - module.where.start - entry->address};
    }
  }
  return state.find(state.code, address);
}

std::optional<KernelSymbol> KernelSymbols::lookup_data(uint64_t address) const {
  const auto found = state_->find(state_->data, address);
  const bool few = state_->data.size() < state_->code.size() / kFewDataDivisor;
  if (found && few && found->offset != 0) return std::nullopt;
  return found;
}

std::optional<uint64_t> KernelSymbols::address_of(std::string_view name) const {
  const std::lock_guard lock(state_->mutex);
  const auto in_file = state_->find_name(name);
  if (!in_file) return std::nullopt;
  return *in_file + state_->shift;
}

void KernelSymbols::add_ksymbol(uint64_t address, uint32_t length, std::string_view name) {
  const uint64_t end = address + length;
  auto& ksymbols = state_->ksymbols;
  StringPool& names = state_->ksymbol_names;
  if (length == 0 || end < address || ksymbols.size() >= kMaxKsymbols) return;
  auto overlapping = ksymbols.lower_bound(address);
  if (overlapping != ksymbols.begin() && std::prev(overlapping)->second.end > address)
    --overlapping;
  while (overlapping != ksymbols.end() && overlapping->first < end)
    overlapping = ksymbols.erase(overlapping);
  ksymbols.emplace(address, Ksymbol{end, names.view(names.intern(name))});
}

bool KernelSymbols::has_module(std::string_view name) const {
  const auto& names = state_->modules;
  return state_->shift == 0 && std::find(names.begin() + 1, names.end(), name) != names.end();
}

void KernelSymbols::add_module(KernelModule module) {
  if (module.start >= module.end) return;
  const uint64_t start = module.start;
  auto file = std::make_unique<ModuleFile>();
  file->where = std::move(module);
  state_->files.insert_or_assign(start, std::move(file));
}

}  // namespace perf_latency
