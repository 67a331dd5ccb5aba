#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# How long each command slept, by cause, and the longest sleep of each; tab separated, longest first.
#
# usage: perf latency script | off-cpu-by-comm.sh
#
# jq's `inputs` takes line by line, so memory is that of the sums.
exec jq --null-input --raw-output '
  reduce (inputs | select(.type == "sleep")) as $s ({};
    .[$s.comm + "\t" + $s.cause] |= {
      count: (.count + 1),
      total_ns: (.total_ns + $s.duration_ns),
      max_ns: ([.max_ns, $s.duration_ns] | max)
    })
  | to_entries
  | sort_by(-.value.total_ns, .key)
  | (["comm", "cause", "count", "total ms", "longest ms"] | @tsv),
    (.[] | [(.key | split("\t"))[], .value.count, .value.total_ns / 1e6, .value.max_ns / 1e6] | @tsv)'
