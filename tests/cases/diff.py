#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""diff against the reports that it is made of: means, changes, scatter and Welch's test computed here, from the
JSON of the single reports; recordings and kept reports give the same; what cannot be compared is refused."""
import json
import math
import re
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test  # noqa: E402

SUFFIX = re.compile(r"(\.(constprop|isra|part|cold|llvm|localalias|lto_priv|\d+))+$")
BEFORE = ["lt-mixed-stat", "lt-mixed-nodelay", "lt-sleep"]
AFTER = ["lt-dir-stat", "lt-dir-nodelay", "lt-many"]
SUMMED = {"total_ns", "count"}


def data_of(test, case):
    found = sorted((test.data / case).glob("perf.data*"))
    return found[0]


def kallsyms_of(test, case):
    return ["--kallsyms", test.data / case / "kallsyms"]


def student_p(t, degrees, steps=20000):
    """Two-sided, by Simpson's rule over the density of atan(x / sqrt(degrees))."""
    factor = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(math.pi)
    low, high = math.atan(abs(t) / math.sqrt(degrees)), math.pi / 2
    width = (high - low) / steps

    def density(angle):
        return max(math.cos(angle), 0.0) ** (degrees - 1)

    total = density(low) + density(high)
    total += sum(density(low + i * width) * (4 if i % 2 else 2) for i in range(1, steps))
    return 2 * factor * total * width / 3


def welch_p(before, after, least):
    a = max(statistics.stdev(before), least) ** 2 / len(before)
    b = max(statistics.stdev(after), least) ** 2 / len(after)
    if a + b == 0:
        return 1.0 if statistics.mean(before) == statistics.mean(after) else 0.0
    t = (statistics.mean(after) - statistics.mean(before)) / math.sqrt(a + b)
    degrees = (a + b) ** 2 / (a ** 2 / (len(before) - 1) + b ** 2 / (len(after) - 1))
    return student_p(t, degrees)


def identity(row, keys):
    parts = []
    for key in keys:
        value = row
        for part in key.split("."):
            value = value[part]
        if key.endswith((".pid", ".tid")) or (key == "cause" and row.get("cause_id")):
            continue
        if key in ("caller", "lock", "function"):
            value = "[no name]" if value.startswith("0x") else SUFFIX.sub("", value)
        parts.append((key, value))
    return tuple(parts)


def either(one, other, both):
    """What null leaves: unknown is not 0."""
    return other if one is None else one if other is None else both(one, other)


def add_up(have, row):
    new = {measure: row[measure] for measure in ("count", "total_ns", "max_ns", "mean_ns")}
    if have is None:
        return new
    weights = [1 if one["count"] is None else one["count"] for one in (have, new)]
    mean = either(have["mean_ns"], new["mean_ns"],
                  lambda a, b: (a * weights[0] + b * weights[1]) / sum(weights))
    return {"count": either(have["count"], new["count"], lambda a, b: a + b),
            "total_ns": either(have["total_ns"], new["total_ns"], lambda a, b: a + b),
            "max_ns": either(have["max_ns"], new["max_ns"], max), "mean_ns": mean}


def side(reports):
    """identity -> a dict for each report: what its rows of this identity add up to; None where there is none."""
    rows = {}
    for index, report in enumerate(reports):
        for row in report["rows"]:
            slot = rows.setdefault(identity(row, report["keys"]), [None] * len(reports))
            slot[index] = add_up(slot[index], row)
    return rows


def values(slot, measure, runs):
    if slot is None:
        return [0.0] * runs if measure in SUMMED else []
    found = []
    for run in slot:
        if run is None:
            found += [0.0] if measure in SUMMED else []
        elif run[measure] is not None:
            found.append(float(run[measure]))
    return found


def close(test, got, want, what):
    if want is None:
        test.equal(got, None, what)
        return
    test.check(got is not None and math.isclose(got, want, rel_tol=2e-6, abs_tol=0.6),
               f"{what}: {got}, should be {want}")


def least_stddev(runs, measure):
    present = [run for run in runs if run is not None]
    own = [run[measure] for run in present if run[measure] is not None]
    least = 1e-3 * statistics.mean(own) if own else 0
    longest = statistics.mean(run["max_ns"] for run in present)
    if measure == "count":
        return max(least, 0.5)
    if measure == "total_ns":
        return max(least, 0.5 * longest)
    count = statistics.mean(run["count"] for run in present)
    return max(least, 0.5 * max(longest - statistics.mean(own), 0) / max(count, 1))


