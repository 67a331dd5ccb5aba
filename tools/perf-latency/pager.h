// SPDX-License-Identifier: GPL-2.0-only
// The pager, as perf uses it: text that goes to a terminal goes through it.
//
// Which one: $PERF_PAGER, latency.pager of the perfconfig, $PAGER, /usr/bin/pager, /usr/bin/less;
// "cat" and "" are none. Less gets LESS=FRSX where the user has no LESS of his own: one screen is
// printed and no more. tools/lib/subcmd/pager.c (6.12).
#pragma once

namespace perf_latency::tool {

// --no-pager, before the command or behind it.
void forbid_pager();

// Standard output is a terminal: from now on it is the pager's input, and standard error with it. The
// program waits for the pager when it ends. Does nothing when it was called before.
void start_pager();

}  // namespace perf_latency::tool
