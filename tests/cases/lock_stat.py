#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# Per case: ^lock lk-(hackbench|locks|mmap-zstd|pingpong)
"""Waits and holds of lockdep recordings against the kernel's own /proc/lock_stat of the same time.

Window LK_ON to LK_OFF_END. Contention counts are the kernel's, wait totals within 0.1 % (each printed
time is rounded to 10 ns); acquisitions are the kernel's for every name but rcu_read_lock, which perf
takes for each event that it writes and cannot record. Hold totals: each traced acquisition costs time
inside the hold, so single classes differ; the sum over classes with 100 acquisitions or more does not.
The kernel's classes are added up by name: events carry neither the number of a class of the same name
nor the subclass. Both the JSON and --format lock_stat are compared.
"""
import re
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test, symbols_of  # noqa: E402

NAME = 37  # characters of a name in the kernel's file, suffixes included


def parse(text):
    """Name -> (contentions, wait total us, acquisitions, hold total us)."""
    sums = defaultdict(lambda: [0, 0.0, 0, 0.0])
    for line in text.splitlines():
        match = re.match(r"^ *(\S.*?): +(\d+ .*)$", line)
        if not match or "[<" in line:
            continue
        numbers = match.group(2).split()
        if len(numbers) != 12:
            continue
        name = re.sub(r"-[RW]$", "", match.group(1))
        name = re.sub(r"(#\d+)?(/\d+)?$", "", name)
        row = sums[name[:NAME - 4]]
        row[0] += int(numbers[1])
        row[1] += float(numbers[4])
        row[2] += int(numbers[7])
        row[3] += float(numbers[10])
    return sums


def from_json(report):
    sums = defaultdict(lambda: [0, 0.0, 0, 0.0])
    for row in report["rows"]:
        into = sums[row["lock"][:NAME - 4]]
        into[0] += row["contended"]
        into[1] += row["wait_total_ns"] / 1000
        into[2] += row["count"] or 0
        into[3] += (row["total_ns"] or 0) / 1000
    return sums


def compare(test, kernel, ours, what):
    hold = [0.0, 0.0]
    for name, (contentions, waited, acquisitions, held) in sorted(kernel.items()):
        mine = ours.get(name, [0, 0.0, 0, 0.0])
        if name == "rcu_read_lock":
            continue
        test.equal(mine[0], contentions, f"{what}: {name}: contentions")
        test.near(mine[1], waited, 0.001 * waited + 0.01 * contentions, f"{what}: {name}: wait total")
        test.equal(mine[2], acquisitions, f"{what}: {name}: acquisitions")
        if acquisitions >= 100:
            hold[0] += held
            hold[1] += mine[3]
    for name in set(ours) - set(kernel) - {"rcu_read_lock"}:
        test.equal(ours[name][:1] + ours[name][2:3], [0, 0], f"{what}: {name}: not in the kernel's file")
    test.near(hold[1], hold[0], 0.02 * hold[0], f"{what}: hold total of the busy classes")


def main():
    test = Test()
    folder = test.data / test.case
    kernel = parse((folder / "lock_stat.txt").read_text())
    options = ["-i", folder / "perf.data", "--time-comm", "LK_ON,LK_OFF_END", *symbols_of(folder)]
    compare(test, kernel, from_json(test.json("hold-time", "--by", "lock", *options)), "json")
    for command in ("hold-time", "contention"):
        done = test.run(command, "--format", "lock_stat", *options)
        test.check(done.text.startswith("lock_stat version 0.4\n"), f"{command}: {done.text[:40]!r}")
        compare(test, kernel, parse(done.text), f"{command} --format lock_stat")
        test.equal(len(done.errors.splitlines()), 1, f"{command}: lines about unknown columns")
    waits = test.json("contention", "--by", "lock", "--type", "lockdep", *options)
    counted = defaultdict(int)
    for row in waits["rows"]:
        counted[row["lock"][:NAME - 4]] += row["count"]
    for name, row in kernel.items():
        if name != "rcu_read_lock":
            test.equal(counted[name], row[0], f"contention: {name}")
    test.finish()


if __name__ == "__main__":
    main()
