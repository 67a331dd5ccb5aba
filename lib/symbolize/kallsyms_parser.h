// SPDX-License-Identifier: GPL-2.0-only
// Parses the text of /proc/kallsyms (and System.map): "ADDRESS TYPE NAME[\t[MODULE]]" a line.
//
// Nothing is copied: the names stay in the text. A line that is not of this form is skipped.
// Source: kernel/kallsyms.c s_show(), 6.12.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "symbolize/symbol_list.h"

namespace perf_latency {

struct KallsymsText {
  SymbolList code;
  SymbolList data;
  std::vector<std::string_view> modules{""};
  uint64_t lines = 0;    // that have the form of a symbol
  bool all_zero = true;  // no address but 0 was seen
};

KallsymsText parse_kallsyms(std::string_view text);

}  // namespace perf_latency
