// SPDX-License-Identifier: GPL-2.0-only
// Names of kernel addresses: from kallsyms text, a vmlinux, module files, and KSYMBOL records
// (BPF).
//
// Rules. An address belongs to the nearest symbol below it, as in the kernel's `%ps`
// (kernel/kallsyms.c get_symbol_pos(), kernel/module/kallsyms.c find_kallsyms_symbol(), 6.12); of
// several symbols at one address the first in kallsyms order wins (scripts/kallsyms.c
// compare_symbols(): weak ones, section markers, names with more leading underscores come last).
// Code and data are apart: lookup() never answers with a variable. `$x` and `.L` mapping symbols
// and per-cpu offsets near 0 are not symbols of addresses. Behind `_etext`, `_einittext` and more
// than kMaxOpenBytes behind the last symbol of a module there is nothing. Addresses in and out are
// those of the recording; the file's differ by shift() (KASLR). Module and BPF symbols of a
// kallsyms file belong to one boot: with another shift than 0 they are dropped.
//
// Views in results live as long as the KernelSymbols. Const members may be called by several
// threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "symbolize/build_id.h"
#include "symbolize/file_bytes.h"

namespace perf_latency {

struct KernelSymbol {
  std::string_view name;
  std::string_view module;  // "" for the kernel proper, "ext4", "bpf"
  uint64_t start = 0;
  uint64_t offset = 0;  // address - start
};

// A module's file, for kernels whose symbols come from a vmlinux. It is read when an address in its
// range is looked up for the first time.
struct KernelModule {
  std::string name;  // without brackets
  uint64_t start = 0;
  uint64_t end = 0;
  std::vector<std::string> paths;  // tried in turn; .ko, .ko.gz, .ko.xz, .ko.zst
  BuildId build_id;                // empty: any file will do
};

class KernelSymbols {
 public:
  static constexpr uint64_t kMaxOpenBytes = 64 * 1024;

  // Text as /proc/kallsyms or System.map have it; a .gz, .xz or .zst file is unpacked. An Error
  // when there is no symbol in it, or when all addresses are zero (kptr_restrict).
  static Result<KernelSymbols> from_kallsyms(const std::string& path);
  static Result<KernelSymbols> from_kallsyms(FileBytes text);
  // A vmlinux (or the `elf` of the build-id cache).
  static Result<KernelSymbols> from_elf(const std::string& path);
  static Result<KernelSymbols> from_elf(FileBytes file);

  KernelSymbols(KernelSymbols&&) noexcept;
  KernelSymbols& operator=(KernelSymbols&&) noexcept;
  ~KernelSymbols();

  // What must be added to the file's addresses to get the recording's.
  void set_shift(uint64_t shift);
  uint64_t shift() const;

  std::optional<KernelSymbol> lookup(uint64_t address) const;
  // Variables: names the address of a lock. Where the file has no variables to speak of
  // (CONFIG_KALLSYMS_ALL off), only exact matches count.
  std::optional<KernelSymbol> lookup_data(uint64_t address) const;
  // The recording's address of a kernel symbol, code or data; modules' symbols are not searched.
  std::optional<uint64_t> address_of(std::string_view name) const;

  // A KSYMBOL record. What was removed can still be looked up until another one takes its place,
  // since chains are named after the end of the recording.
  void add_ksymbol(uint64_t address, uint32_t length, std::string_view name);

  void add_module(KernelModule module);
  // Whether kallsyms listed symbols of that module (which a shift makes useless).
  bool has_module(std::string_view name) const;

  size_t symbol_count() const;  // code and data, without modules' files and KSYMBOL
  BuildId build_id() const;     // of an ELF file

 private:
  struct State;
  explicit KernelSymbols(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace perf_latency
