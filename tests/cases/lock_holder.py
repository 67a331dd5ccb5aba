#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# Live
# Timeout: 300
"""Who held the lock, where that is known beforehand: two threads, one lock, nobody else.

The asker can only have waited for the holder: at least 90 % of the wait time that is called known must
be the holder's, and waits that ended with a waking must have a known holder at all. With a real-time
hog on the holder's CPU the holder is preempted by it while it has the lock. perf's own count of the
asker's waits is the same.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import skip_where_idle_is_hidden, Test, kernel_lets_record, skip  # noqa: E402


def known(holders):
    rows = [row for row in holders if row["how"] != "unknown"]
    return sum(row["total_ns"] for row in rows), rows


def examine(test, mode, path):
    report = test.json("contention", "-i", path, "--holder", "--by", "type", "-c", "asker")
    kinds = {"dir": "rwsem:W", "mmap": "rwsem:W", "preempt": "rwsem:W", "pipe": "mutex"}
    rows = [row for row in report["rows"] if row["type"] == kinds[mode]]
    if not test.check(rows and rows[0]["count"] > 0, f"{mode}: no waits: {report['rows']}"):
        return
    row = rows[0]
    parts = sum(row[f"holder_{part}_ns"] for part in ("running", "preempted", "sleeping", "unknown"))
    test.equal(parts, row["total_ns"], f"{mode}: parts")
    whole, holders = known([one for one in report["holders"] if one["type"] == kinds[mode]])
    by_holder = sum(one["total_ns"] for one in holders if one["holder"]["comm"] == "holder")
    print(mode, "waits", row["count"], "total", row["total_ns"], "known", whole, "right", by_holder,
          "preempted", row["holder_preempted_ns"])
    if row["sleep_ns"] > 0.5 * row["total_ns"]:
        test.check(whole > 0, f"{mode}: sleeping waits, but no holder known")
    test.check(by_holder >= 0.9 * whole, f"{mode}: {by_holder} of {whole} ns known are the holder's")
    if mode == "preempt":
        test.check(row["holder_preempted_ns"] > 0, "preempt: the holder was never preempted")
        if os.getloadavg()[0] < os.cpu_count():  # else others take the holder's CPU too
            test.equal(row["holder_preempted_by"], "hog", "preempt: by whom")


def examine_holds(test, program, path):
    """Holds of a length that stands in the program's source, seen as contended periods."""
    source = (test.source / "tests/cases/lock_pairs.c").read_text()
    hold_ms, holds = map(int, re.search(r"kHoldMs = (\d+), kHolds = (\d+)", source).groups())
    done = test.run("record", "-o", path, "-e", "sched,lock", "--", program, "hold", "0", ok=None)
    if done.returncode != 0:
        print("no holds of a known length:", done.errors[-200:])
        return
    report = test.json("hold-time", "-i", path, "--by", "type", "--type", "mutex", "-c", "holder",
                       "--min-latency", "50ms")
    if not test.equal(len(report["rows"]), 1, "hold: rows"):
        return
    row = report["rows"][0]
    print("hold: count", row["count"], "mean", row["mean_ns"], "p50", row["p50_ns"])
    test.check(row["count"] >= holds, f"hold: {row['count']} of {2 * holds} holds seen")
    test.near(row["p50_ns"], hold_ms * 1e6, 0.02 * hold_ms * 1e6, "hold: length")


def main():
    test = Test()
    reason = kernel_lets_record()
    if reason:
        skip(reason)
    skip_where_idle_is_hidden(test)
    if not Path("/sys/kernel/tracing/events/lock/contention_begin/id").exists():
        skip("this kernel has no lock:contention_begin")
    program = test.programs / "lock_pairs"
    modes = ["dir", "mmap", "pipe"]
    if os.cpu_count() > 1 and os.geteuid() == 0:
        modes.append("preempt")
    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid() == 0:
            examine_holds(test, program, Path(folder) / "hold.data")
        for mode in modes:
            path = Path(folder) / f"{mode}.data"
            test.run("record", "-o", path, "-e", "sched,lock", "--", program, mode, "2")
            examine(test, mode, path)
            if shutil.which("perf") is None:
                continue
            done = subprocess.run(["perf", "lock", "contention", "-i", path], capture_output=True,
                                  text=True, check=False)
            if done.returncode != 0:
                print("perf lock contention:", done.stderr[-200:])
    test.finish()


if __name__ == "__main__":
    main()
