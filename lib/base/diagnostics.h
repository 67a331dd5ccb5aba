// SPDX-License-Identifier: GPL-2.0-only
// Counters for what was lost, odd or wrong in an input that could still be used.
//
// Invariant: every kind stands in kDiagnosticTable once, in the order of the enum. Counting is a
// plain addition (each worker has its own Diagnostics; they are merged at the end). Reports print
// every kind with a count other than zero, JSON too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace perf_latency {

enum class Severity { info, loss, error };

enum class Diag : uint8_t {
#define PL_DIAGNOSTIC(name, severity, text) name,
#include "base/diagnostics.def"
#undef PL_DIAGNOSTIC
  count_
};

struct DiagnosticKind {
  std::string_view id;  // kebab-case, stable: it is what JSON prints
  Severity severity;
  std::string_view text;  // one sentence for people
};

const DiagnosticKind& diagnostic_kind(Diag diag);
std::string_view to_string(Severity severity);

class Diagnostics {
 public:
  void add(Diag diag, uint64_t n = 1) { counts_[static_cast<size_t>(diag)] += n; }
  // Keeps `detail` (what exactly, where) of the first occurrence only.
  void add_detail(Diag diag, std::string_view detail, uint64_t n = 1);
  uint64_t count(Diag diag) const { return counts_[static_cast<size_t>(diag)]; }
  const std::string& detail(Diag diag) const { return details_[static_cast<size_t>(diag)]; }
  void merge(const Diagnostics& other);

 private:
  static constexpr size_t kKinds = static_cast<size_t>(Diag::count_);
  std::array<uint64_t, kKinds> counts_{};
  std::array<std::string, kKinds> details_{};
};

}  // namespace perf_latency
