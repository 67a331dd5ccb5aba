#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# Per case: ^[a-z]+ [a-z]
"""The account: each moment of each thread is running, sleeping, waiting for a CPU, hidden or unknown.

On every recording with sched_switch and a wakeup event: the parts are the whole to the nanosecond, the
rows of the table add up to sleeping and waiting, and where nothing was lost at least 99.9 % of thread
time is accounted for. Byte-swapped twins have the same account as their originals.
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test, recordings_of, symbols_of, skip  # noqa: E402

# Recordings that miss events by the way they were made: of one workload only, which does not show when a
# task gets its CPU; with a filter on sched_switch; on a kernel that hides some tasks from perf; with a CPU
# going offline meanwhile.
MISSES_EVENTS = {"fmt-dwarf", "fmt-noopts", "perfdata/mixed_sample_types", "perfdata/threads_dir",
                 "perfdata/tp_filter", "perfdata/odd_comms", "lt-trace-env-stat"}
WAKEUPS = {"sched:sched_wakeup", "sched:sched_waking"}
PARTS = ("running_ns", "sleeping_ns", "runnable_ns", "hidden_ns", "unknown_ns")
EVERYTHING = ("--kernel-threads", "--state", "all", "--limit", "0")


def sched_events(info):
    """The names of the events with samples, when they make an account possible."""
    names = {event["name"] for event in info["events"] if event["samples"] > 0}
    return names if "sched:sched_switch" in names and names & WAKEUPS else None


def check_account(test, name, report, lost):
    totals = report["totals"]
    parts = [totals[part] for part in PARTS]
    if not test.check(all(isinstance(part, int) for part in parts), f"{name}: parts {parts}"):
        return
    test.equal(sum(parts), totals["thread_time_ns"], f"{name}: sum of {dict(zip(PARTS, parts))}")
    rows = sum(row["total_ns"] for row in report["rows"])
    test.equal(rows, totals["sleeping_ns"] + totals["runnable_ns"], f"{name}: sum of the rows")
    whole = totals["thread_time_ns"]
    accounted = 100.0 * (whole - totals["hidden_ns"] - totals["unknown_ns"]) / whole if whole else 100.0
    test.near(totals["accounted_percent"], accounted, 0.01, f"{name}: accounted_percent")
    if not lost:
        test.equal(totals["hidden_ns"], 0, f"{name}: hidden_ns, though nothing was lost")
    for row in report["rows"]:
        test.check(row["max_ns"] <= row["total_ns"], f"{name}: maximum above total in {row}")
    test.check(whole >= 0 and totals["threads"] > 0, f"{name}: no threads")


def accounted_percent(test, path, folder, report):
    """Without the recorder: what wakes perf up from inside its own tracepoints is in no recording, so
    when its waits for a CPU began cannot be known. They are counted and named in the diagnostics."""
    named = {entry["id"] for entry in report["diagnostics"]}
    if "sleep-without-wakeup" not in named:
        return report["totals"]["accounted_percent"]
    threads = test.json("report", "-i", path, *symbols_of(folder), *EVERYTHING, "--by", "thread")
    others = {row["thread"]["tid"] for row in threads["rows"] if row["thread"]["comm"] != "perf"}
    rest = test.json("report", "-i", path, *symbols_of(folder), *EVERYTHING, "--tid",
                     ",".join(map(str, sorted(others))))
    return rest["totals"]["accounted_percent"]


def main():
    test = Test()
    folder = test.data / test.case
    looked_at = []
    for path in recordings_of(folder):
        info = test.json("info", "-i", path)
        if not sched_events(info):
            continue
        recording = info["recording"]
        recording = recording[0] if isinstance(recording, list) else recording
        report = test.json("report", "-i", path, *symbols_of(folder), *EVERYTHING)
        looked_at.append(path.name)
        check_account(test, path.name, report, recording["lost"])
        if not recording["lost"] and test.case not in MISSES_EVENTS:
            percent = accounted_percent(test, path, folder, report)
            test.check(percent >= 99.9, f"{path.name}: accounted {percent} % of thread time: "
                       f"{report['totals']} {report['diagnostics']}")
        twin = folder / "swapped" / path.name
        if twin.exists():
            swapped = test.json("report", "-i", twin, *symbols_of(folder), *EVERYTHING)
            test.equal(swapped["totals"], report["totals"], f"{path.name}: account of the swapped twin")
            test.equal(swapped["rows"], report["rows"], f"{path.name}: rows of the swapped twin")
    if not looked_at:
        skip("no recording with sched_switch and a wakeup event")
    test.finish()


main()
