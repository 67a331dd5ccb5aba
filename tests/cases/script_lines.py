#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# Per case: ^[a-z0-9]+ (alt-nanosleep-poll|lt-mixed-nodelay|lt-disk|lt-rt|fmt-pipe|fmt-sched-record|fmt-lost|fmt-zstd|fmt-overwrite|fmt-threads|fmt-dwarf|lt-lost|lt-many|lt-overflow-stat|deb61-mixed-stat|lk-locks|lk-mmap-zstd|lk-perf-lock-record|mmap-lock|rstat|vm-isolated-busy|vm61-starved)$
"""The lines of `script` are what the reports are made of.

Sums of the lines, in every form, against the totals that `report`, `contention` and `hold-time` print for
the same recording; the order of the lines; the window of --time.
"""
import csv
import io
import json
import sqlite3
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test, recordings_of, skip, symbols_of  # noqa: E402

TASK_KEYS = {"type", "start_ns", "end_ns", "duration_ns", "cpu", "pid", "tid", "comm", "open", "began_before"}
KEYS = {
    "sleep": {"state", "cause", "cause_id", "class", "waker", "stack", "uncertain", "includes_waiting"},
    "runnable": {"state", "cause", "cause_id", "class", "preempted", "preempted_by", "uncertain"},
    "wait": {"lock", "lock_addr", "lock_type", "caller", "stack", "holder", "holder_ns", "spin_ns", "sleep_ns",
             "failed"},
    "hold": {"lock", "lock_addr", "lock_type", "caller", "stack", "contended"},
    "vmstat_sync": {"function", "queued_ns", "behind", "behind_ns"},
}


def sums(lines, key):
    """{key: (count, total)}"""
    found = defaultdict(lambda: [0, 0])
    for line in lines:
        entry = found[key(line)]
        entry[0] += 1
        entry[1] += line["duration_ns"]
    return {name: tuple(entry) for name, entry in found.items()}


def rows_of(report, key):
    return {key(row): (row["count"], row["total_ns"]) for row in report["rows"] if row["count"]}


def check_lines(test, name, lines):
    for line in lines:
        if set(line) != TASK_KEYS | KEYS[line["type"]]:
            test.fault(f"{name}: keys of a {line['type']}: {sorted(line)}")
            break
    ends = [line["end_ns"] for line in lines]
    test.check(ends == sorted(ends), f"{name}: lines are not in order of end_ns")
    test.check(all(line["end_ns"] - line["start_ns"] == line["duration_ns"] >= 0 for line in lines),
               f"{name}: a length is not that of its line")
    waits = [line for line in lines if line["type"] == "wait" and line["spin_ns"] is not None]
    test.check(all(line["spin_ns"] + line["sleep_ns"] == line["duration_ns"] for line in waits),
               f"{name}: spinning and sleeping do not add up to a wait")
    test.check(all(line["holder"] is None or 0 < line["holder_ns"] <= line["duration_ns"]
                   for line in lines if line["type"] == "wait"), f"{name}: a holder held longer than the wait")


def check_sums(test, name, common, lines, events):
    """Totals per cause, per lock type and per caller."""
    tasks = [line for line in lines if line["type"] in ("sleep", "runnable")]
    if "sched:sched_switch" in events:
        report = test.json("report", *common, "--kernel-threads", "--state", "all")
        test.equal(sums(tasks, lambda line: line["cause"]), rows_of(report, lambda row: row["cause"]),
                   f"{name}: sums by cause")
        report = test.json("report", *common, "--kernel-threads", "--state", "all", "--by", "thread")
        test.equal(sums(tasks, lambda line: line["tid"]),
                   by_tid(report), f"{name}: sums by thread")
    waits = [line for line in lines if line["type"] == "wait"]
    if waits:
        report = test.json("contention", *common, "--by", "type")
        want = {row["type"]: (row["count"], row["failed"], row["total_ns"]) for row in report["rows"]}
        got = defaultdict(lambda: [0, 0, 0])
        for line in waits:
            entry = got[line["lock_type"]]
            entry[1 if line["failed"] else 0] += 1
            entry[2] += line["duration_ns"]
        compared = {kind: tuple(entry) for kind, entry in got.items()}
        # A wait that was given up has no place in the totals of contention.
        for kind, entry in list(compared.items()):
            given_up = sum(line["duration_ns"] for line in waits if line["failed"] and line["lock_type"] == kind)
            compared[kind] = (entry[0], entry[1], entry[2] - given_up)
        test.equal(compared, want, f"{name}: waits by lock type")
    holds = [line for line in lines if line["type"] == "hold" and not line["lock_type"].startswith("lockdep")]
    if holds:
        report = test.json("hold-time", *common, "--by", "process", "--type",
                           ",".join(sorted({line["lock_type"] for line in holds})))
        want = defaultdict(lambda: [0, 0])
        for row in report["rows"]:
            entry = want[row["process"]["pid"]]
            entry[0] += row["count"]
            entry[1] += row["total_ns"]
        test.equal(sums(holds, lambda line: line["pid"]),
                   {pid: tuple(entry) for pid, entry in want.items() if entry[0]}, f"{name}: holds by process")


def by_tid(report):
    found = defaultdict(lambda: [0, 0])
    for row in report["rows"]:
        entry = found[row["thread"]["tid"]]
        entry[0] += row["count"]
        entry[1] += row["total_ns"]
    return {tid: tuple(entry) for tid, entry in found.items() if entry[0]}


