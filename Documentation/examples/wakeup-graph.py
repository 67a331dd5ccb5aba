#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Who waits for whom: the time that one task slept until another task, or an interrupt, woke it.

usage: perf latency script --only sleep | wakeup-graph.py [--dot]

Prints a line for each pair, longest first; with --dot a graph for Graphviz, its edges as thick as the waits
are long. Waiting for work or by the program's own wish (class "idle") is left out.
"""
import json
import sys
from collections import defaultdict


def quoted(name):
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def main():
    waits = defaultdict(lambda: [0, 0])
    for line in sys.stdin:
        interval = json.loads(line)
        if interval["type"] != "sleep" or interval["class"] == "idle" or interval["waker"] is None:
            continue
        pair = waits[interval["comm"], interval["waker"]["comm"]]
        pair[0] += 1
        pair[1] += interval["duration_ns"]
    ordered = sorted(waits.items(), key=lambda item: (-item[1][1], item[0]))
    if "--dot" in sys.argv[1:]:
        longest = max((total for _, total in waits.values()), default=0) or 1
        print("digraph waits {")
        for (sleeper, waker), (count, total) in ordered:
            print(f"  {quoted(sleeper)} -> {quoted(waker)} "
                  f"[label=\"{total / 1e6:.3f} ms in {count}\", penwidth={1 + 7 * total / longest:.1f}];")
        print("}")
        return
    for (sleeper, waker), (count, total) in ordered:
        print(f"{total / 1e6:12.3f} ms  {count:7} sleeps  {sleeper} waited for {waker}")


main()
