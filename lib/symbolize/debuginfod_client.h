// SPDX-License-Identifier: GPL-2.0-only
// Fetches files by build id from the servers that DEBUGINFOD_URLS names; without that variable
// nothing is asked for. libdebuginfod is loaded when first needed, so a machine without it works
// too; it keeps what it fetched in its own cache.
#pragma once

#include <string>

#include "symbolize/build_id.h"

namespace perf_latency {

// The path of the fetched file; empty when there is none.
std::string debuginfod_executable(const BuildId& id);
std::string debuginfod_debug_file(const BuildId& id);

// For --version: whether the library can be loaded here.
bool debuginfod_available();

}  // namespace perf_latency
