// SPDX-License-Identifier: GPL-2.0-only
// Names user frames: (DSO, address) as AddressSpaces::resolve() gives them -> function, and on
// request source lines and inlined callers.
//
// Files are opened when a frame of theirs is asked for, read-only, and never trusted: a file whose
// build id is not the recording's is not used. What is not known stays unknown, with the reason,
// which is counted once for each distinct frame. Results are cached; their views live as long as
// the Symbolizer. One thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/string_pool.h"
#include "symbolize/address_spaces.h"
#include "symbolize/dso.h"

namespace perf_latency {

enum class UnknownReason : uint8_t {
  none,
  no_map,            // no map of the process holds the address
  made_at_run_time,  // anonymous memory, and no perf-PID.map or jitdump names it
  file_not_found,    // neither the file nor a copy or debug file of its build is here
  file_unreadable,   // it is here but cannot be read (permissions, damaged)
  other_build,       // the file here has another build id
  no_symbols,        // the file is stripped
  no_symbol_there,   // the file has symbols, but none for this address
  count_
};
std::string_view to_string(UnknownReason reason);  // a phrase for people

struct SymbolizerOptions {
  std::string symfs;  // root directory that all paths of the recording are below
  std::vector<std::string> build_id_dirs;
  std::string debug_dir = "/usr/lib/debug";
  std::string perf_map_dir = "/tmp";
  bool live = true;  // may look into /proc/PID/root of processes that still run
  bool demangle = true;
  bool source_lines = false;   // Frame::source
  bool inline_frames = false;  // Frame::inlined (and source lines)
  bool debuginfod = true;      // only where DEBUGINFOD_URLS is set, too
};

struct SourceLine {
  std::string_view file;  // as the compiler wrote it; empty: unknown
  uint32_t line = 0;
};

// A function that the compiler put into the one around it.
struct InlinedFrame {
  std::string_view name;
  SourceLine source;  // the place inside this function
};

struct Frame {
  std::string_view name;    // demangled; empty: unknown
  std::string_view module;  // "libc.so.6", "[vdso]", "//anon"; empty where there is no map
  uint64_t offset = 0;      // in the function; in the module where the name is unknown
  SourceLine source;        // inside the function `name` itself
  std::span<const InlinedFrame> inlined;  // innermost first; `name` is the function around them
  UnknownReason unknown = UnknownReason::none;
};

// What is asked for. A return address belongs to the call before it: look-ups use address - 1.
struct FrameQuery {
  DsoAddress at;
  bool is_return_address = false;
  uint64_t time_ns = UINT64_MAX;  // code made at run time changes: which state is meant
};

class Symbolizer {
 public:
  Symbolizer(const DsoTable& dsos, SymbolizerOptions options);
  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;
  ~Symbolizer();

  const Frame& frame(const FrameQuery& query);

  // Frames without a map: for the count only.
  const Frame& frame_without_map();

  uint64_t named_frames() const { return named_; }
  uint64_t unknown_frames(UnknownReason reason) const {
    return unknown_[static_cast<size_t>(reason)];
  }

 private:
  struct Module;
  struct Key {
    DsoAddress at;
    uint64_t time_ns;
    bool is_return_address;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };

  Module& module(DsoId dso);
  Frame name_frame(const FrameQuery& query);
  Frame name_in_file(Module& module, const FrameQuery& query);
  Frame name_made_at_run_time(Module& module, const FrameQuery& query);
  void add_source(Module& module, uint64_t address, Frame& frame);
  std::string_view readable(std::string_view symbol);
  std::string_view display_name(Module& module, uint32_t symbol);

  const DsoTable& dsos_;
  SymbolizerOptions options_;
  StringPool strings_;
  std::unordered_map<DsoId, std::unique_ptr<Module>> modules_;
  std::unordered_map<Key, Frame, KeyHash> frames_;
  std::deque<std::vector<InlinedFrame>> inlined_;  // what Frame::inlined shows
  Frame no_map_;
  uint64_t named_ = 0;
  std::array<uint64_t, static_cast<size_t>(UnknownReason::count_)> unknown_{};
};

}  // namespace perf_latency