def compare(test, diff, before, after, what):
    """Each row of the diff against what the single reports say."""
    sides = side(before), side(after)
    everything = set(sides[0]) | set(sides[1])
    keys = before[0]["keys"]
    own_keys = [key for key in keys if not key.endswith((".pid", ".tid"))]
    test.equal(diff["keys"], own_keys, f"{what}: keys")
    seen = set()
    for row in diff["rows"]:
        key = identity(row, own_keys)
        if not test.check(key in everything, f"{what}: row {key} is in no report"):
            continue
        seen.add(key)
        slots = sides[0].get(key), sides[1].get(key)
        test.equal(row["status"], "new" if slots[0] is None else "gone" if slots[1] is None else "both", f"{what}: {key}")
        for measure in ("total_ns", "count", "mean_ns", "max_ns"):
            numbers = [values(slot, measure, len(reports)) for slot, reports in zip(slots, (before, after))]
            means = [statistics.mean(n) if n and slot is not None else None for n, slot in zip(numbers, slots)]
            name = f"{what}: {key}: {measure}"
            # mean_ns is rounded down in the reports, once for each row that was added up here.
            close(test, row[measure]["before"], means[0], name + ".before")
            close(test, row[measure]["after"], means[1], name + ".after")
            change = None if None in means or means[0] == 0 else 100 * (means[1] - means[0]) / means[0]
            close(test, row[measure]["change_percent"], change, name + ".change_percent")
            for label, one, mean in zip(("before", "after"), numbers, means):
                percent = 100 * statistics.stdev(one) / mean if mean and len(one) > 1 else None
                close(test, row[measure][label + "_stddev_percent"], percent, name + ".stddev")
            p = row[measure]["p_value"]
            if p is None:
                continue
            runs = (slots[0] or []) + (slots[1] or [])
            want = welch_p(*numbers, least_stddev(runs, measure))
            test.near(p, want, 1e-6, name + ".p_value")
    test.equal(seen, everything, f"{what}: rows")


def holm_holds(test, diff, what):
    """Marked rows are the smallest p values, each below 0.05 by the number that is left."""
    rows = [row for row in diff["rows"] if row["total_ns"]["p_value"] is not None]
    ordered = sorted(rows, key=lambda row: row["total_ns"]["p_value"])
    claimed = True
    for index, row in enumerate(ordered):
        claimed = claimed and row["total_ns"]["p_value"] <= 0.05 / (len(ordered) - index)
        change = row["total_ns"]["change_percent"]
        want = claimed and (change is None or abs(change) >= 1)
        test.equal(row["total_ns"]["marked"], want, f"{what}: mark of {row.get('cause_id')}")


def check_report(test, kept, by):
    options = [*kallsyms_of(test, "lt-sleep"), "--by", by]
    recordings = [[data_of(test, case) for case in cases] for cases in (BEFORE, AFTER)]
    reports, files = [], []
    for cases in recordings:
        reports.append([test.json("report", "-i", path, *options) for path in cases])
        files.append([])
        for report in reports[-1]:
            path = kept / f"{by.replace(',', '-')}-{sum(map(len, files))}.json"
            path.write_text(json.dumps(report), encoding="utf-8")
            files[-1].append(path)
    diff = test.json("diff", *options, "--before", *recordings[0], "--after", *recordings[1])
    test.equal((diff["schema"], diff["of"]), ("perf-latency.diff.v1", "perf-latency.report.v1"), "schemas")
    test.equal(diff["before"], [str(path) for path in recordings[0]], "before")
    compare(test, diff, *reports, f"report --by {by}")
    holm_holds(test, diff, f"report --by {by}")
    from_json = test.json("diff", "--before", *files[0], "--after", *files[1])
    test.equal(from_json["rows"], diff["rows"], f"--by {by}: kept reports instead of recordings")
    mixed = test.json("diff", *options, "--before", files[0][0], *recordings[0][1:], "--after", *recordings[1])
    test.equal(mixed["rows"], diff["rows"], f"--by {by}: both mixed")
    one = test.json("diff", *options, recordings[0][0], recordings[1][0])
    compare(test, one, [reports[0][0]], [reports[1][0]], f"one a side --by {by}")
    test.equal({row["marked"] for row in one["rows"]}, {None}, "one a side: no claim")
    return files, reports


def check_units(test, files, reports):
    """--per: counts and totals divided, means and maxima not."""
    plain = test.json("diff", files[0][0], files[1][0])
    second = test.json("diff", "--per", "second", files[0][0], files[1][0])
    event = test.json("diff", "--per", "event", "sched:sched_switch", files[0][0], files[1][0])
    units = {"second": [(r["recording"]["end_ns"] - r["recording"]["start_ns"]) / 1e9 for r in (reports[0][0], reports[1][0])],
             "event": [r["recording"]["events"]["sched:sched_switch"] for r in (reports[0][0], reports[1][0])]}
    for name, divided in (("second", second), ("event", event)):
        by_key = {identity(row, divided["keys"]): row for row in divided["rows"]}
        for row in plain["rows"]:
            other = by_key[identity(row, plain["keys"])]
            for label, unit in zip(("before", "after"), units[name]):
                for measure in ("total_ns", "count"):
                    value = row[measure][label]
                    close(test, other[measure][label], value and value / unit, f"per {name}: {measure}")
                test.equal(other["max_ns"][label], row["max_ns"][label], f"per {name}: max")
    test.equal(event["per"], "sched:sched_switch", "per")
    done = test.run("diff", "--per", "event", "none:such", files[0][0], files[1][0], ok=(1,))
    test.check("none:such" in done.errors, f"an event that is not there: {done.errors}")