def flat(line):
    """A line as the CSV has it: column: text."""
    cells = {}
    for key, value in line.items():
        if isinstance(value, dict):
            for inner, text in value.items():
                cells[f"{key}.{inner}"] = "" if text is None else str(text)
        elif isinstance(value, list):
            cells[key] = ";".join(value)
        elif isinstance(value, bool):
            cells[key] = "true" if value else "false"
        else:
            cells[key] = "" if value is None else str(value)
    return {key: text for key, text in cells.items() if text != ""}


def check_csv(test, name, arguments, lines):
    text = test.run("script", *arguments, "--format", "csv").text
    rows = [{key: cell for key, cell in row.items() if cell != ""} for row in csv.DictReader(io.StringIO(text))]
    want = [flat(line) for line in lines]
    test.equal(len(rows), len(want), f"{name}: rows of the CSV")
    for got, line in zip(rows, want):
        if got != line:
            test.fault(f"{name}: CSV {got} is not the line {line}")
            break


def check_window(test, name, common, lines):
    """A part of the recording: the same lines, clipped."""
    start = min(line["start_ns"] for line in lines)
    end = max(line["end_ns"] for line in lines)
    low, high = start + (end - start) // 3, start + (end - start) // 3 * 2
    window = ["--time", f"{low // 10**9}.{low % 10**9:09},{high // 10**9}.{high % 10**9:09}"]
    got = [json.loads(line) for line in test.run("script", *common, *window, "--only", "sleep,runnable").text.splitlines()]
    want = sorted((max(line["start_ns"], low), min(line["end_ns"], high), line["tid"] or 0, line["duration_ns"])
                  for line in lines if line["type"] in ("sleep", "runnable") and
                  (line["start_ns"] < high and line["end_ns"] > low or
                   line["start_ns"] == line["end_ns"] and low <= line["start_ns"] <= high))
    test.equal(sorted((line["start_ns"], line["end_ns"], line["tid"] or 0, line["full_ns"]) for line in got), want,
               f"{name}: lines of --time")


def check_database(test, name, arguments, lines):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "intervals.db"
        test.run("script", *arguments, "--format", "sqlite", "-o", path)
        database = sqlite3.connect(path)
        test.equal(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)], f"{name}: the database")
        got = database.execute("SELECT type, start_ns, end_ns, cpu, pid, tid, cause, waker, lock, lock_addr, holder, open"
                               " FROM named_intervals ORDER BY id").fetchall()

        def comm(line, key):
            return (line.get(key) or {}).get("comm")

        want = [(line["type"], line["start_ns"], line["end_ns"], line["cpu"], line["pid"], line["tid"],
                 line.get("cause"), comm(line, "waker"), line.get("lock"), line.get("lock_addr"),
                 comm(line, "holder"), int(line["open"])) for line in lines]
        if not test.equal(len(got), len(want), f"{name}: rows of the database"):
            return
        # A thread has its last name and process there; the lines have what was known at the moment.
        differing = [(a, b) for a, b in zip(got, want)
                     if a[:4] + a[5:7] + a[8:10] + a[11:] != b[:4] + b[5:7] + b[8:10] + b[11:]
                     or b[4] is not None and a[4] != b[4]]
        test.equal(differing[:1], [], f"{name}: {len(differing)} rows of the database")
        frames = database.execute(
            "SELECT s.stack, group_concat(f.name, ';') FROM (SELECT * FROM stack_frames ORDER BY stack, position) s"
            " JOIN frames f ON f.id = s.frame GROUP BY s.stack").fetchall()
        names = dict(frames)
        stacks = database.execute("SELECT stack FROM intervals ORDER BY id").fetchall()
        wrong = [line for line, (stack,) in zip(lines, stacks)
                 if ";".join(line.get("stack", [])) != names.get(stack, "")]
        test.equal(wrong[:1], [], f"{name}: call chains of the database")
        test.equal(database.execute("PRAGMA foreign_key_check").fetchall()[:1], [], f"{name}: references")
        database.close()
        if any(line["type"] == "sleep" for line in lines):
            check_report_database(test, name, arguments, lines, path)


def check_report_database(test, name, arguments, lines, path):
    """The database of a report holds the intervals that it is made of."""
    test.run("report", *arguments, "--format", "sqlite", "-o", path)
    database = sqlite3.connect(path)
    want = {kind: entry for kind, entry in sums(lines, lambda line: line["type"]).items()
            if kind in ("sleep", "runnable")}
    got = database.execute("SELECT type, count(*), sum(duration_ns) FROM intervals GROUP BY type").fetchall()
    test.equal({kind: (count, total) for kind, count, total in got}, want, f"{name}: report --format sqlite")
    database.close()
    done = test.run("report", *arguments, "--by", "cause", "--format", "sqlite", "-o", path, ok=(129,))
    test.check("--by" in done.errors, f"{name}: --by with sqlite: {done.errors!r}")


def main():
    test = Test()
    folder = test.data / test.case
    looked_at = 0
    for path in recordings_of(folder):
        info = test.json("info", "-i", path)
        events = {event["name"] for event in info["events"]}
        if not any(info["reports"].get(one) for one in ("report", "contention", "hold-time", "vmstat-sync")):
            continue
        looked_at += 1
        common = ["-i", path, *symbols_of(folder)]
        arguments = [*common, "--kernel-threads", "--state", "all"]
        done = test.run("script", *arguments)
        lines = [json.loads(line) for line in done.text.splitlines()]
        test.check(lines, f"{path.name}: no lines")
        check_lines(test, path.name, lines)
        check_sums(test, path.name, common, lines, events)
        check_csv(test, path.name, arguments, lines)
        check_database(test, path.name, arguments, lines)
        if any(line["type"] == "sleep" for line in lines):
            check_window(test, path.name, arguments, lines)
    if not looked_at:
        skip("no recording with intervals")
    test.finish()


main()
