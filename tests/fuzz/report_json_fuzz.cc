// SPDX-License-Identifier: GPL-2.0-only
// A kept report from hostile text: it is refused, or it can be compared with itself, printed, and written
// and read once more.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "analysis/diff.h"
#include "render/parse_json.h"
#include "render/render.h"

using namespace perf_latency;  // NOLINT(google-build-using-namespace)

namespace {

void compare_with_itself(const Report& report, DiffPer per) {
  DiffOptions options;
  options.per = per;
  options.event = "sched:sched_switch";
  Diff diff(options);
  for (const bool after : {false, false, true, true})
    if (!diff.add(after, report)) return;
  if (!diff.shown_measure()) return;
  const Report result = diff.make_report();
  for (const Format format : {Format::text, Format::json, Format::csv, Format::lkp}) {
    std::string out;
    RenderOptions render_options;
    render_options.width = 60;
    if (!render(result, format, render_options, out)) std::abort();
  }
  const size_t marked = result.tables[0].column("marked");
  for (const Row& row : result.tables[0].rows)
    if (row.cells[marked] == Cell(uint64_t{1})) std::abort();  // nothing differs from itself
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto report = parse_json_report({reinterpret_cast<const char*>(data), size});
  if (!report) return 0;
  for (const DiffPer per : {DiffPer::run, DiffPer::second, DiffPer::event})
    compare_with_itself(*report, per);
  return 0;
}