def check_locks(test):
    """The other reports, each between two recordings; rows and totals must be those of the reports."""
    first, second = data_of(test, "lk-locks"), data_of(test, "mmap-lock")
    for report, by in (("contention", "caller"), ("contention", "lock"), ("hold-time", "lock")):
        options = ["--kallsyms", test.data / "lt-sleep/kallsyms", "--by", by]
        reports = [test.json(report, "-i", path, *options) for path in (first, second)]
        diff = test.json("diff", "--of", report, *options, first, second)
        compare(test, diff, [reports[0]], [reports[1]], f"{report} --by {by}")


def check_text_and_conditions(test, files):
    shown = test.run("diff", files[0][0], files[1][0]).text
    test.check("Before and after: total time per recording" in shown, f"title: {shown[:200]}")
    test.check("nothing is known about the noise" in shown and " ± %" not in shown, "one a side: no scatter in text")
    many = test.run("diff", "--before", *files[0], "--after", *files[1]).text
    test.check("\nCause  " in many, f"titles of columns: {many[:300]}")
    test.check("± %" in many and "Welch" in many, f"several a side: {many[-400:]}")
    diff = test.json("diff", files[0][0], files[1][0])
    row = next(row for row in diff["rows"] if row["total_ns"]["change_percent"] not in (None, 0))
    change, name = row["total_ns"]["change_percent"], row["cause_id"] or row["cause"]
    under, over = math.floor(change) - 1, math.ceil(change) + 1
    for condition, status in ((f"change({name})>{under}%", 2), (f"change({name})>{over}%", 0),
                              (f"total.change({name})<{over}", 2),
                              (f"after({name})>={row['total_ns']['after']}ns", 2),
                              (f"count.before({name})>{row['count']['before']}", 0)):
        done = test.run("diff", "-q", "--fail-if", condition, files[0][0], files[1][0], ok=(status,))
        if status == 2:
            test.check(row["cause"] in done.errors, f"--fail-if {condition}: {done.errors}")
    test.run("diff", "--marked", "--fail-if", "change(*)>-1000%", files[0][0], files[0][0])
    counted = test.run("diff", "--measure", "count", files[0][0], files[1][0]).text
    test.check("Before and after: count per recording" in counted, "--measure count")
    header = test.run("diff", "--format", "csv", files[0][0], files[1][0]).text.splitlines()[0]
    test.check("total_ns.change_percent" in header, f"csv: {header}")
    same = test.json("diff", "--before", *files[0], "--after", *files[0])
    test.equal([row["cause"] for row in same["rows"] if row["marked"]], [], "a set against itself")


def check_refusals(test, kept, files):
    notes = kept / "notes.json"
    notes.write_text('{"schema": "somebody.else.v1"}', encoding="utf-8")
    broken = kept / "broken.json"
    broken.write_text(files[0][0].read_text(encoding="utf-8")[:5000], encoding="utf-8")
    locks = kept / "locks.json"
    locks.write_text(json.dumps(test.json("contention", "-i", data_of(test, "lk-locks"))), encoding="utf-8")
    by_cpu = kept / "cpu.json"
    by_cpu.write_text(json.dumps(test.json("report", "-i", data_of(test, "lt-sleep"), "--by", "cpu")), encoding="utf-8")
    intervals = kept / "intervals.json"
    intervals.write_text(json.dumps(test.json("report", "-i", data_of(test, "lt-sleep"), "-I", "500")), encoding="utf-8")
    good = files[0][0]
    for arguments, status, words in (
            ([good], 129, "two recordings"), ([], 129, "two recordings"), ([good, good, good], 129, "two recordings"),
            (["--before", good], 129, "two recordings"), (["--of", "colour", good, good], 129, "colour"),
            (["--per", "minute", good, good], 129, "minute"), (["--per", "event", good, good], 129, "--"),
            (["--measure", "colour", good, good], 129, "colour"), (["--sort", "colour", good, good], 129, "colour"),
            (["--by", "colour", good, good], 129, "colour"), ([good, kept / "none.json"], 1, "none.json"),
            ([good, notes], 1, "notes.json"), ([good, broken], 1, "broken.json"), ([good, locks], 1, "locks.json"),
            ([good, by_cpu], 1, "cpu.json"), ([intervals, good], 1, "intervals.json")):
        done = test.run("diff", *arguments, ok=(status,))
        what = " ".join(map(str, arguments))
        test.check(words in done.errors, f"diff {what}: {done.errors!r}")
        test.equal(done.text, "", f"diff {what}: stdout")
    warned = test.run("diff", "-p", "1", good, files[1][0])
    test.check("report already" in warned.errors, f"-p with a report: {warned.errors}")


def main():
    test = Test()
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder)
        files, reports = check_report(test, kept, "cause")
        check_report(test, kept, "thread,cause")
        check_units(test, files, reports)
        check_locks(test)
        check_text_and_conditions(test, files)
        check_refusals(test, kept, files)
    test.finish()


main()
