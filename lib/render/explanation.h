// SPDX-License-Identifier: GPL-2.0-only
// A wait told step by step, as text and as JSON ("perf-latency.explain.v1").
#pragma once

#include <string>

#include "base/result.h"
#include "render/render.h"
#include "report/explanation.h"

namespace perf_latency {

// Appends `report` (what was recorded; it has no tables) with the story: in text behind the header, in
// JSON as the keys "wait", an interval as in `script`, and "steps". `limit`: in text, steps in a line of
// their own; the shorter ones between them are summed up. 0: all.
Result<void> render_explanation(const Explanation& explanation, const Report& report, Format format,
                                const RenderOptions& options, uint64_t limit, std::string& out);

}  // namespace perf_latency
