#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# Per case: ^workloads rstat$
"""The cgroup rstat lock, counted a second time from the lines of `perf script`.

Flushes are `locked` events with cpu -1, yields those with a CPU; holds are `locked` to `unlock` of one
thread, waits `lock_contended` to `locked`. Longest and total to the nanosecond.
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test, skip  # noqa: E402

LINE = re.compile(r"\s*(\d+)\s+(\d+)\.(\d+):\s+cgroup:cgroup_rstat_(lock_contended|locked|unlock):.* "
                  r"cpu=(-?\d+) ")


def count(path):
    done = subprocess.run(["perf", "script", "--ns", "-F", "tid,time,event,trace", "-i", path],
                          capture_output=True, text=True, check=False)
    holds, waits, flushes, yields = [], [], 0, 0
    held, waiting = {}, {}
    for line in done.stdout.splitlines():
        match = LINE.match(line)
        if not match:
            continue
        tid, time_ns = match.group(1), int(match.group(2)) * 10**9 + int(match.group(3))
        if match.group(4) == "lock_contended":
            waiting[tid] = time_ns
        elif match.group(4) == "locked":
            if tid in waiting:
                waits.append(time_ns - waiting.pop(tid))
            held[tid] = time_ns
            flushes += match.group(5) == "-1"
            yields += match.group(5) != "-1"
        elif tid in held:
            holds.append(time_ns - held.pop(tid))
    return holds, waits, flushes, yields


def main():
    test = Test()
    if shutil.which("perf") is None:
        skip("perf is not installed")
    path = test.data / test.case / "perf.data"
    holds, waits, flushes, yields = count(path)
    test.check(holds, "perf script shows no rstat events")
    report = test.json("hold-time", "-i", path, "--type", "rstat", "--by", "lock", "-I", "1s",
                       "--histogram")
    row = report["rows"][0]
    test.equal(row["count"] - row["open"], len(holds), "holds")
    test.equal(row["max_ns"], max(holds), "longest hold")
    test.equal(row["contended"], len(waits), "waits")
    test.equal(row["wait_total_ns"], sum(waits), "wait time")
    test.equal(sum(part["flushes"] for part in report["intervals"]), flushes, "flushes")
    test.equal(sum(part["yields"] for part in report["intervals"]), yields, "yields")
    test.equal(sum(part["acquisitions"] for part in report["intervals"]), row["count"], "acquisitions")
    for low, high, number in row["histogram"]:
        test.equal(number, sum(low <= hold < high for hold in holds), f"holds in [{low}, {high})")
    test.finish()


if __name__ == "__main__":
    main()
