// SPDX-License-Identifier: GPL-2.0-only
// Defaults of options from perf's configuration files: section [latency] of /etc/perfconfig and
// ~/.perfconfig, read as perf reads them.
//
// $PERF_CONFIG names the only file that is read then; PERF_CONFIG_NOSYSTEM and PERF_CONFIG_NOGLOBAL
// leave out one of the two. A file of another user is not read. Later values win; the command line
// wins over all. tools/perf/util/config.c and perf.c (6.12).
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

namespace perf_latency::tool {

// Sets the options of `app` ("perf latency CMD") that stand in [latency] or [latency "CMD"] and not on
// the command line, which has been parsed. -1 to go on, else the exit status: a value that the option
// does not take, or a file that cannot be parsed. A key that is not known gets one line on stderr.
int apply_config(CLI::App& app);

// latency.pager: a command, "" for none; nothing when it is not set or true. After apply_config().
const std::optional<std::string>& configured_pager();

}  // namespace perf_latency::tool
