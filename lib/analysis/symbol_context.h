// SPDX-License-Identifier: GPL-2.0-only
// Names the addresses of one recording.
//
// While events come it collects what naming needs: the kernel's map, modules, BPF symbols, and, where
// user frames are wanted, the mappings of processes (in order of time, since they change). The kernel's
// symbols are looked for when the first name is asked for, so that recordings whose maps come late
// (pipes, tail synthesis) are named like others.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/options.h"
#include "report/report.h"
#include "symbolize/address_spaces.h"
#include "symbolize/kernel_image.h"
#include "symbolize/symbolizer.h"

namespace perf_latency {

// Where symbols of user files are looked for, by the user's options.
SymbolizerOptions symbolizer_options(const AnalysisOptions& options);

class SymbolContext {
 public:
  SymbolContext(const RecordingContext& context, const AnalysisOptions& options);

  // Takes maps, KSYMBOL, forks, execs and exits; takes over the MapRecord of the event.
  void handle(const Event& event);

  // The kernel's symbols; null when there are none (why: kernel_error()).
  const KernelSymbols* kernel();
  const std::string& kernel_source() { return kernel_source_; }
  const std::string& kernel_error() { return kernel_error_; }

  // The function of a kernel frame. Return addresses are looked up one byte before, so that a call at
  // the very end of a function keeps its name. Empty when there is none.
  std::string_view kernel_function(uint64_t address, bool is_return_address);
  // "function [module]", as the kernel's %ps prints it, or "[unknown] [module]+0xOFFSET".
  std::string kernel_frame(uint64_t address, bool is_return_address);

  uint64_t frames_named() const { return named_; }
  uint64_t frames_unknown() const { return unknown_; }
  UnknownFrames unknown_frames() const;

  AddressSpaces& spaces() { return spaces_; }
  Symbolizer& symbolizer() { return symbolizer_; }

 private:
  void take_kernel_map(const MapRecord& map);
  void find_kernel();
  std::string nameless_kernel_frame(uint64_t address) const;

  const Metadata& metadata_;
  StringPool& strings_;
  const AnalysisOptions& options_;
  std::optional<KernelMap> kernel_map_;
  std::vector<KernelModule> modules_;
  struct Ksymbol {
    uint64_t address;
    uint32_t length;
    StringId name;
  };
  std::vector<Ksymbol> ksymbols_;
  BuildId kernel_build_id_;
  bool looked_for_kernel_ = false;
  std::optional<KernelImage> kernel_;
  std::string kernel_source_;
  std::string kernel_error_;
  DsoTable dsos_;
  AddressSpaces spaces_;
  Symbolizer symbolizer_;
  uint64_t named_ = 0;
  uint64_t unknown_ = 0;
};

}  // namespace perf_latency
