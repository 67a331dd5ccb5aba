#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The wait is with its stack.

The recorded program sleeps 50 ms in nanosleep and 5 ms in poll, ten times in turn. `perf sched timehist`
prints the 50 ms beside the chain of the poll, because it prints the wait that is over beside the sleep
that begins. Here each wait must stand beside its own chain, in every form of the report.
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test, symbols_of  # noqa: E402

# name: (function of the chain, shortest and longest single sleep in ms). A timer is armed a little before
# the task is off its CPU; in the first round here by 0.7 ms.
SLEEPS = {"nanosleep": ("hrtimer_nanosleep", 49.0, 51.0), "poll": ("do_sys_poll", 5.0, 5.5)}


def is_of(frames, name):
    return any(SLEEPS[name][0] in frame for frame in frames)


def check_row(test, row, name, form):
    _, low, high = SLEEPS[name]
    test.equal(row["count"], 10, f"{form}: sleeps in {name}")
    test.check(10 * low <= row["total_ns"] / 1e6 <= 10 * high, f"{form}: total in {name}: {row['total_ns']}")
    test.check(low <= row["max_ns"] / 1e6 <= high, f"{form}: longest in {name}: {row['max_ns']}")
    test.check(low <= row["p50_ns"] / 1e6 <= high, f"{form}: median in {name}: {row['p50_ns']}")


def check_causes(test, common):
    report = test.json("report", *common, "--callchain")
    rows = [row for row in report["rows"] if row["cause_id"]]
    for name in SLEEPS:
        of_name = [row for row in rows if row.get("stacks") and is_of(row["stacks"][0]["frames"], name)]
        if test.equal(len(of_name), 1, f"causes: rows with a chain of {name}"):
            check_row(test, of_name[0], name, "causes")
            test.equal(of_name[0]["class"], "idle", f"class of {name}")
            test.equal([s["count"] for s in of_name[0]["stacks"]], [10], f"chains under {name}")


def check_stacks(test, common):
    report = test.json("report", *common, "--by", "stack")
    for name in SLEEPS:
        of_name = [row for row in report["rows"] if row["stacks"] and is_of(row["stacks"][0]["frames"], name)]
        if test.equal(len(of_name), 1, f"--by stack: rows of {name}"):
            check_row(test, of_name[0], name, "--by stack")


def check_text(test, common):
    """Both are waits of the program's own wish: they stand in the section at the end."""
    text = test.run("report", *common).text
    for words in ("50", "5"):
        test.check(words in text, f"text report lacks {words}")
    test.check(re.search(r"(?i)idle|own wish|waiting for work", text) is not None,
               f"text report has no section of idle waits:\n{text}")


def check_timehist(test, common):
    """Each line with a wait ends in the chain of that wait."""
    text = test.run("report", *common, "--format", "timehist").text
    waits = {name: [] for name in SLEEPS}
    for line in text.splitlines():
        # time, [cpu], task, wait, delay, run in ms, as perf prints them; then the chain.
        match = re.match(r"\s*[\d.]+\s+\[\d+\]\s+(\S.*?)\s+(\d+\.\d+)\s+(\d+\.\d+)\s+(\d+\.\d+)\s*(.*)$", line)
        if not match or not match.group(1).startswith("alt"):
            continue
        for name, (function, _, _) in SLEEPS.items():
            if function in match.group(5):
                waits[name].append(float(match.group(2)))
    for name, (_, low, high) in SLEEPS.items():
        values = waits[name]
        test.equal(len(values), 10, f"timehist: lines with the chain of {name} (of {len(text.splitlines())})")
        test.check(all(low <= value <= high for value in values), f"timehist: waits beside {name}: {values}")


def main():
    test = Test()
    folder = test.data / "alt-nanosleep-poll"
    common = ["-i", folder / "perf.data", *symbols_of(folder), "--comm", "alt"]
    check_causes(test, common)
    check_stacks(test, common)
    check_text(test, common)
    check_timehist(test, common)
    test.finish()


main()
