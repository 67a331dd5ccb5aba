// SPDX-License-Identifier: GPL-2.0-only
#include "base/diagnostics.h"

#include <algorithm>

namespace perf_latency {
namespace {

// The id is the name of the enumerator with dashes: made once, when the program starts.
struct Table {
  static constexpr size_t kKinds = static_cast<size_t>(Diag::count_);
  std::array<std::string, kKinds> ids;
  std::array<DiagnosticKind, kKinds> kinds;

  Table() {
    size_t i = 0;
#define PL_DIAGNOSTIC(name, severity, text) set(i++, #name, Severity::severity, text);
#include "base/diagnostics.def"
#undef PL_DIAGNOSTIC
  }
  void set(size_t i, const char* name, Severity severity, std::string_view text) {
    ids[i] = name;
    std::replace(ids[i].begin(), ids[i].end(), '_', '-');
    kinds[i] = {ids[i], severity, text};
  }
};

}  // namespace

const DiagnosticKind& diagnostic_kind(Diag diag) {
  static const Table table;
  return table.kinds[static_cast<size_t>(diag)];
}

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::info:
      return "info";
    case Severity::loss:
      return "loss";
    case Severity::error:
      return "error";
  }
  return "error";
}

void Diagnostics::add_detail(Diag diag, std::string_view detail, uint64_t n) {
  std::string& first = details_[static_cast<size_t>(diag)];
  if (first.empty()) first = detail;
  add(diag, n);
}

void Diagnostics::merge(const Diagnostics& other) {
  for (size_t i = 0; i < kKinds; ++i) {
    counts_[i] += other.counts_[i];
    if (details_[i].empty()) details_[i] = other.details_[i];
  }
}

}  // namespace perf_latency
