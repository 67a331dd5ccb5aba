// SPDX-License-Identifier: GPL-2.0-only
// The renderers behind render(), one for each format. Private to this library.
#pragma once

#include <string>

#include "render/render.h"

namespace perf_latency {

void render_text(const Report& report, const RenderOptions& options, std::string& out);
void render_json(const Report& report, std::string& out);
void render_csv(const Report& report, std::string& out);
void render_folded(const Report& report, std::string& out);
void render_svg(const Report& report, std::string& out);
void render_speedscope(const Report& report, std::string& out);
void render_pprof(const Report& report, std::string& out);
void render_lkp(const Report& report, std::string& out);
void render_latency_stats(const LatencyStats& stats, std::string& out);
void render_lock_stat(const LockStat& stats, std::string& out);

}  // namespace perf_latency
