#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# Per case: ^[a-z]+ (mmap-lock|rstat)$
"""contention against `perf lock contention -i` of the same recording, by type of lock.

perf counts a wait when it ends, with or without success, drops ends without a beginning, and takes a
mutex's second contention_begin for nothing; waits still open at the end of the recording are not in its
counts. Both keep one wait at a time for each (thread, lock). By caller the two differ: perf merges by
address, functions here are one row whatever the call site.
Rows of the holder analysis: the parts of each row's waits add up to the row's total.
"""
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test, recordings_of, skip, symbols_of  # noqa: E402

UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def of_perf(path):
    """Type -> [count, total ns]; perf's "rt-mutex" is "rtmutex" here."""
    done = subprocess.run(["perf", "lock", "contention", "-i", str(path)], capture_output=True,
                          text=True, check=False)
    types = defaultdict(lambda: [0, 0.0])
    pattern = r"\s+(\d+)\s+([\d.]+) (\w+)\s+([\d.]+) (\w+)\s+([\d.]+) (\w+)\s+(\S+)\s"
    for line in (done.stdout + done.stderr).splitlines():
        match = re.match(pattern, line)
        if match:
            row = types[match.group(8).replace("rt-mutex", "rtmutex")]
            row[0] += int(match.group(1))
            row[1] += float(match.group(2)) * UNITS[match.group(3)]
    return types


def main():
    test = Test()
    if shutil.which("perf") is None:
        skip("perf is not installed")
    folder = test.data / test.case
    for path in recordings_of(folder):
        truth = of_perf(path)
        kernel_types = ("spinlock,rwlock:R,rwlock:W,rwsem:R,rwsem:W,mutex,rtmutex,semaphore,"
                        "pcpu-sem:R,pcpu-sem:W")
        options = ["-i", path, "--limit", "0", "--type", kernel_types]
        report = test.json("contention", "--by", "type", *options)
        ours = {row["type"]: row for row in report["rows"]}
        for name, (count, total_ns) in truth.items():
            row = ours.get(name, {"count": 0, "open": 0, "failed": 0, "total_ns": 0})
            test.equal(row["count"] - row["open"] + row["failed"], count, f"{name}: waits")
            # perf prints two decimals.
            test.near(row["total_ns"], total_ns, 0.01 * total_ns, f"{name}: time")
        for by in ("caller", "type", "lock", "process", "cpu"):
            held = test.json("contention", "--by", by, "--holder", *options, *symbols_of(folder))
            for row in held["rows"]:
                parts = sum(row[f"holder_{part}_ns"]
                            for part in ("running", "preempted", "sleeping", "unknown"))
                test.equal(parts, row["total_ns"], f"{path.name}: parts of {row}")
                test.equal(row["spin_ns"] + row["sleep_ns"], row["total_ns"], f"{path.name}: phases")
            test.equal(sum(row["count"] for row in held["rows"]),
                       sum(row["count"] for row in report["rows"]), f"{path.name}: waits by {by}")
    test.finish()


if __name__ == "__main__":
    main()
